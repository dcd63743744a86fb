#include "engine/table_scan.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/lookup.h"
#include "engine/table_impl.h"
#include "storage/key_page.h"

namespace edo::engine {
namespace {

constexpr uint64_t kBatchRows = 4096;
constexpr uint64_t kBatchValues = 1 << 20;

class Scanner : public TableScan {
 public:
  Scanner(const TableImpl& table, const ScanOptions& options)
      : table_(table),
        options_(options),
        next_row_(std::min(options.first_row, table.info().rows)),
        end_row_(next_row_ + std::min(options.row_count, table.info().rows - next_row_)) {
    const TableInfo& info = table.info();
    const storage::RowStore& rows = *table.context().rows;
    const auto page_range = [&](uint64_t rows_a_page) {
      return std::pair(next_row_ / rows_a_page, (end_row_ + rows_a_page - 1) / rows_a_page);
    };
    if (next_row_ == end_row_) return;
    if (options.keys && info.key_kind != KeyKind::kDense) {
      const auto [first, last] = page_range(table.record().keys_per_page);
      key_pages_ = rows.ScanPages(storage::PageKind::kKeys, info.generation, first, last);
    }
    places_are_keys_ = options.keys && info.key_kind == KeyKind::kDense && table.record().ordered();
  }

  Result<bool> Next(ScanBatch* batch) override {
    *batch = {};
    if (next_row_ == end_row_) return false;
    const uint64_t dim = table_.info().dim;
    const uint64_t wanted = std::clamp<uint64_t>(kBatchValues / dim, 1, kBatchRows);
    const uint64_t count = std::min(wanted, end_row_ - next_row_);
    batch->first_row = next_row_;
    batch->row_count = count;
    if (options_.values) {
      EDO_RETURN_IF_ERROR(FillValues(count));
      batch->values = values_;
    }
    if (key_pages_) {
      EDO_RETURN_IF_ERROR(FillKeys(count));
      batch->int_keys = int_keys_;
      batch->text_keys = text_keys_;
    }
    if (places_are_keys_) {
      EDO_RETURN_IF_ERROR(FillPlaces(count));
      batch->int_keys = int_keys_;
    }
    next_row_ += count;
    return true;
  }

 private:
  Status FillValues(uint64_t count) {
    const TableInfo& info = table_.info();
    values_.resize(count * info.dim);
    for (uint64_t done = 0; done < count;) {
      const uint64_t row = next_row_ + done;
      if (row >= chunk_end_) EDO_RETURN_IF_ERROR(NextChunk(row));
      const uint64_t n = std::min(count - done, chunk_end_ - row);
      const char* codes = chunk_.payload.data() + (row - chunk_begin_) * tier_->row_bytes();
      tier_->codec->Decode(reinterpret_cast<const std::byte*>(codes), n,
                           {values_.data() + done * info.dim, FloatType::kF32, 0});
      done += n;
    }
    return Status::Ok();
  }

  // The chunk that holds `row`, which follows the last one.
  Status NextChunk(uint64_t row) {
    if (tier_ == nullptr || row >= tier_->end_row()) {
      tier_ = &TierOf(table_.tiers(), row);
      const TableInfo& of_tier = tier_->record->info;
      const uint64_t end = std::min(end_row_, tier_->end_row()) - tier_->first_row();
      chunks_ =
          table_.context().rows->ScanPages(storage::PageKind::kChunk, of_tier.generation,
                                           (row - tier_->first_row()) / of_tier.chunk_rows,
                                           (end + of_tier.chunk_rows - 1) / of_tier.chunk_rows);
    }
    uint64_t number = 0;
    Result<bool> more = chunks_->Next(&number, &chunk_);
    if (!more.ok()) return more.status().WithContext("table '" + table_.info().name + "'");
    const Status s = CheckChunk(*tier_->record, number, chunk_);
    if (!s.ok()) return s.WithContext(ChunkName(*tier_->record, number));
    chunk_begin_ = tier_->first_row() + number * tier_->record->info.chunk_rows;
    chunk_end_ = chunk_begin_ + chunk_.count;
    return Status::Ok();
  }

  Status FillKeys(uint64_t count) {
    int_keys_.clear();
    text_keys_.clear();
    text_bytes_.clear();
    std::vector<size_t> ends;
    for (uint64_t done = 0; done < count;) {
      const uint64_t row = next_row_ + done;
      if (row >= keys_end_) EDO_RETURN_IF_ERROR(NextKeyPage());
      const uint64_t n = std::min(count - done, keys_end_ - row);
      const uint64_t first = row - keys_begin_;
      if (table_.info().key_kind == KeyKind::kInt64) {
        int_keys_.insert(int_keys_.end(), page_ints_.begin() + static_cast<ptrdiff_t>(first),
                         page_ints_.begin() + static_cast<ptrdiff_t>(first + n));
      } else {
        for (uint64_t i = first; i < first + n; ++i) {
          text_bytes_.append(page_texts_[i]);
          ends.push_back(text_bytes_.size());
        }
      }
      done += n;
    }
    size_t begin = 0;  // only now do the bytes stay where they are
    for (const size_t end : ends) {
      text_keys_.push_back(std::string_view(text_bytes_).substr(begin, end - begin));
      begin = end;
    }
    return Status::Ok();
  }

  // The keys of a dense table in another order than its source's.
  Status FillPlaces(uint64_t count) {
    std::vector<uint64_t> rows(count);
    std::iota(rows.begin(), rows.end(), next_row_);
    std::vector<uint64_t> places;
    EDO_RETURN_IF_ERROR(table_.order().PlacesOf(rows, &places));
    int_keys_.assign(places.begin(), places.end());
    return Status::Ok();
  }

  Status NextKeyPage() {
    uint64_t number = 0;
    storage::PageView page;
    Result<bool> more = key_pages_->Next(&number, &page);
    Status s = more.status();
    if (s.ok()) {
      s = table_.info().key_kind == KeyKind::kInt64 ? storage::ReadIntKeys(page, &page_ints_)
                                                    : storage::ReadTextKeys(page, &page_texts_);
    }
    const uint64_t keys_a_page = table_.record().keys_per_page;
    const uint64_t expected = std::min(keys_a_page, table_.info().rows - number * keys_a_page);
    if (s.ok() && page.count != expected) {
      s = Status::Corruption("key page " + std::to_string(number) + " holds " +
                             std::to_string(page.count) + " keys, expected " +
                             std::to_string(expected));
    }
    if (!s.ok()) return s.WithContext("table '" + table_.info().name + "'");
    keys_begin_ = number * keys_a_page;
    keys_end_ = keys_begin_ + page.count;
    return Status::Ok();
  }

  const TableImpl& table_;
  const ScanOptions options_;
  uint64_t next_row_;
  const uint64_t end_row_;

  const Tier* tier_ = nullptr;                   // of chunks_; null: nothing was read yet
  std::unique_ptr<storage::PageCursor> chunks_;  // of that tier
  storage::PageView chunk_;                      // rows [chunk_begin_, chunk_end_)
  uint64_t chunk_begin_ = 0, chunk_end_ = 0;
  std::vector<float> values_;

  bool places_are_keys_ = false;
  std::unique_ptr<storage::PageCursor> key_pages_;
  std::vector<int64_t> page_ints_;  // keys of rows [keys_begin_, keys_end_)
  std::vector<std::string_view> page_texts_;
  uint64_t keys_begin_ = 0, keys_end_ = 0;
  std::vector<int64_t> int_keys_;
  std::string text_bytes_;
  std::vector<std::string_view> text_keys_;
};

}  // namespace

Result<std::unique_ptr<TableScan>> MakeTableScan(const TableImpl& table,
                                                 const ScanOptions& options) {
  return std::unique_ptr<TableScan>(std::make_unique<Scanner>(table, options));
}

}  // namespace edo::engine
