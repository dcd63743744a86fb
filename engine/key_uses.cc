#include "engine/key_uses.h"

#include <algorithm>
#include <utility>

#include "edo/table.h"

namespace edo::engine {

using storage::KeyLines;
using storage::OrderFileReader;

KeyUses::KeyUses(const RowOrder& order, const RowSource& source)
    : order_(order),
      source_(source),
      keys_(source.rows, *source.record),
      places_(source.rows, *source.record) {}

Status KeyUses::FindRows() {
  storage::FindResult found;
  switch (source_.record->info.key_kind) {
    case KeyKind::kText: {
      const std::vector<std::string_view> texts = lines_.TextKeys();
      found = keys_.Find(std::span<const std::string_view>(texts), std::nullopt);
      break;
    }
    case KeyKind::kInt64:
      found = keys_.Find(std::span<const int64_t>(lines_.int_keys), std::nullopt);
      break;
    case KeyKind::kDense: {  // negative keys are too large
      const std::vector<uint64_t> places(lines_.int_keys.begin(), lines_.int_keys.end());
      found = places_.RowsOf(places, std::nullopt);
      break;
    }
  }
  if (!found.failures.empty()) return found.failures[0].status;
  found_ = std::move(found.rows);
  return Status::Ok();
}

Result<bool> KeyUses::Next() {
  if (!reader_) {
    EDO_ASSIGN_OR_RETURN(
        reader_, OrderFileReader::Open(order_.file, order_.kind, source_.record->info.key_kind));
  }
  if (next_line_ == lines_.lines.size()) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader_->Next(&lines_));
    next_line_ = 0;
    if (!more) return false;
    EDO_RETURN_IF_ERROR(FindRows());
  }
  first_key_ = next_line_ == 0 ? 0 : lines_.lines[next_line_ - 1].end;
  const KeyLines::Line& line = lines_.lines[next_line_++];
  ++report_.lines;
  rows_.clear();
  for (size_t key = first_key_; key < line.end; ++key) {
    ++report_.keys;
    if (found_[key] != Table::kMissingRow) {
      rows_.push_back(found_[key]);
    } else if (report_.keys_unknown++ == 0) {
      report_.first_unknown =
          order_.file + " line " + std::to_string(line.number) + ": " + lines_.NameOf(key);
    }
  }
  std::sort(rows_.begin(), rows_.end());
  rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
  return true;
}

// For a message, so the file is simply read again.
Result<uint64_t> KeyUses::FirstLineOfKey() const {
  const std::string wanted = first_key();
  EDO_ASSIGN_OR_RETURN(
      auto reader, OrderFileReader::Open(order_.file, order_.kind, source_.record->info.key_kind));
  KeyLines lines;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader->Next(&lines));
    if (!more) return line_number();
    size_t key = 0;
    for (const KeyLines::Line& line : lines.lines) {
      if (key < line.end && lines.NameOf(key) == wanted) return line.number;
      key = line.end;
    }
  }
}

Result<uint64_t> CountLines(const RowOrder& order, KeyKind keys, const OrderStep& step) {
  EDO_ASSIGN_OR_RETURN(auto reader, OrderFileReader::Open(order.file, order.kind, keys));
  KeyLines lines;
  uint64_t count = 0;
  for (;;) {
    EDO_ASSIGN_OR_RETURN(const bool more, reader->Next(&lines));
    if (!more) return count;
    count += lines.lines.size();
    EDO_RETURN_IF_ERROR(step());
  }
}

}  // namespace edo::engine
