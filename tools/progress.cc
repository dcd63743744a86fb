// Body of ProgressBar.
#include "tools/progress.h"

#include <unistd.h>

#include <cstdio>

#include "tools/signals.h"
#include "tools/text.h"

namespace edo::tools {
namespace {

constexpr auto kRedrawEvery = std::chrono::milliseconds(200);

}  // namespace

ProgressBar::ProgressBar(const Console& console, std::string_view what)
    : visible_(!console.quiet && isatty(STDERR_FILENO)), what_(what) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

ProgressFunction ProgressBar::Function() {
  return [this](const Progress& progress) { return Update(progress); };
}

bool ProgressBar::Update(const Progress& progress) {
  const auto now = Clock::now();
  if (visible_ && now - last_ >= kRedrawEvery) {
    last_ = now;
    drawn_ = true;
    Draw(progress, std::chrono::duration<double>(now - start_).count());
  }
  return !Interrupted();
}

void ProgressBar::Draw(const Progress& progress, double seconds) const {
  const bool bytes = progress.unit == "bytes";
  const double rate = static_cast<double>(progress.done) / seconds;
  std::string line = what_ + "  ";
  if (progress.total != 0) {
    const double part = static_cast<double>(progress.done) / static_cast<double>(progress.total);
    char percent[16];
    std::snprintf(percent, sizeof percent, "%3.0f %%  ", part * 100);
    line += percent;
  } else {
    line += (bytes ? HumanBytes(progress.done) : HumanCount(progress.done)) + "  ";
  }
  if (progress.rows != 0) line += HumanCount(progress.rows) + " rows  ";
  const auto whole_rate = static_cast<uint64_t>(rate);
  line +=
      (bytes ? HumanBytes(whole_rate) : HumanCount(whole_rate) + " " + std::string(progress.unit)) +
      "/s";
  if (progress.total > progress.done && rate > 0) {
    line +=
        "  " + HumanSeconds(static_cast<double>(progress.total - progress.done) / rate) + " left";
  }
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
}

}  // namespace edo::tools
