#include "engine/ordered_copy.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/lookup.h"
#include "storage/key_directory.h"
#include "storage/order_page.h"

namespace edo::engine {
namespace {

class OrderedCopy {
 public:
  OrderedCopy(const RowSource& source, GenerationWriter* to)
      : source_(source), keys_(source.rows, *source.record), to_(to) {}

  Status CopyRows(std::span<const uint64_t> rows) {
    const uint64_t row_bytes = source_.record->info.row_bytes;
    codes_.resize(rows.size() * row_bytes);
    Status failed;
    ChunkRead read;
    read.rows = [&](std::span<const uint32_t> places, std::span<const std::byte* const> codes) {
      for (size_t i = 0; i < places.size(); ++i) {
        std::memcpy(codes_.data() + places[i] * row_bytes, codes[i], row_bytes);
      }
    };
    read.failed = [&](std::span<const uint32_t>, ReadFailure failure) {
      if (failed.ok()) failed = failure.status;
    };
    ReadRowsByChunk(*source_.rows, nullptr, *source_.record, rows, std::nullopt, read);
    EDO_RETURN_IF_ERROR(failed);
    for (uint64_t done = 0; done < rows.size();) {
      uint64_t granted = 0;
      std::byte* const codes = to_->ReserveRows(rows.size() - done, &granted);
      std::memcpy(codes, codes_.data() + done * row_bytes, granted * row_bytes);
      EDO_RETURN_IF_ERROR(to_->CommitRows(granted));
      done += granted;
    }
    return Status::Ok();
  }

  Status CopyKeys(std::span<const uint64_t> rows) {
    if (source_.record->info.key_kind == KeyKind::kInt64) {
      EDO_RETURN_IF_ERROR(keys_.IntKeysOf(rows, &ints_));
      return to_->keys().Add(ints_);
    }
    if (source_.record->info.key_kind == KeyKind::kText) {
      EDO_RETURN_IF_ERROR(keys_.TextKeysOf(rows, &texts_));
      const std::vector<std::string_view> views(texts_.begin(), texts_.end());
      return to_->keys().Add(views);
    }
    return Status::Ok();
  }

  Status Finish() {
    EDO_RETURN_IF_ERROR(to_->FinishRows());
    if (source_.record->info.key_kind == KeyKind::kDense) return Status::Ok();
    std::vector<storage::DuplicateRows> none;
    EDO_RETURN_IF_ERROR(to_->keys().Finish(&none));
    if (none.empty()) return Status::Ok();
    return Status::Corruption("table '" + source_.record->info.name +
                              "': keys repeat after the rows were put in order");
  }

 private:
  const RowSource source_;
  const storage::KeyDirectory keys_;
  GenerationWriter* const to_;
  std::vector<std::byte> codes_;
  std::vector<int64_t> ints_;
  std::vector<std::string> texts_;
};

// Writes entries as pages `*page`, `*page` + 1, ...
Status WritePages(std::span<const uint64_t> entries, storage::BulkWriter* files, uint64_t* page) {
  std::string bytes;
  while (!entries.empty()) {
    const auto some =
        entries.first(std::min<size_t>(storage::kOrderEntriesPerPage, entries.size()));
    storage::StartPage(&bytes);
    storage::AppendOrder(some, &bytes);
    storage::SealPage(*page, static_cast<uint32_t>(some.size()), &bytes);
    EDO_RETURN_IF_ERROR(files->Put(storage::PageKind::kOrder, (*page)++, bytes));
    entries = entries.subspan(some.size());
  }
  return Status::Ok();
}

}  // namespace

Status CopyInOrder(const RowSource& source, std::span<const uint64_t> order,
                   const OrderLimits& limits, const OrderStep& step, GenerationWriter* to) {
  OrderedCopy copy(source, to);
  const uint64_t window = limits.WindowRows(source.record->info.row_bytes);
  for (uint64_t begin = 0; begin < order.size(); begin += window) {
    EDO_RETURN_IF_ERROR(step());
    const auto rows = order.subspan(begin, std::min<uint64_t>(window, order.size() - begin));
    EDO_RETURN_IF_ERROR(copy.CopyRows(rows));
    EDO_RETURN_IF_ERROR(copy.CopyKeys(rows));
  }
  return copy.Finish();
}

Status WriteOrderPages(KeyKind keys, std::vector<uint64_t> order, storage::BulkWriter* files,
                       uint64_t* pages) {
  *pages = 0;
  EDO_RETURN_IF_ERROR(WritePages(InverseOf(order), files, pages));
  return keys == KeyKind::kDense ? WritePages(order, files, pages) : Status::Ok();
}

}  // namespace edo::engine
