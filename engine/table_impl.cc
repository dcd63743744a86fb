#include "engine/table_impl.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/lookup.h"
#include "engine/table_scan.h"

namespace edo::engine {
namespace {

constexpr size_t kRowsALook = size_t{1} << 20;  // of one pass over the chunks

// Where decoded rows go, and what becomes of each key.
class Output {
 public:
  Output(const LookupOptions& options, uint32_t dim, void* out)
      : bytes_(FloatTypeBytes(options.out_type)),
        row_bytes_(uint64_t{dim} * bytes_),
        stride_(options.out_stride == 0 ? dim : options.out_stride),
        out_(static_cast<std::byte*>(out)) {}
  void Zero(uint64_t place) { std::memset(out_ + place * stride_ * bytes_, 0, row_bytes_); }
  uint64_t stride() const { return stride_; }

 private:
  const uint64_t bytes_;
  const uint64_t row_bytes_;
  const uint64_t stride_;
  std::byte* const out_;
};

Status CheckStride(const LookupOptions& options, const TableInfo& info) {
  if (options.out_stride == 0 || options.out_stride >= info.dim) return Status::Ok();
  return Status::InvalidArgument("table '" + info.name + "': out_stride " +
                                 std::to_string(options.out_stride) + " is less than dim " +
                                 std::to_string(info.dim));
}

}  // namespace

TableImpl::TableImpl(std::shared_ptr<StoreContext> context, std::shared_ptr<GenerationPin> pin,
                     storage::TableRecord record, std::unique_ptr<storage::Codec> codec)
    : context_(std::move(context)),
      pin_(std::move(pin)),
      record_(std::move(record)),
      codec_(std::move(codec)),
      keys_(context_->rows.get(), record_) {}

Result<std::unique_ptr<Table>> TableImpl::Make(std::shared_ptr<StoreContext> context,
                                               std::shared_ptr<GenerationPin> pin,
                                               storage::TableRecord record) {
  EDO_ASSIGN_OR_RETURN(auto codec, storage::Codec::Make(record.info.codec, record.info.dim));
  return std::unique_ptr<Table>(
      new TableImpl(std::move(context), std::move(pin), std::move(record), std::move(codec)));
}

Status TableImpl::WrongKeyKind(std::string_view asked) const {
  return Status::InvalidArgument("table '" + info().name + "' has " +
                                 std::string(KeyKindName(info().key_kind)) + " keys, not " +
                                 std::string(asked));
}

storage::FindResult TableImpl::FindInts(std::span<const int64_t> ids,
                                        const storage::Deadline& deadline) const {
  if (info().key_kind == KeyKind::kInt64) return keys_.Find(ids, deadline);
  storage::FindResult found;
  found.unread.assign(ids.size(), 0);
  found.rows.resize(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto row = static_cast<uint64_t>(ids[i]);  // negative ids become large
    found.rows[i] = row < info().rows ? row : kMissingRow;
  }
  return found;
}

Status TableImpl::LookupFound(storage::FindResult found, std::vector<uint8_t> padding,
                              const LookupOptions& options, void* out, LookupReport* report) const {
  EDO_RETURN_IF_ERROR(CheckStride(options, info()));
  if (out == nullptr && !found.rows.empty()) {
    return Status::InvalidArgument("table '" + info().name + "': `out` is null");
  }
  LookupReport local;
  LookupReport& r = report ? *report : local;
  r = {};
  const size_t count = found.rows.size();
  r.states.assign(count, RowState::kFound);
  r.failures = std::move(found.failures);
  Output output(options, info().dim, out);
  size_t first_missing = count;

  std::vector<uint64_t> rows;      // to be read
  std::vector<uint64_t> place_of;  // where each of them goes
  rows.reserve(count);
  place_of.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (!padding.empty() && padding[i]) {
      r.states[i] = RowState::kPadding;
      output.Zero(i);
    } else if (found.unread[i]) {
      r.states[i] = RowState::kUnread;
      ++r.unread;
    } else if (found.rows[i] == kMissingRow) {
      r.states[i] = RowState::kMissing;
      ++r.missing;
      first_missing = std::min(first_missing, i);
      if (options.on_missing == OnMissing::kZero) output.Zero(i);
    } else {
      rows.push_back(found.rows[i]);
      place_of.push_back(i);
    }
  }

  const storage::DecodeTarget target{out, options.out_type, output.stride()};
  std::vector<uint64_t> out_rows;
  uint64_t chunks = 0;
  for (size_t begin = 0; begin < rows.size(); begin += kRowsALook) {
    const size_t n = std::min(kRowsALook, rows.size() - begin);
    ChunkRead read;
    read.rows = [&](std::span<const uint32_t> places, std::span<const std::byte* const> codes) {
      out_rows.clear();
      for (const uint32_t p : places) out_rows.push_back(place_of[begin + p]);
      codec_->DecodeGather(codes.data(), out_rows.data(), codes.size(), target);
      r.found += places.size();
    };
    read.failed = [&](std::span<const uint32_t> places, ReadFailure failure) {
      for (const uint32_t p : places) r.states[place_of[begin + p]] = RowState::kUnread;
      r.unread += places.size();
      r.failures.push_back(std::move(failure));
    };
    chunks += ReadRowsByChunk(*context_->rows, record_, std::span(rows).subspan(begin, n),
                              options.deadline, read);
  }

  StoreCounters& counters = context_->counters;
  counters.lookups.fetch_add(1, std::memory_order_relaxed);
  counters.rows_found.fetch_add(r.found, std::memory_order_relaxed);
  counters.keys_missing.fetch_add(r.missing, std::memory_order_relaxed);
  counters.rows_unread.fetch_add(r.unread, std::memory_order_relaxed);
  counters.chunks_read.fetch_add(chunks, std::memory_order_relaxed);
  counters.key_pages_read.fetch_add(found.pages_read, std::memory_order_relaxed);

  if (!r.failures.empty()) {
    // Damage says more than a deadline that also passed.
    const auto damage = std::find_if(r.failures.begin(), r.failures.end(), [](const auto& f) {
      return f.status.code() != StatusCode::kDeadlineExceeded;
    });
    const Status& s = damage != r.failures.end() ? damage->status : r.failures[0].status;
    return Status(s.code(), std::string(s.message()) + " [" + std::to_string(r.unread) + " of " +
                                std::to_string(count) + " rows of this lookup are unread]");
  }
  if (r.missing > 0 && options.on_missing == OnMissing::kError) {
    return Status::NotFound("table '" + info().name + "' does not hold key number " +
                            std::to_string(first_missing) + " of this lookup (" +
                            std::to_string(r.missing) + " of " + std::to_string(count) +
                            " keys are missing)");
  }
  return Status::Ok();
}

Status TableImpl::LookupRows(std::span<const uint64_t> row_numbers, const LookupOptions& options,
                             void* out, LookupReport* report) const {
  storage::FindResult found;
  found.unread.assign(row_numbers.size(), 0);
  found.rows.assign(row_numbers.begin(), row_numbers.end());
  for (uint64_t& row : found.rows) {
    if (row >= info().rows) row = kMissingRow;
  }
  return LookupFound(std::move(found), {}, options, out, report);
}

Status TableImpl::Lookup(std::span<const int64_t> ids, const LookupOptions& options, void* out,
                         LookupReport* report) const {
  if (info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  std::vector<uint8_t> padding;
  if (options.padding_id) {
    padding.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) padding[i] = ids[i] == *options.padding_id;
  }
  return LookupFound(FindInts(ids, options.deadline), std::move(padding), options, out, report);
}

Status TableImpl::Lookup(std::span<const int32_t> ids, const LookupOptions& options, void* out,
                         LookupReport* report) const {
  const std::vector<int64_t> wide(ids.begin(), ids.end());
  return Lookup(std::span<const int64_t>(wide), options, out, report);
}

Status TableImpl::Lookup(std::span<const std::string_view> tokens, const LookupOptions& options,
                         void* out, LookupReport* report) const {
  if (info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  return LookupFound(keys_.Find(tokens, options.deadline), {}, options, out, report);
}

Result<std::vector<uint64_t>> TableImpl::FindRows(std::span<const int64_t> ids) const {
  if (info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  storage::FindResult found = FindInts(ids, std::nullopt);
  if (!found.failures.empty()) return found.failures[0].status;
  return std::move(found.rows);
}

Result<std::vector<uint64_t>> TableImpl::FindRows(std::span<const std::string_view> tokens) const {
  if (info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  storage::FindResult found = keys_.Find(tokens, std::nullopt);
  if (!found.failures.empty()) return found.failures[0].status;
  return std::move(found.rows);
}

Result<bool> TableImpl::Contains(int64_t id) const {
  EDO_ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, FindRows(std::span(&id, 1)));
  return rows[0] != kMissingRow;
}

Result<bool> TableImpl::Contains(std::string_view token) const {
  EDO_ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, FindRows(std::span(&token, 1)));
  return rows[0] != kMissingRow;
}

Result<std::vector<int64_t>> TableImpl::IntKeysOf(std::span<const uint64_t> row_numbers) const {
  if (info().key_kind == KeyKind::kText) return WrongKeyKind("integers");
  for (const uint64_t row : row_numbers) {
    if (row >= info().rows) {
      return Status::InvalidArgument("row " + std::to_string(row) + " of a table of " +
                                     std::to_string(info().rows) + " rows");
    }
  }
  std::vector<int64_t> keys;
  if (info().key_kind == KeyKind::kDense) {
    keys.assign(row_numbers.begin(), row_numbers.end());
  } else {
    EDO_RETURN_IF_ERROR(keys_.IntKeysOf(row_numbers, &keys));
  }
  return keys;
}

Result<std::vector<std::string>> TableImpl::TextKeysOf(
    std::span<const uint64_t> row_numbers) const {
  if (info().key_kind != KeyKind::kText) return WrongKeyKind("tokens");
  for (const uint64_t row : row_numbers) {
    if (row >= info().rows) {
      return Status::InvalidArgument("row " + std::to_string(row) + " of a table of " +
                                     std::to_string(info().rows) + " rows");
    }
  }
  std::vector<std::string> keys;
  EDO_RETURN_IF_ERROR(keys_.TextKeysOf(row_numbers, &keys));
  return keys;
}

Result<std::unique_ptr<TableScan>> TableImpl::Scan(const ScanOptions& options) const {
  return MakeTableScan(*this, options);
}

Status TableImpl::ScanCodes(const CodesFunction& fn) const {
  const auto cursor = context_->rows->ScanPages(storage::PageKind::kChunk, info().generation, 0,
                                                info().chunk_count);
  for (;;) {
    uint64_t number = 0;
    storage::PageView page;
    Result<bool> more = cursor->Next(&number, &page);
    if (!more.ok()) return more.status().WithContext("table '" + info().name + "'");
    if (!*more) return Status::Ok();
    const Status s = CheckChunk(record_, number, page);
    if (!s.ok()) return s.WithContext(ChunkName(record_, number));
    EDO_RETURN_IF_ERROR(fn(number * info().chunk_rows, page.count, page.payload));
  }
}

Status TableImpl::ReadCodes(std::span<const uint64_t> rows, std::byte* codes) const {
  Status first;
  ChunkRead read;
  read.rows = [&](std::span<const uint32_t> places, std::span<const std::byte* const> found) {
    for (size_t i = 0; i < places.size(); ++i) {
      std::memcpy(codes + places[i] * info().row_bytes, found[i], info().row_bytes);
    }
  };
  read.failed = [&](std::span<const uint32_t> /*places*/, ReadFailure failure) {
    if (first.ok()) first = failure.status;
  };
  ReadRowsByChunk(*context_->rows, record_, rows, std::nullopt, read);
  return first;
}

}  // namespace edo::engine
