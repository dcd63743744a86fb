// Console: what the command says and where. Results go to standard output through Output, which
// notices every write error; notes, warnings and errors go to standard error, a line each.
// Exit codes: 0 ok, 1 data or I/O error, 2 usage, 3 a threshold was missed, 130 interrupted, 141
// the reader of standard output went away (what SIGPIPE would have given; nothing is said). One
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edo/status.h"

namespace edo::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitThreshold = 3;  // a figure missed the threshold that was asked for
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitPipe = 141;

// Buffered standard output. After the first failed write everything else is dropped.
class Output {
 public:
  void Write(std::string_view bytes);
  void Flush();
  bool failed() const { return error_ != 0; }
  bool pipe_closed() const;
  int error() const { return error_; }           // errno of the first failure
  uint64_t written() const { return written_; }  // bytes accepted by Write

 private:
  std::string buffer_;
  int error_ = 0;
  uint64_t written_ = 0;
};

class Console {
 public:
  Output& out() { return out_; }
  bool json = false;
  bool quiet = false;

  void Note(std::string_view line) const;     // progress of the work; silenced by --quiet
  void Warn(std::string_view line) const;     // "edo: warning: ..."
  void Problem(std::string_view line) const;  // "edo: ...", red on a terminal

  // Reports an error as a line on standard error and, under --json, as an edo.error/1 object on
  // standard output when nothing was written there yet. Returns the exit code of the status.
  int Fail(const Status& status);
  // A wrong command line: says what is wrong and where help is.
  int Usage(std::string_view message, std::string_view verb);

  // Flushes standard output; returns `code`, or that of a failed write.
  int Finish(int code);

 private:
  void JsonError(std::string_view code, std::string_view message);
  Output out_;
};

// Exit code of a status; an interrupt by the user comes as kCancelled.
int ExitCodeOf(const Status& status);

}  // namespace edo::tools
