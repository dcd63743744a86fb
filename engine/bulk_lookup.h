// Table::BulkLookup: a whole stream of keys, window by window, in the order of the disk.
#pragma once

#include <future>
#include <memory>
#include <span>

#include "edo/pipeline.h"
#include "edo/table.h"

namespace edo::engine {

class TableImpl;

Status RunBulkLookup(const TableImpl& table, const KeySource& source, const BulkOptions& options,
                     const BulkSink& sink, BulkReport* report);

inline constexpr uint64_t kBulkPiece = 4096;  // rows handed out at once, at most

// The side of a bulk job that the caller sees: pieces of the stream in their order, and the report.
class BulkOutput {
 public:
  // All must outlive it.
  BulkOutput(const TableInfo& table, const BulkOptions& options, const BulkSink& sink)
      : table_(table), options_(options), sink_(sink) {}

  void BeginWindow(uint64_t chunks, std::span<const ReadFailure> failures);
  // The next rows: fills in `first`, counts their states, and asks whether to go on.
  Status HandOut(BulkRows rows);
  // All has been handed out; the failure of rows that could not be read.
  Status End();
  BulkReport& report() { return report_; }

 private:
  const TableInfo& table_;
  const BulkOptions& options_;
  const BulkSink& sink_;
  BulkReport report_;
  Status unread_;  // the first row that could not be read
};

// Windows until `read` gives none; the next one is read while one is handed out.
template <typename Read, typename HandOut>
Status ForEachWindow(const Read& read, const HandOut& hand_out) {
  auto window = read();
  while (window.ok() && *window != nullptr) {
    // Destroyed on every way out, which waits for it.
    auto next = std::async(std::launch::async, read);
    EDO_RETURN_IF_ERROR(hand_out(**window));
    window->reset();
    window = next.get();
  }
  return window.status();
}

}  // namespace edo::engine
