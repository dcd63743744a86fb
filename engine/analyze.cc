// Analyze: the rows of a file held against a table's rows of the same keys.
#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "edo/quality.h"
#include "engine/read_ahead.h"
#include "engine/row_quality.h"
#include "storage/codec.h"
#include "storage/key_page.h"
#include "storage/row_reader.h"

namespace edo {
namespace {

using engine::ReadAhead;
using engine::RowQuality;
using storage::RowBatch;
using storage::RowReader;

constexpr size_t kListed = 20;                          // unmatched rows that are named
constexpr uint64_t kSampleBytes = uint64_t{256} << 20;  // both copies of the overlap's rows
constexpr uint64_t kNoRow = Table::kMissingRow;

// One bit a row.
class RowSet {
 public:
  explicit RowSet(uint64_t rows) : words_((rows + 63) / 64) {}
  // Adds a row; whether it was there already.
  bool Add(uint64_t row) {
    uint64_t& word = words_[row / 64];
    const uint64_t bit = uint64_t{1} << (row % 64);
    const bool was = (word & bit) != 0;
    word |= bit;
    return was;
  }
  bool Has(uint64_t row) const { return (words_[row / 64] >> (row % 64) & 1) != 0; }
  uint64_t count() const {
    uint64_t count = 0;
    for (const uint64_t word : words_) count += static_cast<uint64_t>(std::popcount(word));
    return count;
  }

 private:
  std::vector<uint64_t> words_;
};

// The rows among which overlap is measured: by a hash of the row number, so that they do not depend
// on the order of the original.
class Sample {
 public:
  Sample(const TableInfo& info, const AnalyzeOptions& options) : dim_(info.dim) {
    const uint64_t fit = kSampleBytes / (2 * sizeof(float) * info.dim);
    const uint64_t wanted = std::min(options.overlap_rows, fit);
    // The cap is far beyond what chance adds.
    most_ = wanted == 0 ? 0 : std::min(wanted + wanted / 8 + 64, info.rows);
    const double share =
        info.rows == 0 ? 0 : static_cast<double>(wanted) / static_cast<double>(info.rows);
    limit_ = share >= 1 ? UINT64_MAX : static_cast<uint64_t>(std::ldexp(share, 64));
    all_ = share >= 1;
    seed_ = options.overlap.seed * 0x9e3779b97f4a7c15u;
    original_.reserve(most_ * dim_);
    decoded_.reserve(most_ * dim_);
  }

  void Offer(uint64_t row, const float* original, const float* decoded) {
    if (most_ == 0 || (!all_ && HashOf(row) >= limit_) || rows_ == most_) return;
    ++rows_;
    original_.insert(original_.end(), original, original + dim_);
    decoded_.insert(decoded_.end(), decoded, decoded + dim_);
  }

  uint64_t rows() const { return rows_; }
  std::optional<double> Overlap(const OverlapOptions& options) const {
    const double overlap =
        engine::NeighbourOverlap(original_.data(), decoded_.data(), rows_, dim_, options);
    return std::isnan(overlap) ? std::nullopt : std::optional(overlap);
  }

 private:
  uint64_t HashOf(uint64_t row) const {
    return storage::HashKey(static_cast<int64_t>(row ^ seed_));
  }

  const uint32_t dim_;
  uint64_t most_ = 0, limit_ = 0, seed_ = 0;
  bool all_ = false;
  size_t rows_ = 0;
  std::vector<float> original_, decoded_;  // (rows_, dim)
};

class Analyzer {
 public:
  Analyzer(const Table& table, const AnalyzeOptions& options)
      : table_(table),
        info_(table.info()),
        options_(options),
        tally_(info_.dim, options.quality),
        seen_(info_.rows),
        sample_(info_, options) {}

  Result<AnalysisReport> Run() {
    EDO_RETURN_IF_ERROR(CheckOptions());
    if (options_.on_duplicate == OnDuplicate::kLast) EDO_RETURN_IF_ERROR(FindLast());
    EDO_RETURN_IF_ERROR(ReadAll([this](const RowBatch& batch) { return Compare(batch); }));
    TakeCounts();
    EDO_RETURN_IF_ERROR(FindExtra());
    report_.quality = tally_.Report();
    EDO_RETURN_IF_ERROR(NameWorst());
    if (options_.overlap_rows > 0) {
      report_.overlap_rows = sample_.rows();
      report_.quality.overlap = sample_.Overlap(options_.overlap);
    }
    return std::move(report_);
  }

 private:
  Status CheckOptions() const {
    if (options_.overlap.neighbours == 0 || options_.overlap.queries == 0) {
      return Status::InvalidArgument("overlap needs at least one neighbour and one query row");
    }
    const std::string& path = options_.against.path;
    std::error_code ignored;
    if (options_.on_duplicate == OnDuplicate::kLast &&
        (path == "-" || (std::filesystem::exists(path, ignored) &&
                         !std::filesystem::is_regular_file(path, ignored)))) {
      return Status::InvalidArgument("'" + path +
                                     "' is not a regular file; to find the last row of a key it "
                                     "is read twice");
    }
    return Status::Ok();
  }

  Status Open() {
    SourceOptions source = options_.against;
    if (only_keys_) source.note = {};  // the second reading says it
    if (!source.key_kind && info_.key_kind != KeyKind::kDense) source.key_kind = info_.key_kind;
    EDO_ASSIGN_OR_RETURN(reader_, storage::OpenRowReader(source));
    const storage::SourceInfo& found = reader_->info();
    if (found.key_kind != info_.key_kind) {
      const char* const hint = info_.key_kind == KeyKind::kDense
                                   ? " (keys \"dense\" makes row numbers the keys)"
                                   : " (a keys file may give them)";
      return Status::BadInput(source.path + ": found " + std::string(KeyKindName(found.key_kind)) +
                              " keys, expected " + std::string(KeyKindName(info_.key_kind)) +
                              " ones as of table '" + info_.name + "'" + hint);
    }
    if (found.dim != info_.dim) {
      return Status::BadInput(source.path + ": found rows of " + std::to_string(found.dim) +
                              " values, expected " + std::to_string(info_.dim) + " as of table '" +
                              info_.name + "'");
    }
    if (source.on_bad_row == OnBadRow::kSkip && found.key_kind == KeyKind::kDense) {
      return Status::InvalidArgument(source.path +
                                     ": rows cannot be skipped where row numbers are the keys");
    }
    codec_.reset();
    if (!found.codec) return Status::Ok();
    EDO_ASSIGN_OR_RETURN(codec_, storage::Codec::Make(*found.codec, found.dim, found.learned));
    return Status::Ok();
  }

  template <typename OnBatch>
  Status ReadAll(const OnBatch& on_batch) {
    EDO_RETURN_IF_ERROR(Open());
    ReadAhead ahead(reader_.get(), options_.threads);
    uint64_t rows = 0;
    for (const RowBatch* batch = nullptr;;) {
      EDO_ASSIGN_OR_RETURN(const bool more, ahead.Next(&batch));
      if (!more) return Status::Ok();
      EDO_RETURN_IF_ERROR(FindRows(*batch, rows));
      EDO_RETURN_IF_ERROR(on_batch(*batch));
      rows += batch->row_count;
      if (options_.progress &&
          !options_.progress({reader_->bytes_read(), reader_->bytes_total(), rows, "bytes"})) {
        return Status::Cancelled("the analysis was cancelled");
      }
    }
  }

  // rows_ of the table for the keys of a batch; `first` is the number of its first row.
  Status FindRows(const RowBatch& batch, uint64_t first) {
    if (info_.key_kind == KeyKind::kText) {
      texts_.clear();
      for (size_t i = 0; i < batch.row_count; ++i) texts_.push_back(batch.text_key(i));
      EDO_ASSIGN_OR_RETURN(rows_, table_.FindRows(texts_));
      return Status::Ok();
    }
    if (info_.key_kind == KeyKind::kDense) {
      ids_.clear();
      for (uint64_t i = 0; i < batch.row_count; ++i)
        ids_.push_back(static_cast<int64_t>(first + i));
    } else {
      ids_ = batch.int_keys;
    }
    EDO_ASSIGN_OR_RETURN(rows_, table_.FindRows(ids_));
    return Status::Ok();
  }

  std::string KeyOf(const RowBatch& batch, size_t i) const {
    return info_.key_kind == KeyKind::kText ? std::string(batch.text_key(i))
                                            : std::to_string(ids_[i]);
  }

  // Where the last row of each key that repeats stands: a first reading of the file.
  Status FindLast() {
    RowSet seen(info_.rows);
    only_keys_ = true;
    const Status s = ReadAll([&](const RowBatch& batch) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        if (rows_[i] != kNoRow && seen.Add(rows_[i])) last_of_[rows_[i]] = batch.positions[i];
      }
      return Status::Ok();
    });
    only_keys_ = false;
    return s;
  }

  // Whether a row of the original is one that the table is held against.
  Result<bool> Counts(const RowBatch& batch, size_t i) {
    const uint64_t row = rows_[i];
    if (row == kNoRow) {
      ++report_.rows_missing;
      if (report_.missing.size() < kListed) {
        report_.missing.push_back({KeyOf(batch, i), batch.positions[i]});
      }
      return false;
    }
    const bool repeats = seen_.Add(row);
    if (options_.on_duplicate == OnDuplicate::kLast) {
      const auto last = last_of_.find(row);
      if (last == last_of_.end() || last->second == batch.positions[i]) return true;
      ++report_.rows_repeated;
      return false;
    }
    if (!repeats) return true;
    ++report_.rows_repeated;
    if (options_.on_duplicate == OnDuplicate::kFirst) return false;
    return Status::BadInput(options_.against.path + " " + reader_->info().position_unit + " " +
                            std::to_string(batch.positions[i]) + ": key '" + KeyOf(batch, i) +
                            "' came before; table '" + info_.name +
                            "' has one row of it, and it was not said whether that is the first "
                            "or the last");
  }

  Status Compare(const RowBatch& batch) {
    const size_t dim = info_.dim;
    size_t count = 0;
    original_.resize(batch.row_count * dim);
    if (codec_ != nullptr) codec_->Decode(batch.codes.data(), batch.row_count, {original_.data()});
    for (size_t i = 0; i < batch.row_count; ++i) {
      EDO_ASSIGN_OR_RETURN(const bool counts, Counts(batch, i));
      if (!counts) continue;
      const float* const from = codec_ != nullptr ? original_.data() + i * dim : batch.row(i);
      std::copy_n(from, dim, original_.data() + count * dim);  // never ahead of what is read
      rows_[count++] = rows_[i];
    }
    decoded_.resize(count * dim);
    const std::span<const uint64_t> rows(rows_.data(), count);
    EDO_RETURN_IF_ERROR(table_.LookupRows(rows, {}, decoded_.data()));
    for (size_t i = 0; i < count; ++i) {
      const float* const x = original_.data() + i * dim;
      const float* const y = decoded_.data() + i * dim;
      tally_.Add(x, y, 1, rows[i]);
      sample_.Offer(rows[i], x, y);
    }
    return Status::Ok();
  }

  void TakeCounts() {
    const storage::SourceInfo& source = reader_->info();
    const storage::SourceCounts& counts = reader_->counts();
    report_.format = source.format;
    report_.compression = source.compression;
    report_.source_dtype = source.dtype;
    report_.position_unit = source.position_unit;
    report_.rows_read = counts.rows_read;
    report_.rows_skipped = counts.rows_skipped;
    report_.values_changed = counts.values_changed;
    report_.keys_changed = counts.keys_changed;
    report_.warnings = counts.warnings;
  }

  Result<std::vector<std::string>> KeysOf(std::span<const uint64_t> rows) const {
    if (info_.key_kind == KeyKind::kText) return table_.TextKeysOf(rows);
    EDO_ASSIGN_OR_RETURN(const auto ints, table_.IntKeysOf(rows));
    std::vector<std::string> keys;
    for (const int64_t key : ints) keys.push_back(std::to_string(key));
    return keys;
  }

  Status FindExtra() {
    report_.rows_extra = info_.rows - seen_.count();
    std::vector<uint64_t> rows;
    for (uint64_t row = 0;
         row < info_.rows && rows.size() < std::min<uint64_t>(kListed, report_.rows_extra); ++row) {
      if (!seen_.Has(row)) rows.push_back(row);
    }
    EDO_ASSIGN_OR_RETURN(const auto keys, KeysOf(rows));
    for (size_t i = 0; i < rows.size(); ++i) report_.extra.push_back({keys[i], rows[i]});
    return Status::Ok();
  }

  Status NameWorst() {
    std::vector<uint64_t> rows;
    for (const WorstRow& worst : report_.quality.worst) rows.push_back(worst.row);
    EDO_ASSIGN_OR_RETURN(const auto keys, KeysOf(rows));
    for (size_t i = 0; i < rows.size(); ++i) report_.quality.worst[i].key = keys[i];
    return Status::Ok();
  }

  const Table& table_;
  const TableInfo& info_;
  const AnalyzeOptions& options_;
  RowQuality tally_;
  RowSet seen_;
  Sample sample_;
  std::unordered_map<uint64_t, uint64_t> last_of_;  // rows whose key repeats: position of the last
  bool only_keys_ = false;
  std::unique_ptr<RowReader> reader_;
  std::unique_ptr<storage::Codec> codec_;  // of an original that brings codes
  std::vector<std::string_view> texts_;
  std::vector<int64_t> ids_;
  std::vector<uint64_t> rows_;
  std::vector<float> original_, decoded_;
  AnalysisReport report_;
};

}  // namespace

Result<AnalysisReport> Analyze(const Table& table, const AnalyzeOptions& options) {
  return Analyzer(table, options).Run();
}

}  // namespace edo
