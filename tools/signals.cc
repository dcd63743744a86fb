// Body of signals.h. The flag is the one mutable global of the command: a handler has no other way.
#include "tools/signals.h"

#include <csignal>

namespace edo::tools {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void OnInterrupt(int) { interrupted = 1; }

}  // namespace

void InstallSignalHandlers() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one has its default effect
  sigemptyset(&action.sa_mask);
  // A parent that ignores SIGINT (nohup, background jobs of a script) wants it to stay ignored.
  struct sigaction before = {};
  sigaction(SIGINT, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file over the limit is a write error, not a death
}

bool Interrupted() { return interrupted != 0; }

}  // namespace edo::tools
