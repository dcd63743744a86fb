#include "engine/table_recoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/codec_trials.h"
#include "engine/row_sample.h"
#include "kernels/codec_kernels.h"
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

// Rows of [first, first + rows) that a tier holds.
uint64_t SharedRows(const Tier& tier, uint64_t first, uint64_t rows) {
  const uint64_t begin = std::max(first, tier.first_row());
  const uint64_t end = std::min(first + rows, tier.end_row());
  return begin < end ? end - begin : 0;
}

bool DropsRefinement(const CodecSpec& from, const CodecSpec& to) {
  return from.kind == CodecKind::kL4Plus4 && to.kind == CodecKind::kL4 &&
         to.profile == from.profile;
}

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

Status CheckHotBytes(const std::string& table, uint32_t dim, std::span<const HotTier> hot,
                     const std::optional<CodecGoal>& goal) {
  if (!goal || !goal->max_bytes) return Status::Ok();
  uint64_t bytes = 0;
  for (const HotTier& tier : hot) {
    bytes += tier.rows * tier.codec.RowBytes(dim) + tier.codec.LearnedBytes(dim);
  }
  if (bytes < *goal->max_bytes) return Status::Ok();
  return Status::GoalMissed("table '" + table + "': the hot tiers alone take " +
                            std::to_string(bytes) + " bytes, " + std::to_string(*goal->max_bytes) +
                            " are allowed for all rows");
}

Status TableRecoder::MakeCodecs() {
  EDO_RETURN_IF_ERROR(CheckHotTiers(work_.hot, info_.dim));
  if (work_.choose_codec) EDO_RETURN_IF_ERROR(work_.choose_codec->Validate());
  std::vector<HotTier> counted = work_.hot;
  uint64_t first = 0;
  for (HotTier& hot : counted) {
    Target& target = targets_.emplace_back();
    target.first_row = first;
    target.rows =
        hot.rows != 0
            ? hot.rows
            : static_cast<uint64_t>(std::ceil(hot.percent * static_cast<double>(info_.rows) / 100 *
                                              (1 - 1e-12)));  // 7 % of 100 are 7
    if (target.rows >= info_.rows - first) {
      return Status::InvalidArgument(
          "table '" + info_.name + "': the hot tiers ask for the first " +
          std::to_string(first + target.rows) + " rows, the table has " +
          std::to_string(info_.rows) + ", of which some must be left for the last tier");
    }
    first += target.rows;
    hot.rows = target.rows;
  }
  EDO_RETURN_IF_ERROR(CheckHotBytes(info_.name, info_.dim, counted, work_.choose_codec));
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

// The tier whose codec has learned what `spec` needs to know of the target's rows, or null: it
// holds at least half of them, so that what it learned speaks for them, and in that codec, so that
// those are kept to the bit. A profile is one for all codecs that have one.
const Tier* TableRecoder::KnownBy(const CodecSpec& spec, const Target& target) const {
  const Tier* best = nullptr;
  uint64_t most = 0;
  for (const Tier& tier : table_.tiers()) {
    const uint64_t rows = SharedRows(tier, target.first_row, target.rows);
    const CodecSpec& old = tier.codec->spec();
    const bool all = rows == target.rows && rows == tier.rows();
    const bool knows =
        spec == old || DropsRefinement(old, spec) || (all && spec.profile && old.profile);
    if (!knows || rows <= most || rows < target.rows - rows) continue;
    best = &tier;
    most = rows;
  }
  return best;
}

Result<std::vector<std::byte>> TableRecoder::LearnedFor(const CodecSpec& spec,
                                                        const Target& target) const {
  if (const Tier* const from = KnownBy(spec, target)) {
    return std::vector<std::byte>(from->codec->learned().begin(), from->codec->learned().end());
  }
  if (!spec.learns()) return std::vector<std::byte>();
  EDO_ASSIGN_OR_RETURN(const auto sample,
                       SampleOf(table_, target.first_row, target.rows, learn_.seed));
  return storage::Codec::Learn(spec, info_.dim, sample, learn_);
}

Status TableRecoder::MakeCodec(const CodecSpec& spec, Target* target) {
  EDO_RETURN_IF_ERROR(spec.Check(info_.dim));
  EDO_ASSIGN_OR_RETURN(const auto learned, LearnedFor(spec, *target));
  EDO_ASSIGN_OR_RETURN(target->codec, storage::Codec::Make(spec, info_.dim, learned));
  return Status::Ok();
}

Status TableRecoder::ChooseCodec(Target* target) {
  const auto part_of = [this](const Target& of) {
    return CodecChooser::Part{
        of.rows, [this, &of](const storage::Codec& codec, const CodecChooser::CodedFunction& each) {
          return ForEachCoded(of, codec, true, each);
        }};
  };
  CodecChooser::Source source;
  source.dim = info_.dim;
  source.part = part_of(*target);
  EDO_ASSIGN_OR_RETURN(source.sample,
                       SampleOf(table_, target->first_row, target->rows, learn_.seed));
  for (const Target& hot : targets_) {
    if (&hot != target) source.hot.push_back({part_of(hot), hot.codec.get()});
  }
  source.known = [this, target](const CodecSpec& spec, std::vector<std::byte>* learned) {
    const Tier* const from = KnownBy(spec, *target);
    if (from == nullptr) return false;
    learned->assign(from->codec->learned().begin(), from->codec->learned().end());
    return true;
  };
  for (const Tier& tier : table_.tiers()) {
    const CodecSpec& spec = tier.codec->spec();
    if (KnownBy(spec, *target) == &tier) source.held.push_back(spec);
  }
  CodecChooser chooser(*work_.choose_codec, std::move(source), learn_);
  EDO_ASSIGN_OR_RETURN(CodecChooser::Choice choice, chooser.Run());
  figures_ = std::move(choice.figures);
  EDO_ASSIGN_OR_RETURN(target->codec,
                       storage::Codec::Make(choice.codec, info_.dim, choice.learned));
  return Status::Ok();
}

bool TableRecoder::unchanged() const {
  if (targets_.size() != table_.tiers().size()) return false;
  for (size_t t = 0; t < targets_.size(); ++t) {
    const Tier& tier = table_.tiers()[t];
    if (targets_[t].rows != tier.rows() || targets_[t].codec->spec() != tier.codec->spec()) {
      return false;
    }
  }
  return true;
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

// Decoded rows, some at a time: each(row number of the first, (count, dim)).
template <typename Each>
Status TableRecoder::ForEachBatch(uint64_t first_row, uint64_t row_count, const Each& each) const {
  ScanOptions options;
  options.first_row = first_row;
  options.row_count = row_count;
  options.keys = false;
  EDO_ASSIGN_OR_RETURN(const auto scan, table_.Scan(options));
  std::vector<float> rows;
  uint64_t first = first_row;
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

// A target's rows by the tiers that hold them now. Codes are taken as they are where the codec and
// what it has learned are the same.
std::vector<TableRecoder::Piece> TableRecoder::PiecesOf(const Target& target,
                                                        const storage::Codec& codec) const {
  std::vector<Piece> pieces;
  for (const Tier& tier : table_.tiers()) {
    const uint64_t rows = SharedRows(tier, target.first_row, target.rows);
    if (rows == 0) continue;
    Piece& piece = pieces.emplace_back();
    piece.from = &tier;
    piece.first_row = std::max(target.first_row, tier.first_row());
    piece.rows = rows;
    const auto knows = tier.codec->learned(), needs = codec.learned();
    if (!std::equal(knows.begin(), knows.end(), needs.begin(), needs.end())) continue;
    if (tier.codec->spec() == codec.spec()) piece.how = Piece::How::kTake;
    if (DropsRefinement(tier.codec->spec(), codec.spec())) {
      piece.how = Piece::How::kDropRefinement;
    }
  }
  return pieces;
}

// Codes of a tier as they are, or without their refinement.
Status TableRecoder::ForEachTaken(const Piece& piece, const storage::Codec& codec, bool with_rows,
                                  const CodecChooser::CodedFunction& each) const {
  const kernels::RowFormat& old = piece.from->codec->row_format();
  const uint64_t row_bytes = codec.row_bytes();
  std::vector<std::byte> dropped;
  std::vector<float> rows;
  return table_.ScanCodesOf(
      *piece.from, piece.first_row, piece.rows,
      [&](const Tier& from, uint64_t, uint64_t count, std::string_view bytes) -> Status {
        std::span<const std::byte> codes = std::as_bytes(std::span(bytes));
        if (with_rows) {
          rows.resize(count * info_.dim);
          from.codec->Decode(codes.data(), count, {rows.data(), FloatType::kF32, 0, 0});
        }
        if (piece.how == Piece::How::kDropRefinement) {
          dropped.resize(count * row_bytes);
          for (uint64_t i = 0; i < count; ++i) {
            const std::byte* const row = codes.data() + i * old.row_bytes();
            std::byte* const to = dropped.data() + i * row_bytes;
            kernels::DropL4Refinement(old, row, to);
          }
          codes = dropped;
        }
        return each(rows, codes);
      });
}

// The rows of a target as they are now, and the codes that they get.
Status TableRecoder::ForEachCoded(const Target& target, const storage::Codec& codec, bool with_rows,
                                  const CodecChooser::CodedFunction& each) const {
  // A book that is kept may be one that was learned elsewhere, for rows of another scale.
  std::unique_ptr<storage::Codec> searching;
  if (codec.spec().kind == CodecKind::kPQ && KnownBy(codec.spec(), target) != nullptr) {
    EDO_ASSIGN_OR_RETURN(searching,
                         storage::Codec::Make(codec.spec(), info_.dim, codec.learned(), true));
  }
  const storage::Codec& encoder = searching != nullptr ? *searching : codec;
  std::vector<std::byte> codes;
  for (const Piece& piece : PiecesOf(target, codec)) {
    if (piece.how != Piece::How::kEncode) {
      EDO_RETURN_IF_ERROR(ForEachTaken(piece, codec, with_rows, each));
      continue;
    }
    EDO_RETURN_IF_ERROR(ForEachBatch(
        piece.first_row, piece.rows, [&](uint64_t first, std::span<const float> rows) -> Status {
          uint64_t bad = 0;
          const Status s = storage::Codec::CheckValues(codec.spec(), info_.dim, rows.data(),
                                                       rows.size() / info_.dim, &bad);
          if (!s.ok()) return AtRow(s, first + bad / info_.dim);
          EDO_RETURN_IF_ERROR(EncodeInThreads(encoder, rows, work_.threads, &codes));
          return each(rows, codes);
        }));
  }
  return Status::Ok();
}

Status TableRecoder::WriteRows(const Target& target, GenerationWriter* writer) {
  done_ = target.first_row;
  const storage::Codec& codec = *target.codec;
  for (const Piece& piece : PiecesOf(target, codec)) {
    dropped_refinement_ |= piece.how == Piece::How::kDropRefinement;
  }
  EDO_RETURN_IF_ERROR(
      ForEachCoded(target, codec, false,
                   [&](std::span<const float>, std::span<const std::byte> codes) -> Status {
                     EDO_RETURN_IF_ERROR(writer->AppendCodes(codes));
                     done_ += codes.size() / codec.row_bytes();
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
