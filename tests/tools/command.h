// Runs the real `edo` command as a child process and keeps what it said. Helpers of the tests in
// this folder. A child that hangs is killed after a minute and reported as signal 9.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/test_util.h"

namespace edo::test {

struct Said {
  int code = -1;    // exit code, or 128 + signal
  std::string out;  // standard output
  std::string err;  // standard error
};

struct RunOptions {
  std::string input;             // bytes on standard input
  std::string out_path;          // standard output goes to this file instead
  bool close_reader = false;     // nobody reads standard output
  bool terminal = false;         // standard error is a terminal
  std::vector<std::string> env;  // "NAME=VALUE" added to the environment
};

// A child process whose standard input this object feeds.
class Process {
 public:
  Process(const std::vector<std::string>& args, const RunOptions& options) {
    signal(SIGPIPE, SIG_IGN);
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) std::abort();
    if (options.terminal) {
      err[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
      if (err[0] < 0 || grantpt(err[0]) || unlockpt(err[0])) std::abort();
      err[1] = open(ptsname(err[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
    } else if (pipe2(err, O_CLOEXEC)) {
      std::abort();
    }
    std::vector<char*> argv{const_cast<char*>("edo")};
    for (const auto& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      signal(SIGPIPE, SIG_DFL);
      signal(SIGINT, SIG_DFL);
      dup2(in[0], 0);
      dup2(err[1], 2);
      const int file = options.out_path.empty()
                           ? out[1]
                           : open(options.out_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
      dup2(file, 1);
      for (const auto& pair : options.env) putenv(const_cast<char*>(pair.c_str()));
      if (options.close_reader) close(out[0]);
      execv(EDO_COMMAND, argv.data());
      _exit(127);
    }
    close(in[0]), close(out[1]), close(err[1]);
    in_ = in[1], out_ = out[0], err_ = err[0];
    if (options.close_reader) close(out_), out_ = -1;
  }
  ~Process() {
    CloseInput();
    if (pid_ > 0) kill(pid_, SIGKILL), waitpid(pid_, nullptr, 0);
    if (out_ >= 0) close(out_);
    if (err_ >= 0) close(err_);
  }
  Process(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // False when the child reads no more.
  bool Feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = write(in_, bytes.data(), bytes.size());
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void CloseInput() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }

  // Reads both outputs to their ends and waits for the exit.
  Said Wait() {
    Said said;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    std::string* texts[2] = {&said.out, &said.err};
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
      if (std::chrono::steady_clock::now() > deadline) kill(pid_, SIGKILL);
      poll(fds, 2, 1000);
      for (int i = 0; i < 2; ++i) {
        if (fds[i].fd < 0 || fds[i].revents == 0) continue;
        char buffer[65536];
        const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
        if (n > 0) texts[i]->append(buffer, static_cast<size_t>(n));
        if (n <= 0) fds[i].fd = -1;  // a terminal whose other end is gone gives an error
      }
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return said;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
};

inline Said Edo(const std::vector<std::string>& args, const RunOptions& options = {}) {
  Process process(args, options);
  std::thread feeder([&] {
    process.Feed(options.input);
    process.CloseInput();
  });
  Said said = process.Wait();
  feeder.join();
  return said;
}

// Runs with --json, checks the schema and returns the object.
inline nlohmann::json EdoJson(std::vector<std::string> args, int code = 0) {
  const std::string schema = "edo." + args[0] + "/1";
  args.insert(args.begin() + 1, "--json");
  const Said said = Edo(args);
  EXPECT_EQ(said.code, code) << said.err;
  auto json = nlohmann::json::parse(said.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << said.out;
  if (json.is_discarded()) return {};
  EXPECT_EQ(json.value("schema", ""), schema) << said.out;
  return json;
}

}  // namespace edo::test
