// Body of Console.
#include "tools/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tools/json_writer.h"
#include "tools/signals.h"
#include "tools/text.h"

namespace edo::tools {
namespace {

constexpr size_t kBufferBytes = 64 << 10;

// All of `bytes` to a descriptor; errno of the failure, or 0.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

void ErrorLine(std::string line) {
  if (isatty(STDERR_FILENO)) line.insert(0, "\r\x1b[K");  // a progress bar may stand there
  line += '\n';
  WriteAll(STDERR_FILENO, line);  // where standard error is gone there is nobody to tell
}

bool UseColour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace

void Output::Write(std::string_view bytes) {
  written_ += bytes.size();
  if (error_ != 0) return;
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) Flush();
}

void Output::Flush() {
  if (error_ == 0) error_ = WriteAll(STDOUT_FILENO, buffer_);
  buffer_.clear();
}

bool Output::pipe_closed() const { return error_ == EPIPE; }

void Console::Note(std::string_view line) const {
  if (!quiet) ErrorLine(Printable(line));
}

void Console::Warn(std::string_view line) const {
  if (!quiet) ErrorLine("edo: warning: " + Printable(line));
}

void Console::Problem(std::string_view line) const {
  ErrorLine((UseColour() ? "\x1b[31medo:\x1b[0m " : "edo: ") + Printable(line));
}

void Console::JsonError(std::string_view code, std::string_view message) {
  if (!json || out_.written() != 0) return;
  JsonWriter writer(&out_);
  writer.BeginObject();
  writer.Field("schema", "edo.error/1");
  writer.Name("error");
  writer.BeginObject();
  writer.Field("code", code);
  writer.Field("message", message);
  writer.EndObject();
  writer.EndObject();
}

int Console::Fail(const Status& status) {
  const int code = ExitCodeOf(status);
  const std::string_view message = code == kExitInterrupted ? "interrupted" : status.message();
  Problem(message);
  JsonError(StatusCodeName(status.code()), message);
  return code;
}

int Console::Usage(std::string_view message, std::string_view verb) {
  std::string help = "edo ";
  if (!verb.empty()) help.append(verb).append(" ");
  help += "--help";
  Problem(std::string(message) + " (see `" + help + "`)");
  JsonError("usage", message);
  return kExitUsage;
}

int Console::Finish(int code) {
  out_.Flush();
  if (!out_.failed()) return code;
  if (out_.pipe_closed()) return kExitPipe;
  Problem(std::string("standard output: ") + std::strerror(out_.error()));
  return kExitError;
}

int ExitCodeOf(const Status& status) {
  if (status.ok()) return kExitOk;
  if (status.code() == StatusCode::kCancelled && Interrupted()) return kExitInterrupted;
  if (status.code() == StatusCode::kGoalMissed) return kExitThreshold;
  return status.code() == StatusCode::kInvalidArgument ? kExitUsage : kExitError;
}

}  // namespace edo::tools
