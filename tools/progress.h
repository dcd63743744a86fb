// ProgressBar: what a long call has done, on standard error when that is a terminal and nothing
// asked for quiet: percent, rate, time left. It also polls for Ctrl-C, bar or not.
#pragma once

#include <chrono>

#include "edo/options.h"
#include "tools/console.h"

namespace edo::tools {

class ProgressBar {
 public:
  explicit ProgressBar(const Console& console, std::string_view what);
  ~ProgressBar();  // removes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // For the `progress` field of an options struct; the bar must outlive the call.
  ProgressFunction Function();
  // False after Ctrl-C.
  bool Update(const Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  void Draw(const Progress& progress, double seconds) const;

  bool visible_;
  bool drawn_ = false;
  std::string what_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace edo::tools
