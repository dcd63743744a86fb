// Recode: rows through another codec into a new generation; keys and order are copied as pages.
#include "edo/recode.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/codec_chooser.h"
#include "engine/codec_trials.h"
#include "engine/composed_table.h"
#include "engine/generation_writer.h"
#include "engine/row_sample.h"
#include "engine/store_impl.h"
#include "engine/table_impl.h"
#include "storage/learned_pages.h"

namespace edo {
namespace {

using engine::GenerationWriter;
using engine::TableImpl;
using storage::PageKind;

constexpr uint64_t kBatchBytes = 8 << 20;  // of floats

class Recoder {
 public:
  Recoder(engine::StoreImpl* store, const TableImpl& table, const RecodeOptions& options)
      : store_(store), table_(table), info_(table.info()), options_(options) {
    learn_.threads = options.threads;
    learn_.step = [this] { return Step(); };
  }

  Result<RecodeReport> Run() {
    RecodeReport report;
    report.before = info_;
    std::string figures;
    EDO_RETURN_IF_ERROR(MakeCodec(&figures));
    if (codec_->spec() == info_.codec) {
      report.after = info_;
      report.unchanged = true;
      return report;
    }
    report.dropped_refinement = DropsRefinement();
    EDO_RETURN_IF_ERROR(CheckSpace());
    auto writer = NewGeneration(options_.compression, std::nullopt);
    EDO_RETURN_IF_ERROR(writer.status());
    EDO_RETURN_IF_ERROR(WriteRows(writer->get()));
    if (const auto better = (*writer)->BetterPlan()) {
      writer = NewGeneration(Compression::kNone, better);
      EDO_RETURN_IF_ERROR(writer.status());
      EDO_RETURN_IF_ERROR(WriteRows(writer->get()));
    }
    storage::BulkWriter& files = (*writer)->files();
    const storage::TableRecord& old = table_.record();
    EDO_RETURN_IF_ERROR(CopyPages(PageKind::kKeys, old.key_pages, &files));
    EDO_RETURN_IF_ERROR(CopyPages(PageKind::kIndex, old.index_buckets, &files));
    EDO_RETURN_IF_ERROR(CopyPages(PageKind::kOrder, old.order_pages, &files));
    EDO_RETURN_IF_ERROR(storage::WriteLearned(codec_->learned(), &files));
    EDO_RETURN_IF_ERROR(files.Finish());
    storage::TableRecord record = MakeRecord(**writer);
    if (!figures.empty()) record.info.metadata["edo.codec.choice"] = figures;
    report.after = record.info;
    EDO_RETURN_IF_ERROR(store_->CommitRecoded(std::move(record), info_.generation, &files));
    return report;
  }

 private:
  Status Step() {
    const std::lock_guard lock(mutex_);  // asked from several threads
    if (!options_.progress || options_.progress({done_, info_.rows, done_, "rows"})) {
      return Status::Ok();
    }
    return Status::Cancelled("recoding of table '" + info_.name + "' was cancelled");
  }

  bool DropsRefinement() const {
    return info_.codec.kind == CodecKind::kL4Plus4 && codec_->spec().kind == CodecKind::kL4 &&
           codec_->spec().profile == info_.codec.profile;
  }

  Status MakeCodec(std::string* figures) {
    std::vector<std::byte> learned;
    CodecSpec spec = options_.codec;
    if (options_.choose_codec) {
      EDO_RETURN_IF_ERROR(options_.choose_codec->Validate());
      engine::CodecChooser::Source source;
      source.dim = info_.dim;
      source.rows = info_.rows;
      EDO_ASSIGN_OR_RETURN(source.sample, engine::SampleOf(table_, learn_.seed));
      source.for_each = [this](const engine::CodecChooser::RowsFunction& each) {
        return ForEachBatch([&](uint64_t, std::span<const float> rows) { return each(rows); });
      };
      engine::CodecChooser chooser(*options_.choose_codec, std::move(source), learn_);
      EDO_ASSIGN_OR_RETURN(auto choice, chooser.Run());
      spec = choice.codec;
      learned = std::move(choice.learned);
      *figures = std::move(choice.figures);
      done_ = 0;
    } else {
      EDO_RETURN_IF_ERROR(spec.Check(info_.dim));
      const bool same_profile = spec.profile && info_.codec.profile;
      if (same_profile || spec == info_.codec) {
        learned.assign(table_.Learned().begin(), table_.Learned().end());
      } else if (spec.learns()) {
        EDO_ASSIGN_OR_RETURN(const auto sample, engine::SampleOf(table_, learn_.seed));
        EDO_ASSIGN_OR_RETURN(learned, storage::Codec::Learn(spec, info_.dim, sample, learn_));
      }
    }
    EDO_ASSIGN_OR_RETURN(codec_, storage::Codec::Make(spec, info_.dim, learned));
    return Status::Ok();
  }

  Status CheckSpace() const {
    const auto free = store_->context()->rows->FreeBytes();
    const uint64_t need = info_.rows * codec_->row_bytes() + info_.key_file_bytes;
    if (!free || need <= *free) return Status::Ok();
    return Status::NoSpace("recoding table '" + info_.name + "' needs about " +
                           std::to_string(need) + " bytes; the disk has " + std::to_string(*free) +
                           " free");
  }

  Result<std::unique_ptr<GenerationWriter>> NewGeneration(
      Compression wish, const std::optional<engine::ChunkPlan>& plan) {
    EDO_ASSIGN_OR_RETURN(const uint64_t number, store_->NewGeneration());
    EDO_ASSIGN_OR_RETURN(auto files, store_->context()->rows->NewBulkWriter(number));
    const GenerationWriter::Shape shape{info_.key_kind, codec_->row_bytes(), info_.dim};
    return std::make_unique<GenerationWriter>(std::move(files), number, shape, wish, plan);
  }

  // Decoded rows, some at a time: each(first row, (count, dim)).
  template <typename Each>
  Status ForEachBatch(const Each& each) {
    std::vector<float> rows;
    uint64_t first = 0;
    const auto flush = [&]() -> Status {
      EDO_RETURN_IF_ERROR(each(first, std::span<const float>(rows)));
      first += rows.size() / info_.dim;
      rows.clear();
      return Status::Ok();
    };
    EDO_RETURN_IF_ERROR(
        table_.ScanCodes([&](uint64_t, uint64_t count, std::string_view codes) -> Status {
          const size_t at = rows.size();
          rows.resize(at + count * info_.dim);
          table_.codec().Decode(reinterpret_cast<const std::byte*>(codes.data()), count,
                                {rows.data() + at, FloatType::kF32, 0, 0});
          return rows.size() * sizeof(float) >= kBatchBytes ? flush() : Status::Ok();
        }));
    return rows.empty() ? Status::Ok() : flush();
  }

  Status WriteRows(GenerationWriter* writer) {
    done_ = 0;
    std::vector<std::byte> codes;
    if (DropsRefinement()) {
      const kernels::RowFormat& from = table_.codec().row_format();
      const uint64_t row_bytes = codec_->row_bytes();
      EDO_RETURN_IF_ERROR(
          table_.ScanCodes([&](uint64_t, uint64_t count, std::string_view old) -> Status {
            codes.resize(count * row_bytes);
            for (uint64_t i = 0; i < count; ++i) {
              const char* const row = old.data() + i * from.row_bytes();
              std::byte* const to = codes.data() + i * row_bytes;
              std::memcpy(to, row, from.nibble_bytes());
              std::memcpy(to + from.nibble_bytes(), row + from.code_bytes, from.side_bytes);
            }
            EDO_RETURN_IF_ERROR(writer->AppendCodes(codes));
            done_ += count;
            return Step();
          }));
      return writer->FinishRows();
    }
    EDO_RETURN_IF_ERROR(ForEachBatch([&](uint64_t first, std::span<const float> rows) -> Status {
      uint64_t bad = 0;
      const uint64_t count = rows.size() / info_.dim;
      const Status s =
          storage::Codec::CheckValues(codec_->spec(), info_.dim, rows.data(), count, &bad);
      if (!s.ok()) return AtRow(s, first + bad / info_.dim);
      EDO_RETURN_IF_ERROR(engine::EncodeInThreads(*codec_, rows, options_.threads, &codes));
      EDO_RETURN_IF_ERROR(writer->AppendCodes(codes));
      done_ += count;
      return Step();
    }));
    return writer->FinishRows();
  }

  Status AtRow(const Status& status, uint64_t row) const {
    std::string place = "table '" + info_.name + "' row " + std::to_string(row);
    if (info_.key_kind == KeyKind::kText) {
      const auto keys = table_.TextKeysOf(std::span(&row, 1));
      if (keys.ok()) place += " (key '" + keys->front() + "')";
    } else if (info_.key_kind == KeyKind::kInt64) {
      const auto keys = table_.IntKeysOf(std::span(&row, 1));
      if (keys.ok()) place += " (key " + std::to_string(keys->front()) + ")";
    }
    return status.WithContext(place);
  }

  Status CopyPages(PageKind kind, uint64_t count, storage::BulkWriter* files) {
    if (count == 0) return Status::Ok();
    const auto cursor = store_->context()->rows->ScanPages(kind, info_.generation, 0, count);
    std::string bytes;
    for (uint64_t copied = 0; copied < count; ++copied) {
      uint64_t number = 0;
      storage::PageView page;
      EDO_ASSIGN_OR_RETURN(const bool more, cursor->Next(&number, &page));
      if (!more || number != copied) {
        return Status::Corruption("table '" + info_.name +
                                  "': " + std::string(storage::PageKindName(kind)) + " " +
                                  std::to_string(copied) + " is not there");
      }
      storage::StartPage(&bytes);
      bytes.append(page.payload);
      storage::SealPage(number, page.count, &bytes);
      EDO_RETURN_IF_ERROR(files->Put(kind, number, bytes));
    }
    return Status::Ok();
  }

  storage::TableRecord MakeRecord(const GenerationWriter& writer) const {
    storage::TableRecord record = table_.record();
    writer.Describe(&record);
    record.info.codec = codec_->spec();
    record.info.metadata.erase("edo.codec.choice");  // it spoke of the old codec
    record.learned_bytes = codec_->learned().size();
    return record;
  }

  engine::StoreImpl* const store_;
  const TableImpl& table_;
  const TableInfo& info_;
  const RecodeOptions& options_;
  storage::LearnOptions learn_;
  std::unique_ptr<storage::Codec> codec_;
  std::mutex mutex_;
  uint64_t done_ = 0;
};

}  // namespace

Result<RecodeReport> Recode(Store* store, const RecodeOptions& options) {
  auto* const impl = dynamic_cast<engine::StoreImpl*>(store);
  if (impl == nullptr) return Status::InvalidArgument("Recode needs a store that EDO opened");
  EDO_RETURN_IF_ERROR(impl->CheckWritable());
  EDO_ASSIGN_OR_RETURN(const auto table, impl->OpenTable(options.table, {}));
  EDO_RETURN_IF_ERROR(engine::RefuseComposed(*table, "recode"));
  return Recoder(impl, dynamic_cast<const TableImpl&>(*table), options).Run();
}

}  // namespace edo
