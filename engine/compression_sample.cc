#include "engine/compression_sample.h"

#include <algorithm>
#include <utility>

namespace edo::engine {
namespace {

constexpr uint64_t kWindowBytes = 32 << 10;
constexpr size_t kMostWindows = 32;
constexpr double kWorthTwice = 1.125;  // a smaller chunk may take this much more

uint64_t RowsOf(uint64_t bytes, uint64_t row_bytes) {
  return std::max<uint64_t>(1, bytes / row_bytes);
}

}  // namespace

CompressionSample::CompressionSample(uint64_t row_bytes, uint32_t value_bytes)
    : row_bytes_(row_bytes),
      value_bytes_(value_bytes),
      window_rows_(RowsOf(kWindowBytes, row_bytes)) {}

void CompressionSample::Add(std::string_view codes, uint64_t bytes) {
  if (windows_.size() == kMostWindows) {
    for (size_t i = 0; i < kMostWindows / 2; ++i) {
      if (i > 0) windows_[i] = std::move(windows_[2 * i]);
      windows_[i].weight += windows_[2 * i + 1].weight;
    }
    windows_.resize(kMostWindows / 2);
  }
  windows_.push_back({std::string(codes), static_cast<double>(bytes)});
}

double CompressionSample::PartPacked(uint64_t rows, storage::ChunkForm form) {
  double packed = 0;
  double weights = 0;
  for (const Window& window : windows_) {
    uint64_t bytes = 0;
    std::string_view rest = window.codes;
    while (!rest.empty()) {
      const std::string_view chunk = rest.substr(0, rows * row_bytes_);
      rest.remove_prefix(chunk.size());
      bytes += kPackedOverheadBytes +
               packer_.PackedBytes(chunk, static_cast<uint32_t>(chunk.size() / row_bytes_), form);
    }
    packed += window.weight * static_cast<double>(bytes) / static_cast<double>(window.codes.size());
    weights += window.weight;
  }
  return weights > 0 ? packed / weights : 1;
}

CompressionSample::Finding CompressionSample::Decide() {
  std::vector<storage::ChunkForm> forms = {{1, false}, {1, true}};
  if (value_bytes_ > 1) {
    const auto width = static_cast<uint8_t>(value_bytes_);
    forms.push_back({width, false});
    forms.push_back({width, true});
  }
  Finding finding;
  finding.best = {true, static_cast<uint32_t>(window_rows_), forms[0]};
  double least = 2;
  for (const storage::ChunkForm form : forms) {
    const double part = PartPacked(window_rows_, form);
    if (part >= least) continue;
    least = part;
    finding.best.form = form;
  }
  if (least > kMostPacked) return finding;
  for (const uint64_t bytes : {kWindowBytes / 4, kWindowBytes / 2}) {
    const uint64_t rows = RowsOf(bytes, row_bytes_);
    const double part = PartPacked(rows, finding.best.form);
    if (part > kMostPacked || part > kWorthTwice * least) continue;
    finding.best.rows = static_cast<uint32_t>(rows);
    break;
  }
  finding.plan = finding.best;
  return finding;
}

}  // namespace edo::engine
