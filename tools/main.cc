// The `edo` command.
#include <fcntl.h>
#include <unistd.h>

#include "tools/app.h"
#include "tools/signals.h"

namespace {

// When the caller has closed a standard stream, a file of the store would get its number and
// receive what is printed. A descriptor that cannot be used that way makes it an error instead.
bool ReserveStandardStreams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (!ReserveStandardStreams()) return 1;
  edo::tools::InstallSignalHandlers();
  return edo::tools::RunCommand(argc, argv);
}
