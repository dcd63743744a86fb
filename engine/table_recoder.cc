#include "engine/table_recoder.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "engine/codec_chooser.h"
#include "engine/codec_trials.h"
#include "engine/row_sample.h"
#include "storage/learned_pages.h"

namespace edo {

Status CheckHotTiers(const std::vector<HotTier>& hot, uint32_t dim) {
  if (hot.size() >= kMostTiers) {
    return Status::InvalidArgument(std::to_string(hot.size()) + " hot tiers; at most " +
                                   std::to_string(kMostTiers - 1));
  }
  for (size_t t = 0; t < hot.size(); ++t) {
    const HotTier& tier = hot[t];
    const std::string name = "hot tier " + std::to_string(t + 1);
    if ((tier.rows != 0) == (tier.percent != 0)) {
      return Status::InvalidArgument(name + ": give its rows or their share, one of the two");
    }
    if (tier.rows == 0 && !(tier.percent > 0 && tier.percent < 100)) {
      return Status::InvalidArgument(name + ": a share of " + std::to_string(tier.percent) +
                                     " % of the rows; allowed are shares between 0 and 100");
    }
    EDO_RETURN_IF_ERROR(tier.codec.Check(dim).WithContext(name));
  }
  return Status::Ok();
}

namespace engine {

using storage::PageKind;

namespace {

constexpr uint64_t kBatchBytes = 8 << 20;  // of floats

}  // namespace

TableRecoder::TableRecoder(StoreImpl* store, const TableImpl& table, RecodeWork work)
    : store_(store), table_(table), info_(table.info()), work_(std::move(work)) {
  learn_.threads = work_.threads;
  learn_.step = [this] { return Step(); };
}

Status TableRecoder::Step() {
  const std::lock_guard lock(mutex_);
  return work_.step ? work_.step(done_) : Status::Ok();
}

// ---- codecs ------------------------------------------------------------------------------------

// The tier that holds exactly the target's rows, or null.
const Tier* TableRecoder::SourceOf(const Target& target) const {
  for (const Tier& tier : table_.tiers()) {
    if (tier.first_row() == target.first_row && tier.rows() == target.rows) return &tier;
  }
  return nullptr;
}

Status TableRecoder::MakeCodecs() {
  EDO_RETURN_IF_ERROR(CheckHotTiers(work_.hot, info_.dim));
  uint64_t first = 0;
  for (const HotTier& hot : work_.hot) {
    Target& target = targets_.emplace_back();
    target.first_row = first;
    target.rows =
        hot.rows != 0
            ? hot.rows
            : static_cast<uint64_t>(std::ceil(hot.percent / 100 * static_cast<double>(info_.rows)));
    if (target.rows >= info_.rows - first) {
      return Status::InvalidArgument(
          "table '" + info_.name + "': the hot tiers ask for the first " +
          std::to_string(first + target.rows) + " rows, the table has " +
          std::to_string(info_.rows) + ", of which some must be left for the last tier");
    }
    first += target.rows;
  }
  targets_.push_back({first, info_.rows - first, nullptr});
  for (size_t t = 0; t < targets_.size(); ++t) {
    const bool last = t + 1 == targets_.size();
    if (last && work_.choose_codec) {
      EDO_RETURN_IF_ERROR(ChooseCodec(&targets_[t]));
    } else {
      EDO_RETURN_IF_ERROR(MakeCodec(last ? work_.codec : work_.hot[t].codec, &targets_[t]));
    }
  }
  return Status::Ok();
}

Status TableRecoder::MakeCodec(const CodecSpec& spec, Target* target) {
  EDO_RETURN_IF_ERROR(spec.Check(info_.dim));
  std::vector<std::byte> learned;
  const Tier* const from = SourceOf(*target);
  const bool knows = from != nullptr &&
                     (spec == from->codec->spec() || (spec.profile && from->codec->spec().profile));
  if (knows) {
    learned.assign(from->codec->learned().begin(), from->codec->learned().end());
  } else if (spec.learns()) {
    EDO_ASSIGN_OR_RETURN(const auto sample,
                         SampleOf(table_, target->first_row, target->rows, learn_.seed));
    EDO_ASSIGN_OR_RETURN(learned, storage::Codec::Learn(spec, info_.dim, sample, learn_));
  }
  EDO_ASSIGN_OR_RETURN(target->codec, storage::Codec::Make(spec, info_.dim, learned));
  return Status::Ok();
}

Status TableRecoder::ChooseCodec(Target* target) {
  EDO_RETURN_IF_ERROR(work_.choose_codec->Validate());
  CodecChooser::Source source;
  source.dim = info_.dim;
  source.rows = target->rows;
  EDO_ASSIGN_OR_RETURN(source.sample,
                       SampleOf(table_, target->first_row, target->rows, learn_.seed));
  source.for_each = [&](const CodecChooser::RowsFunction& each) {
    return ForEachBatch(*target, [&](uint64_t, std::span<const float> rows) { return each(rows); });
  };
  CodecChooser chooser(*work_.choose_codec, std::move(source), learn_);
  EDO_ASSIGN_OR_RETURN(CodecChooser::Choice choice, chooser.Run());
  figures_ = std::move(choice.figures);
  EDO_ASSIGN_OR_RETURN(target->codec,
                       storage::Codec::Make(choice.codec, info_.dim, choice.learned));
  return Status::Ok();
}

bool TableRecoder::unchanged() const {
  if (targets_.size() != table_.tiers().size()) return false;
  return std::all_of(targets_.begin(), targets_.end(), [&](const Target& target) {
    const Tier* const from = SourceOf(target);
    return from != nullptr && from->codec->spec() == target.codec->spec();
  });
}

bool TableRecoder::DropsRefinement(const Tier* from, const storage::Codec& to) const {
  if (from == nullptr) return false;
  const CodecSpec& old = from->codec->spec();
  return old.kind == CodecKind::kL4Plus4 && to.spec().kind == CodecKind::kL4 &&
         to.spec().profile == old.profile;
}

// ---- rows --------------------------------------------------------------------------------------

Status TableRecoder::CheckSpace() const {
  const auto free = store_->context()->rows->FreeBytes();
  uint64_t need = info_.key_file_bytes;
  for (const Target& target : targets_) need += target.rows * target.codec->row_bytes();
  if (!free || need <= *free) return Status::Ok();
  return Status::NoSpace("table '" + info_.name + "' in other codecs needs about " +
                         std::to_string(need) + " bytes; the disk has " + std::to_string(*free) +
                         " free");
}

Result<std::unique_ptr<GenerationWriter>> TableRecoder::NewGeneration(
    const Target& target, bool last, Compression wish, const std::optional<ChunkPlan>& plan) {
  EDO_ASSIGN_OR_RETURN(const uint64_t number, store_->NewGeneration());
  EDO_ASSIGN_OR_RETURN(auto files, store_->context()->rows->NewBulkWriter(number));
  const GenerationWriter::Shape shape{last ? info_.key_kind : KeyKind::kDense,
                                      target.codec->row_bytes(), info_.dim};
  return std::make_unique<GenerationWriter>(std::move(files), number, shape, wish, plan);
}

// Decoded rows of a target, some at a time: each(row number of the first, (count, dim)).
template <typename Each>
Status TableRecoder::ForEachBatch(const Target& target, const Each& each) const {
  ScanOptions options;
  options.first_row = target.first_row;
  options.row_count = target.rows;
  options.keys = false;
  EDO_ASSIGN_OR_RETURN(const auto scan, table_.Scan(options));
  std::vector<float> rows;
  uint64_t first = target.first_row;
  for (;;) {
    ScanBatch batch;
    EDO_ASSIGN_OR_RETURN(const bool more, scan->Next(&batch));
    rows.insert(rows.end(), batch.values.begin(), batch.values.end());
    if (rows.empty() || (more && rows.size() * sizeof(float) < kBatchBytes)) {
      if (!more) return Status::Ok();
      continue;
    }
    EDO_RETURN_IF_ERROR(each(first, std::span<const float>(rows)));
    first += rows.size() / info_.dim;
    rows.clear();
    if (!more) return Status::Ok();
  }
}

// Codes of a tier as they are, or without their refinement.
Status TableRecoder::TakeCodes(const Tier& from, const Target& target, GenerationWriter* writer) {
  const kernels::RowFormat& old = from.codec->row_format();
  const uint64_t row_bytes = target.codec->row_bytes();
  const bool same = from.codec->spec() == target.codec->spec();
  std::vector<std::byte> codes;
  return table_.ScanCodesOf(
      from, [&](const Tier&, uint64_t, uint64_t count, std::string_view rows) -> Status {
        if (same) {
          EDO_RETURN_IF_ERROR(writer->AppendCodes(std::as_bytes(std::span(rows))));
        } else {
          codes.resize(count * row_bytes);
          for (uint64_t i = 0; i < count; ++i) {
            const char* const row = rows.data() + i * old.row_bytes();
            std::byte* const to = codes.data() + i * row_bytes;
            std::memcpy(to, row, old.nibble_bytes());
            std::memcpy(to + old.nibble_bytes(), row + old.code_bytes, old.side_bytes);
          }
          EDO_RETURN_IF_ERROR(writer->AppendCodes(codes));
        }
        done_ += count;
        return Step();
      });
}

Status TableRecoder::WriteRows(const Target& target, GenerationWriter* writer) {
  done_ = target.first_row;
  const Tier* const from = SourceOf(target);
  const bool drops = DropsRefinement(from, *target.codec);
  dropped_refinement_ |= drops;
  if (drops || (from != nullptr && from->codec->spec() == target.codec->spec())) {
    EDO_RETURN_IF_ERROR(TakeCodes(*from, target, writer));
    return writer->FinishRows();
  }
  std::vector<std::byte> codes;
  EDO_RETURN_IF_ERROR(
      ForEachBatch(target, [&](uint64_t first, std::span<const float> rows) -> Status {
        uint64_t bad = 0;
        const uint64_t count = rows.size() / info_.dim;
        const Status s =
            storage::Codec::CheckValues(target.codec->spec(), info_.dim, rows.data(), count, &bad);
        if (!s.ok()) return AtRow(s, first + bad / info_.dim);
        EDO_RETURN_IF_ERROR(EncodeInThreads(*target.codec, rows, work_.threads, &codes));
        EDO_RETURN_IF_ERROR(writer->AppendCodes(codes));
        done_ += count;
        return Step();
      }));
  return writer->FinishRows();
}

Status TableRecoder::AtRow(const Status& status, uint64_t row) const {
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

Result<std::unique_ptr<GenerationWriter>> TableRecoder::WriteTarget(const Target& target,
                                                                    bool last) {
  EDO_ASSIGN_OR_RETURN(auto writer, NewGeneration(target, last, work_.compression, std::nullopt));
  EDO_RETURN_IF_ERROR(WriteRows(target, writer.get()));
  if (const auto better = writer->BetterPlan()) {
    EDO_ASSIGN_OR_RETURN(writer, NewGeneration(target, last, Compression::kNone, better));
    EDO_RETURN_IF_ERROR(WriteRows(target, writer.get()));
  }
  return writer;
}

Status TableRecoder::CopyPages(PageKind kind, uint64_t count, storage::BulkWriter* files) {
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

// As of a dense table of these rows alone.
storage::TableRecord TableRecoder::RecordOf(const Target& target,
                                            const GenerationWriter& writer) const {
  storage::TableRecord record;
  writer.Describe(&record);
  record.info.name = info_.name;
  record.info.codec = target.codec->spec();
  record.info.dim = info_.dim;
  record.info.rows = target.rows;
  record.info.created_unix_s = info_.created_unix_s;
  record.learned_bytes = target.codec->learned().size();
  return record;
}

Status TableRecoder::Write() {
  EDO_RETURN_IF_ERROR(CheckSpace());
  std::vector<storage::TableRecord> hot;
  for (size_t t = 0; t + 1 < targets_.size(); ++t) {
    const Target& target = targets_[t];
    EDO_ASSIGN_OR_RETURN(const auto writer, WriteTarget(target, false));
    EDO_RETURN_IF_ERROR(storage::WriteLearned(target.codec->learned(), &writer->files()));
    EDO_RETURN_IF_ERROR(writer->files().Finish());
    hot.push_back(RecordOf(target, *writer));
    EDO_ASSIGN_OR_RETURN(auto pin, store_->Stage(writer->generation(), &writer->files()));
    staged_.push_back(std::move(pin));
  }
  const Target& target = targets_.back();
  EDO_ASSIGN_OR_RETURN(last_, WriteTarget(target, true));
  storage::BulkWriter& files = last_->files();
  const storage::TableRecord& old = table_.record();
  EDO_RETURN_IF_ERROR(CopyPages(PageKind::kKeys, old.key_pages, &files));
  EDO_RETURN_IF_ERROR(CopyPages(PageKind::kIndex, old.index_buckets, &files));
  EDO_RETURN_IF_ERROR(CopyPages(PageKind::kOrder, old.order_pages, &files));
  EDO_RETURN_IF_ERROR(storage::WriteLearned(target.codec->learned(), &files));
  EDO_RETURN_IF_ERROR(files.Finish());
  record_ = old;
  record_.tiers.clear();
  record_.info.tiers.clear();
  last_->Describe(&record_);
  record_.info.codec = target.codec->spec();
  record_.learned_bytes = target.codec->learned().size();
  if (!hot.empty()) storage::AddTiers(std::move(hot), &record_);
  return Status::Ok();
}

}  // namespace engine
}  // namespace edo
