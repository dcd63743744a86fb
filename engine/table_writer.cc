#include "engine/table_writer.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "engine/codec_chooser.h"
#include "engine/codec_trials.h"
#include "engine/ordered_copy.h"
#include "engine/row_order.h"
#include "engine/store_impl.h"
#include "storage/key_page.h"
#include "storage/learned_pages.h"
#include "storage/order_page.h"

namespace edo::engine {

using storage::DuplicateRows;
using storage::PageKind;

namespace {

bool MustLearn(const TableOptions& options) {
  return options.choose_codec || (options.codec.learns() && options.learned.empty());
}

// Says before anything is written that the disk is too small.
Status CheckSpace(const StoreContext& context, const TableOptions& options) {
  const std::optional<uint64_t> free = context.rows->FreeBytes();
  if (!free || options.expected_rows == 0) return Status::Ok();
  const auto rows = static_cast<double>(options.expected_rows);
  const double keys = options.key_kind == KeyKind::kDense ? 0 : 22;
  const bool ordered = options.order.kind != OrderKind::kFile;
  const double once = 1.08 * static_cast<double>(options.codec.RowBytes(options.dim)) + keys;
  const double waiting = MustLearn(options) || !options.hot.empty() ? 4.0 * options.dim : 0;
  const double need = rows * ((ordered ? 2 * once + 10 : once) + waiting);
  if (need <= static_cast<double>(*free)) return Status::Ok();
  return Status::NoSpace("the table needs about " + std::to_string(static_cast<uint64_t>(need)) +
                         " bytes for " + std::to_string(options.expected_rows) +
                         " rows; the disk of store '" + context.directory + "' has " +
                         std::to_string(*free) + " free");
}

// Tells the caller that work goes on, and ends it when the caller says so.
OrderStep StepOf(const TableOptions& options) {
  return [progress = options.progress, steps = uint64_t{0}]() mutable -> Status {
    if (!progress || progress({++steps, 0, 0, "steps"})) return Status::Ok();
    return Status::Cancelled("the commit was cancelled");
  };
}

}  // namespace

TableWriterImpl::TableWriterImpl(StoreImpl* store, std::string name, const TableOptions& options,
                                 RecodeWork tiers, std::unique_ptr<storage::Codec> codec,
                                 std::unique_ptr<RowSpool> spool,
                                 std::unique_ptr<GenerationWriter> generation)
    : store_(store),
      name_(std::move(name)),
      options_(options),
      tiers_(std::move(tiers)),
      codec_(std::move(codec)),
      generation_(std::move(generation)),
      spool_(std::move(spool)) {}

Result<std::unique_ptr<GenerationWriter>> TableWriterImpl::NewGeneration(
    StoreImpl* store, const TableOptions& options, Compression wish,
    const std::optional<ChunkPlan>& plan) {
  EDO_ASSIGN_OR_RETURN(const uint64_t number, store->NewGeneration());
  EDO_ASSIGN_OR_RETURN(auto files, store->context()->rows->NewBulkWriter(number));
  const GenerationWriter::Shape shape = {options.key_kind, options.codec.RowBytes(options.dim),
                                         options.dim};
  return std::make_unique<GenerationWriter>(std::move(files), number, shape, wish, plan);
}

namespace {

// Mixed precision: what the rows become when they are all there.
Result<RecodeWork> WorkOfTiers(const std::string& name, const TableOptions& options) {
  RecodeWork tiers;
  if (options.hot.empty()) return tiers;
  EDO_RETURN_IF_ERROR(CheckHotTiers(options.hot, options.dim));
  if (!options.learned.empty()) {
    return Status::InvalidArgument("table '" + name +
                                   "': what a codec has learned (`learned`) cannot be "
                                   "given for a table of several; its tiers learn from the rows");
  }
  uint64_t rows = 0;
  for (const HotTier& tier : options.hot) rows += std::min(tier.rows, kMaxRows);
  if (options.expected_rows > 0 && rows >= options.expected_rows) {
    return Status::InvalidArgument("table '" + name + "': the hot tiers ask for the first " +
                                   std::to_string(rows) + " rows, of " +
                                   std::to_string(options.expected_rows) +
                                   ", of which some must be left for the last tier");
  }
  EDO_RETURN_IF_ERROR(CheckHotBytes(name, options.dim, options.hot, options.choose_codec));
  tiers.hot = options.hot;
  tiers.codec = options.codec;
  tiers.choose_codec = options.choose_codec;
  tiers.compression = options.compression;
  tiers.threads = options.threads;
  tiers.step = [step = StepOf(options)](uint64_t) mutable { return step(); };
  return tiers;
}

}  // namespace

Result<std::unique_ptr<TableWriter>> TableWriterImpl::Make(StoreImpl* store, std::string name,
                                                           const TableOptions& asked) {
  if (asked.choose_codec) {
    EDO_RETURN_IF_ERROR(asked.choose_codec->Validate());
    EDO_RETURN_IF_ERROR(CodecSpec{}.Check(asked.dim));
  } else {
    EDO_RETURN_IF_ERROR(asked.codec.Check(asked.dim));
  }
  EDO_RETURN_IF_ERROR(CheckSpace(*store->context(), asked));
  EDO_ASSIGN_OR_RETURN(RecodeWork tiers, WorkOfTiers(name, asked));
  TableOptions options = asked;
  if (!tiers.hot.empty()) {
    options.codec = CodecSpec{};
    options.choose_codec.reset();
    options.compression = Compression::kNone;
  }
  std::unique_ptr<storage::Codec> codec;
  if (!MustLearn(options)) {
    auto made = storage::Codec::Make(options.codec, options.dim, options.learned,
                                     options.learned_elsewhere);
    if (!made.ok()) {
      return Status::InvalidArgument("table '" + name +
                                     "': " + std::string(made.status().message()));
    }
    codec = std::move(*made);
  }
  // A fault on the last line should not wait until all rows are read.
  EDO_RETURN_IF_ERROR(CheckOrderFile(options.order, options.key_kind, StepOf(options)));
  std::unique_ptr<RowSpool> spool;
  // Rows that will be put in another order are compressed when they are.
  const bool ordered = options.order.kind != OrderKind::kFile;
  EDO_ASSIGN_OR_RETURN(
      auto generation,
      NewGeneration(store, options, ordered ? Compression::kNone : options.compression));
  if (codec == nullptr) {
    spool = std::make_unique<RowSpool>(generation->files().temp_directory() + "/rows", options.dim,
                                       storage::SampleRows(options.dim));
  }
  return std::unique_ptr<TableWriter>(new TableWriterImpl(store, std::move(name), options,
                                                          std::move(tiers), std::move(codec),
                                                          std::move(spool), std::move(generation)));
}

std::string TableWriterImpl::Place(uint64_t row) const {
  return options_.position_unit + " " + std::to_string(positions_.Of(row));
}

Status TableWriterImpl::CheckKeys(const Rows& rows, uint64_t count) const {
  const bool ints = options_.key_kind == KeyKind::kInt64;
  const bool texts = options_.key_kind == KeyKind::kText;
  if (rows.int_keys.size() != (ints ? count : 0) || rows.text_keys.size() != (texts ? count : 0)) {
    return Status::InvalidArgument("table '" + name_ + "' with " +
                                   std::string(KeyKindName(options_.key_kind)) + " keys got " +
                                   std::to_string(rows.int_keys.size()) + " integer and " +
                                   std::to_string(rows.text_keys.size()) + " text keys for " +
                                   std::to_string(count) + " rows");
  }
  if (!rows.positions.empty() && rows.positions.size() != count) {
    return Status::InvalidArgument("positions are " + std::to_string(rows.positions.size()) +
                                   " for " + std::to_string(count) + " rows");
  }
  if (rows_ + count > kMaxRows) {
    return Status::BadInput("table '" + name_ + "' would hold more than " +
                            std::to_string(kMaxRows) + " rows");
  }
  for (size_t i = 0; i < rows.text_keys.size(); ++i) {
    if (rows.text_keys[i].size() <= kMaxKeyBytes) continue;
    const uint64_t at = rows.positions.empty() ? rows_ + i : rows.positions[i];
    return Status::BadInput(options_.position_unit + " " + std::to_string(at) + ": key of " +
                            std::to_string(rows.text_keys[i].size()) + " bytes; at most " +
                            std::to_string(kMaxKeyBytes) + " are allowed");
  }
  return Status::Ok();
}

Status TableWriterImpl::AppendKeys(const Rows& rows, uint64_t count) {
  const uint64_t first = rows_;
  if (!rows.positions.empty()) {
    for (uint64_t i = 0; i < count; ++i) positions_.Add(first + i, rows.positions[i]);
  }
  if (options_.key_kind == KeyKind::kInt64) return generation_->keys().Add(rows.int_keys);
  if (options_.key_kind == KeyKind::kText) return generation_->keys().Add(rows.text_keys);
  return Status::Ok();
}

Status TableWriterImpl::BadValue(const Status& status, const Rows& rows, uint64_t first,
                                 uint64_t i) const {
  std::string place = Place(first + i);
  if (!rows.text_keys.empty()) place += " (key '" + std::string(rows.text_keys[i]) + "')";
  if (!rows.int_keys.empty()) place += " (key " + std::to_string(rows.int_keys[i]) + ")";
  return status.WithContext(place);
}

Status TableWriterImpl::Append(const Rows& rows) {
  const uint64_t dim = options_.dim;
  if (waiting()) {
    return AppendRows(rows, rows.values.size(), dim, "values", {});
  }
  return AppendRows(rows, rows.values.size(), dim, "values",
                    [&](uint64_t done, uint64_t n, std::byte* codes) -> Status {
                      uint64_t bad = 0;
                      const uint64_t first = rows_;
                      const float* const values = rows.values.data() + done * dim;
                      Status s = codec_->Encode(values, n, codes, &bad);
                      if (s.ok()) s = CheckTierValues(values, n, &bad);
                      return s.ok() ? s : BadValue(s, rows, first, done + bad / dim);
                    });
}

// Which tier a row goes to is not known yet, so each must take it.
Status TableWriterImpl::CheckTierValues(const float* values, uint64_t count, uint64_t* bad) const {
  if (tiers_.hot.empty()) return Status::Ok();
  for (const HotTier& tier : tiers_.hot) {
    EDO_RETURN_IF_ERROR(storage::Codec::CheckValues(tier.codec, options_.dim, values, count, bad));
  }
  if (tiers_.choose_codec) return Status::Ok();
  return storage::Codec::CheckValues(tiers_.codec, options_.dim, values, count, bad);
}

Status TableWriterImpl::AppendCodes(std::span<const std::byte> codes, const Rows& keys) {
  if (waiting()) {
    return Status::InvalidArgument("table '" + name_ + "': codes of " + options_.codec.ToString() +
                                   " without what their codec has learned");
  }
  if (!tiers_.hot.empty()) {
    return Status::InvalidArgument("table '" + name_ + "': codes for a table of several codecs");
  }
  const uint64_t row_bytes = codec_->row_bytes();
  return AppendRows(keys, codes.size(), row_bytes, "bytes of codes",
                    [&](uint64_t done, uint64_t n, std::byte* to) {
                      std::memcpy(to, codes.data() + done * row_bytes, n * row_bytes);
                      return Status::Ok();
                    });
}

Status TableWriterImpl::AppendRows(
    const Rows& rows, uint64_t size, uint64_t row_size, const char* what,
    const std::function<Status(uint64_t done, uint64_t n, std::byte* codes)>& encode) {
  if (spent_) return Status::InvalidArgument("the writer of table '" + name_ + "' is spent");
  spent_ = true;  // until this call ends well
  if (size % row_size != 0) {
    return Status::InvalidArgument(std::to_string(size) + " " + what + " are not whole rows of " +
                                   std::to_string(row_size));
  }
  const uint64_t count = size / row_size;
  EDO_RETURN_IF_ERROR(CheckKeys(rows, count));
  EDO_RETURN_IF_ERROR(AppendKeys(rows, count));
  if (!encode) {
    uint64_t bad = 0;
    const CodecSpec codec = options_.choose_codec ? CodecSpec{} : options_.codec;
    const Status s =
        storage::Codec::CheckValues(codec, options_.dim, rows.values.data(), count, &bad);
    if (!s.ok()) return BadValue(s, rows, rows_, bad / options_.dim);
    EDO_RETURN_IF_ERROR(spool_->Append(rows.values));
  }
  for (uint64_t done = encode ? 0 : count; done < count;) {
    uint64_t granted = 0;
    std::byte* codes = generation_->ReserveRows(count - done, &granted);
    EDO_RETURN_IF_ERROR(encode(done, granted, codes));
    EDO_RETURN_IF_ERROR(generation_->CommitRows(granted));
    done += granted;
  }
  rows_ += count;
  spent_ = false;
  return Status::Ok();
}

Status TableWriterImpl::ChooseCodec(const storage::LearnOptions& learn,
                                    std::vector<std::byte>* learned) {
  CodecChooser::Source source;
  source.dim = options_.dim;
  source.sample = spool_->TakeSample();
  source.part.rows = rows_;
  source.part.for_each = [this](const storage::Codec& codec,
                                const CodecChooser::CodedFunction& each) {
    std::vector<std::byte> codes;
    return spool_->ForEach([&](std::span<const float> rows) -> Status {
      EDO_RETURN_IF_ERROR(EncodeInThreads(codec, rows, options_.threads, &codes));
      return each(rows, codes);
    });
  };
  CodecChooser chooser(*options_.choose_codec, std::move(source), learn);
  EDO_ASSIGN_OR_RETURN(CodecChooser::Choice choice, chooser.Run());
  options_.codec = choice.codec;
  options_.metadata["edo.codec.choice"] = std::move(choice.figures);
  *learned = std::move(choice.learned);
  return Status::Ok();
}

Status TableWriterImpl::EncodeSpool() {
  std::mutex mutex;  // steps are asked from several threads
  const storage::LearnOptions learn{
      .seed = 1, .threads = options_.threads, .step = [&mutex, step = StepOf(options_)]() mutable {
        const std::lock_guard lock(mutex);
        return step();
      }};
  std::vector<std::byte> learned;
  if (options_.choose_codec) {
    EDO_RETURN_IF_ERROR(ChooseCodec(learn, &learned));
    generation_->SetRowBytes(options_.codec.RowBytes(options_.dim), options_.dim);
  } else {
    const std::vector<float> sample = spool_->TakeSample();
    EDO_ASSIGN_OR_RETURN(learned,
                         storage::Codec::Learn(options_.codec, options_.dim, sample, learn));
  }
  EDO_ASSIGN_OR_RETURN(codec_, storage::Codec::Make(options_.codec, options_.dim, learned));
  std::vector<std::byte> codes;
  EDO_RETURN_IF_ERROR(spool_->ForEach([&](std::span<const float> rows) -> Status {
    EDO_RETURN_IF_ERROR(EncodeInThreads(*codec_, rows, options_.threads, &codes));
    EDO_RETURN_IF_ERROR(generation_->AppendCodes(codes));
    return learn.step();
  }));
  spool_.reset();
  return Status::Ok();
}

Status TableWriterImpl::RefuseDuplicates(const std::vector<DuplicateRows>& duplicates) {
  const DuplicateRows& d = duplicates.front();
  EDO_ASSIGN_OR_RETURN(const std::string key, generation_->keys().ReadBackKey(d.second));
  const std::string quoted = options_.key_kind == KeyKind::kText ? "'" + key + "'" : key;
  std::string message =
      Place(d.second) + ": key " + quoted + " is there already, at " + Place(d.first);
  if (duplicates.size() > 1) {
    message += "; " + std::to_string(duplicates.size() - 1) + " more rows repeat a key";
  }
  return Status::BadInput(message);
}

// Rows to leave out: with kFirst all later ones of a key, with kLast all but the last.
Status TableWriterImpl::DropDuplicates(const std::vector<DuplicateRows>& duplicates) {
  std::map<uint64_t, uint64_t> last_of;  // first row of a key -> its last row
  if (options_.on_duplicate == OnDuplicate::kLast) {
    for (const DuplicateRows& d : duplicates) last_of[d.first] = d.second;  // sorted by second
  }
  std::vector<uint64_t> rows;
  const auto drop = [&](uint64_t row, uint64_t kept) -> Status {
    EDO_ASSIGN_OR_RETURN(std::string key, generation_->keys().ReadBackKey(row));
    dropped_.push_back({positions_.Of(row), positions_.Of(kept), std::move(key)});
    rows.push_back(row);
    return Status::Ok();
  };
  for (const auto& [first, last] : last_of) EDO_RETURN_IF_ERROR(drop(first, last));
  for (const DuplicateRows& d : duplicates) {
    const uint64_t kept = last_of.empty() ? d.first : last_of[d.first];
    if (d.second != kept) EDO_RETURN_IF_ERROR(drop(d.second, kept));
  }
  std::sort(rows.begin(), rows.end());
  std::sort(dropped_.begin(), dropped_.end(),
            [](const DroppedRow& a, const DroppedRow& b) { return a.position < b.position; });
  return Rewrite(rows, generation_->BetterPlan().value_or(generation_->plan()));
}

Status TableWriterImpl::Rewrite(const std::vector<uint64_t>& dropped_rows, const ChunkPlan& plan) {
  EDO_ASSIGN_OR_RETURN(auto copy, NewGeneration(store_, options_, Compression::kNone, plan));
  EDO_RETURN_IF_ERROR(CopyWithout(dropped_rows, copy.get()));
  if (options_.key_kind != KeyKind::kDense) {
    std::vector<DuplicateRows> none;
    EDO_RETURN_IF_ERROR(copy->keys().Finish(&none));
    if (!none.empty()) {
      return Status::Corruption("table '" + name_ + "': keys repeat after duplicates were dropped");
    }
  }
  generation_ = std::move(copy);
  return Status::Ok();
}

Status TableWriterImpl::ThinkAgain() {
  const std::optional<ChunkPlan> plan = generation_->BetterPlan();
  if (!plan) return Status::Ok();
  const Status s = Rewrite({}, *plan);
  if (s.code() != StatusCode::kNoSpace) return s;
  // The rows are written, and right; only not as small, or as fast to read, as they could be.
  store_->context()->Log(LogLevel::kWarning, "table '" + name_ + "' is left " +
                                                 (plan->packed ? "un" : "") +
                                                 "compressed: " + std::string(s.message()));
  return Status::Ok();
}

Status TableWriterImpl::CopyWithout(const std::vector<uint64_t>& dropped_rows,
                                    GenerationWriter* to) {
  const uint64_t rows_a_chunk = generation_->plan().rows;
  const uint64_t row_bytes = codec_->row_bytes();
  auto dropped = dropped_rows.begin();
  storage::ChunkUnpacker unpacker;
  for (uint64_t c = 0; c < generation_->chunk_count(); ++c) {
    EDO_ASSIGN_OR_RETURN(const std::string bytes,
                         generation_->files().ReadBack(PageKind::kChunk, c));
    EDO_ASSIGN_OR_RETURN(storage::PageView page, storage::OpenPage(bytes, c));
    EDO_RETURN_IF_ERROR(unpacker.Unpack(&page));
    for (uint64_t i = 0; i < page.count; ++i) {
      if (dropped != dropped_rows.end() && *dropped == c * rows_a_chunk + i) {
        ++dropped;
        continue;
      }
      uint64_t granted = 0;
      std::memcpy(to->ReserveRows(1, &granted), page.payload.data() + i * row_bytes, row_bytes);
      EDO_RETURN_IF_ERROR(to->CommitRows(1));
    }
  }
  EDO_RETURN_IF_ERROR(to->FinishRows());
  if (options_.key_kind == KeyKind::kDense) return Status::Ok();
  return CopyKeysWithout(dropped_rows, to);
}

Status TableWriterImpl::CopyKeysWithout(const std::vector<uint64_t>& dropped_rows,
                                        GenerationWriter* to) {
  const uint64_t keys_a_page = storage::KeysPerPage(options_.key_kind);
  auto dropped = dropped_rows.begin();
  std::vector<std::string_view> texts;
  std::vector<int64_t> ints;
  for (uint64_t p = 0; p < generation_->keys().key_pages(); ++p) {
    EDO_ASSIGN_OR_RETURN(const std::string bytes,
                         generation_->files().ReadBack(PageKind::kKeys, p));
    EDO_ASSIGN_OR_RETURN(const storage::PageView page, storage::OpenPage(bytes, p));
    const bool is_int = options_.key_kind == KeyKind::kInt64;
    EDO_RETURN_IF_ERROR(is_int ? storage::ReadIntKeys(page, &ints)
                               : storage::ReadTextKeys(page, &texts));
    for (uint64_t i = 0; i < page.count; ++i) {
      if (dropped != dropped_rows.end() && *dropped == p * keys_a_page + i) {
        ++dropped;
      } else if (is_int) {
        EDO_RETURN_IF_ERROR(to->keys().Add(std::span(&ints[i], 1)));
      } else {
        EDO_RETURN_IF_ERROR(to->keys().Add(std::span(&texts[i], 1)));
      }
    }
  }
  return Status::Ok();
}

Status TableWriterImpl::PutInOrder() {
  const OrderStep step = StepOf(options_);
  storage::BulkWriter& files = generation_->files();
  EDO_RETURN_IF_ERROR(files.Finish());
  const storage::TableRecord record = MakeRecord();
  EDO_ASSIGN_OR_RETURN(const auto pin, store_->Stage(generation_->generation(), &files));
  const StoreContext& context = *store_->context();
  const RowSource source{context.rows.get(), &record, codec_.get()};
  std::vector<uint64_t> counts;
  if (!options_.order.file.empty()) {
    EDO_ASSIGN_OR_RETURN(counts, ReadCounts(options_.order, source, step, &order_report_));
  }
  std::vector<uint64_t> order;
  if (options_.order.kind == OrderKind::kCounts) {
    order = OrderByCount(counts, {});
  } else {
    const std::vector<uint8_t> tiers =
        options_.order.file.empty() ? TiersOfPlaces(record.info.rows, {}) : TiersOfCounts(counts);
    counts = {};
    EDO_ASSIGN_OR_RETURN(order, OrderByTier(source, tiers, {}, context.order_limits, step));
  }
  std::unique_ptr<GenerationWriter> ordered;
  const auto copy = [&](const std::optional<ChunkPlan>& plan) -> Status {
    ordered.reset();
    EDO_ASSIGN_OR_RETURN(ordered, NewGeneration(store_, options_, options_.compression, plan));
    return CopyInOrder(source, order, context.order_limits, step, ordered.get());
  };
  EDO_RETURN_IF_ERROR(copy(std::nullopt));
  if (const auto plan = ordered->BetterPlan()) EDO_RETURN_IF_ERROR(copy(plan));
  EDO_RETURN_IF_ERROR(
      WriteOrderPages(options_.key_kind, std::move(order), &ordered->files(), &order_pages_));
  generation_ = std::move(ordered);
  return Status::Ok();
}

storage::TableRecord TableWriterImpl::MakeRecord() const {
  const bool has_keys = options_.key_kind != KeyKind::kDense;
  storage::TableRecord record;
  generation_->Describe(&record);
  TableInfo& t = record.info;
  t.name = name_;
  t.key_kind = options_.key_kind;
  t.codec = options_.codec;
  t.dim = options_.dim;
  t.rows = generation_->rows();
  t.created_unix_s =
      options_.reproducible
          ? 0
          : static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                      std::chrono::system_clock::now().time_since_epoch())
                                      .count());
  t.metadata = options_.metadata;
  record.key_pages = has_keys ? generation_->keys().key_pages() : 0;
  record.keys_per_page = has_keys ? storage::KeysPerPage(options_.key_kind) : 0;
  record.index_buckets = has_keys ? generation_->keys().index_buckets() : 0;
  return record;
}

Status TableWriterImpl::CommitInner(TableInfo* info) {
  if (waiting()) EDO_RETURN_IF_ERROR(EncodeSpool());
  EDO_RETURN_IF_ERROR(generation_->FinishRows());
  if (options_.key_kind != KeyKind::kDense) {
    std::vector<DuplicateRows> duplicates;
    EDO_RETURN_IF_ERROR(generation_->keys().Finish(&duplicates));
    if (!duplicates.empty()) {
      EDO_RETURN_IF_ERROR(options_.on_duplicate == OnDuplicate::kError
                              ? RefuseDuplicates(duplicates)
                              : DropDuplicates(duplicates));
    }
  }
  const bool ordered = options_.order.kind != OrderKind::kFile;
  EDO_RETURN_IF_ERROR(ordered ? PutInOrder() : ThinkAgain());
  storage::BulkWriter& files = generation_->files();
  EDO_RETURN_IF_ERROR(storage::WriteLearned(codec_->learned(), &files));
  EDO_RETURN_IF_ERROR(files.Finish());
  storage::TableRecord record = MakeRecord();
  record.learned_bytes = codec_->learned().size();
  if (ordered) {
    record.info.order = OrderKindName(options_.order.kind);
    record.order_pages = order_pages_;
    record.order_entries_per_page = storage::kOrderEntriesPerPage;
  }
  if (!tiers_.hot.empty()) return CommitTiers(std::move(record), info);
  EDO_RETURN_IF_ERROR(store_->CommitTable(record, options_.replace, &files));
  *info = std::move(record.info);
  return Status::Ok();
}

Status TableWriterImpl::CommitTiers(storage::TableRecord record, TableInfo* info) {
  EDO_ASSIGN_OR_RETURN(auto pin, store_->Stage(generation_->generation(), &generation_->files()));
  EDO_ASSIGN_OR_RETURN(const auto floats, TableImpl::Make(store_->context(), std::move(pin),
                                                          std::move(record), {}, false));
  TableRecoder recoder(store_, *floats, tiers_);
  EDO_RETURN_IF_ERROR(recoder.MakeCodecs());
  EDO_RETURN_IF_ERROR(recoder.Write());
  storage::TableRecord of_tiers = recoder.record();
  if (!recoder.figures().empty()) {
    of_tiers.info.metadata["edo.codec.choice"] = recoder.figures();
  }
  EDO_RETURN_IF_ERROR(
      store_->CommitTable(of_tiers, options_.replace, recoder.files(), recoder.hot()));
  *info = std::move(of_tiers.info);
  return Status::Ok();
}

Result<TableInfo> TableWriterImpl::Commit() {
  if (spent_) return Status::InvalidArgument("the writer of table '" + name_ + "' is spent");
  spent_ = true;
  TableInfo info;
  const Status s = CommitInner(&info);
  generation_.reset();  // temporary files go, also after an error
  if (!s.ok()) return s;
  return info;
}

}  // namespace edo::engine
