// edo import: reads a file of embeddings into a table of a store, which it makes when there is
// none. A failed import leaves no table, and no store that was not there before.
#include <chrono>
#include <filesystem>
#include <optional>

#include "edo/transfer.h"
#include "tools/codec_option.h"
#include "tools/common.h"
#include "tools/import_notes.h"
#include "tools/progress.h"
#include "tools/signals.h"
#include "tools/source_options.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

namespace fs = std::filesystem;

// "a/glove.6B.txt.gz" -> "glove.6B": without the compression's and the format's extension.
std::string TableNameOf(const std::string& path) {
  fs::path name = fs::path(path).filename();
  if (name.extension() == ".gz" || name.extension() == ".zst") name = name.stem();
  return name.stem().string();
}

class ImportVerb final : public Verb {
 public:
  explicit ImportVerb(CLI::App* app) : Verb(app) {
    AddSourceOptions(app, &source_, "FILE", true);
    AddStore(&store_);
    AddTable(&options_.table, "Name of the table; default: the file's name without extensions");
    app->add_option("--codec", codec_.word,
                    "How rows are stored: F32 F16 BF16 INT8 F8 L4 L4+4 P,INT8 P,L4 P,L4+4 "
                    "PQ25x8 OPQ25,PQ25x8 RQ12x8 ...; `auto`: the smallest that keeps what "
                    "--min-cosine and its like ask for. Default: the smallest of F32 F16 BF16 "
                    "that keeps every bit")
        ->type_name("SPEC");
    AddGoal(&codec_.goal);
    AddHotTiers(&hot_);
    app->add_option("--codebook", codebook_,
                    "Centroids that PQ or OPQ codes rows by, learned elsewhere: .npy of shape (m, "
                    "2^b, values of a part)")
        ->type_name(kFileType);
    app->add_option("--rotation", rotation_,
                    "The rotation of an OPQ learned elsewhere: .npy of shape (dim, dim)")
        ->type_name(kFileType);
    app->add_flag(
        "--codes", codes_,
        "FILE holds codes of that codebook, taken over as they are: u8 .npy (rows, m); of "
        "4 bits also two a byte");
    AddStrictness(&source_.source, &options_.on_duplicate);
    app->add_option("--bad-rows", bad_rows_, "List every skipped or changed row in this file")
        ->type_name(kFileType);
    AddCount("--limit", &limit_, 0, INT64_MAX, "Read at most this many rows")->type_name("N");
    app->add_option(
           "--order", order_,
           "Order of the rows in the store: `file`, `counts:FILE`, `trace:FILE`, `tiered`, "
           "`tiered:FILE`. Rows used together should stand together; see the man page")
        ->type_name("ORDER")
        ->default_str("file");
    AddCompression(&options_.compression);
    app->add_flag("-f,--force", options_.replace, "Replace a table of this name, in one step");
    AddCount("--threads", &threads_, 1, 256, "1: no reading ahead")
        ->type_name("N")
        ->default_str("2");
    app->add_option("--meta", meta_, "Metadata to keep with the table; may be given again")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    app->add_flag("--reproducible", options_.reproducible,
                  "Leave the time out, so that equal input makes equal bytes");
    app->footer(
        "Example:\n  edo import glove.6B.100d.txt --store vectors.edo --codec INT8\n"
        "Strict by default: the first faulty line stops the import, is named, and nothing\n"
        "is stored. What a lenient option lets through is counted and listed.");
  }

  int Run(Console* console) override;

 private:
  Status FillOptions();
  Status CheckCodebook() const;
  Status CheckLimit() const;
  // The files of --codebook and --rotation, and the dim of codes.
  Status ReadBook();
  // Opens the store, or makes it and sets *made.
  Result<std::unique_ptr<Store>> OpenOrCreate(const Console& console, bool* made);
  Result<ImportReport> DoImport(Console* console, ImportNotes* notes);
  void RemoveEmptyStore(std::unique_ptr<Store> store, bool directory_was_there) const;
  void Report(Console* console, const ImportReport& report, const ImportNotes& notes,
              double seconds) const;
  void ReportJson(Console* console, const ImportReport& report, const ImportNotes& notes,
                  double seconds) const;

  SourceArgs source_;
  ImportOptions options_;
  CodecOption codec_;
  std::string store_, codebook_, rotation_, order_ = "file", bad_rows_;
  bool codes_ = false;
  std::vector<std::string> meta_, hot_;
  uint64_t limit_ = UINT64_MAX, threads_ = 2;
};

Status ImportVerb::FillOptions() {
  EDO_ASSIGN_OR_RETURN(options_.source, source_.Resolve());
  options_.source.limit = limit_;
  options_.threads = static_cast<uint32_t>(threads_);
  if (options_.table.empty()) {
    if (options_.source.path == "-") {
      return Status::InvalidArgument("standard input has no name: say --table NAME");
    }
    options_.table = TableNameOf(options_.source.path);
  }
  if (app()->count("--codec") != 0 && codec_.word.empty()) {
    return Status::InvalidArgument("--codec: '' is no codec");
  }
  EDO_ASSIGN_OR_RETURN(CodecOption::Meaning codec, codec_.Resolve());
  options_.codec = codec.codec;
  options_.choose_codec = std::move(codec.choose);
  EDO_RETURN_IF_ERROR(CheckCodebook());
  EDO_ASSIGN_OR_RETURN(options_.hot, ParseHotTiers(hot_));
  EDO_RETURN_IF_ERROR(CheckLimit());
  auto order = RowOrder::Parse(order_);
  if (!order.ok()) return order.status().WithContext("--order");
  options_.order = std::move(*order);
  for (const std::string& pair : meta_) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Status::InvalidArgument("--meta: '" + pair + "' is not KEY=VALUE");
    }
    options_.metadata[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return Status::Ok();
}

Status ImportVerb::CheckCodebook() const {
  if (!codebook_.empty() && !hot_.empty()) {
    return Status::InvalidArgument(
        "--codebook does not go with --hot: import without it, then `edo recode --hot`, which "
        "keeps the codes of the other rows");
  }
  const bool takes_one = options_.codec && options_.codec->kind == CodecKind::kPQ;
  if (codebook_.empty()) {
    if (codes_) return Status::InvalidArgument("--codes needs the --codebook that they are for");
    if (rotation_.empty()) return Status::Ok();
    return Status::InvalidArgument("--rotation goes with --codebook");
  }
  if (!takes_one) {
    return Status::InvalidArgument("--codebook goes with --codec PQ{m}x{b} or OPQ{m},PQ{m}x{b}" +
                                   (codec_.word.empty() ? "" : ", not with " + codec_.word));
  }
  if (options_.codec->rotated == !rotation_.empty()) return Status::Ok();
  return Status::InvalidArgument(rotation_.empty()
                                     ? codec_.word + " with a --codebook needs its --rotation"
                                     : "--rotation goes with OPQ, not with " + codec_.word);
}

// --limit leaves a row for the last tier.
Status ImportVerb::CheckLimit() const {
  uint64_t rows = 0;
  for (const HotTier& tier : options_.hot) rows += std::min(tier.rows, kMaxRows);
  if (options_.hot.empty() || rows < limit_) return Status::Ok();
  return Status::InvalidArgument("--limit " + std::to_string(limit_) +
                                 (rows == 0
                                      ? " reads no rows, and --hot needs some"
                                      : " leaves no row behind the " + std::to_string(rows) +
                                            " of --hot, and some must be left for the last tier"));
}

Status ImportVerb::ReadBook() {
  if (codebook_.empty()) return Status::Ok();
  EDO_ASSIGN_OR_RETURN(options_.codebook, ReadCodebook(*options_.codec, codebook_, rotation_));
  if (!codes_) return Status::Ok();
  options_.source.codes = options_.codec;
  if (options_.source.dim == 0) options_.source.dim = options_.codebook->dim();
  return Status::Ok();
}

Result<std::unique_ptr<Store>> ImportVerb::OpenOrCreate(const Console& console, bool* made) {
  *made = !Store::Exists(store_);
  const StoreOptions options = LoggedTo(console);
  return *made ? Store::Create(store_, options) : Store::Open(store_, options);
}

// The store was made by this call and holds nothing: leave things as they were.
void ImportVerb::RemoveEmptyStore(std::unique_ptr<Store> store, bool directory_was_there) const {
  if (!store->Tables().empty()) return;
  store.reset();
  std::error_code ignored;
  if (!Store::DestroyIfNeverUsed(store_).ok()) return;  // somebody else uses it by now
  if (directory_was_there) {
    fs::create_directory(store_, ignored);
  } else {
    fs::remove(store_, ignored);  // only if it is empty
  }
}

Result<ImportReport> ImportVerb::DoImport(Console* console, ImportNotes* notes) {
  std::error_code ignored;
  // A name that is mistyped must not make a store first.
  if (const std::string& path = options_.source.path; path != "-" && !fs::exists(path, ignored)) {
    return Status::NotFound("'" + path + "' does not exist");
  }
  if (const std::string& path = options_.order.file; !path.empty() && !fs::exists(path, ignored)) {
    return Status::NotFound("--order: '" + path + "' does not exist");
  }
  EDO_RETURN_IF_ERROR(ReadBook());
  const bool directory_was_there = fs::exists(store_, ignored);
  bool made = false;
  EDO_ASSIGN_OR_RETURN(auto store, OpenOrCreate(*console, &made));
  for (const TableInfo& info : store->Tables()) {
    if (info.name == options_.table && !options_.replace) {
      return Status::AlreadyExists("table '" + options_.table + "' exists in " + store_ +
                                   "; --force replaces it");
    }
  }
  ProgressBar bar(*console, "import");
  options_.progress = bar.Function();
  options_.source.cancelled = [] { return Interrupted(); };
  options_.source.note = [notes](const ImportNote& note) { notes->Add(note); };
  auto report = Import(store.get(), options_);
  if (!report.ok() && made) RemoveEmptyStore(std::move(store), directory_was_there);
  return report;
}

void ImportVerb::Report(Console* console, const ImportReport& report, const ImportNotes& notes,
                        double seconds) const {
  const TableInfo& table = report.table;
  std::string what = "recognised " + report.format;
  if (!report.compression.empty()) what += " (" + report.compression + ")";
  console->Note(what + ": " + report.source_dtype + " values, " +
                std::string(KeyKindName(table.key_kind)) + " keys, dim " +
                std::to_string(table.dim));
  console->Note("table '" + table.name + "' in " + store_ + ": " + HumanCount(table.rows) +
                " rows as " + CodecText(table) + " in " + HumanSeconds(seconds) + " (" +
                HumanCount(static_cast<uint64_t>(static_cast<double>(report.rows_read) /
                                                 std::max(seconds, 1e-6))) +
                " rows/s)");
  if (options_.choose_codec) {
    console->Note("chosen: " + table.metadata.at("edo.codec.choice"));
  }
  console->Note("size: " + HumanBytes(PlainBytes(table)) + " as plain F32, " +
                HumanBytes(report.input_bytes) + " in the file -> " +
                HumanBytes(table.chunk_file_bytes) + " rows + " + HumanBytes(table.key_file_bytes) +
                " keys");
  if (table.compression == Compression::kZstd) {
    console->Note("rows are compressed (zstd): " + HumanBytes(table.plain_chunk_bytes) + " -> " +
                  HumanBytes(table.chunk_file_bytes));
  }
  if (options_.order.kind != OrderKind::kFile) {
    console->Note("rows are in order '" + table.order + "'");
  }
  if (report.order.keys_unknown != 0) {
    console->Note(HumanCount(report.order.keys_unknown) + " of " +
                  CountOf(report.order.keys, "key") + " in " + options_.order.file +
                  " are not in the table; the first is " + report.order.first_unknown);
  }
  const auto count = [&](uint64_t n, const char* noun, const char* what) {
    if (n != 0) console->Note(CountOf(n, noun) + " " + what);
  };
  count(report.rows_skipped, "row", "skipped");
  count(report.rows_duplicate, "duplicate row", "dropped");
  count(report.values_changed, "value", "changed to 0");
  count(report.values_non_finite, "inf or nan value", "kept");
  count(report.keys_changed, "key", "changed");
  count(report.rows_zero, "row", "of zeros only");
  notes.Print(*console);
  for (const std::string& warning : report.warnings) console->Warn(warning);
}

void ImportVerb::ReportJson(Console* console, const ImportReport& report, const ImportNotes& notes,
                            double seconds) const {
  JsonWriter json(&console->out());
  json.BeginObject();
  json.Field("schema", "edo.import/1");
  json.Field("store", std::string_view(store_));
  json.Name("table");
  json.BeginObject();
  WriteTableFields(&json, report.table);
  json.EndObject();
  json.Field("format", std::string_view(report.format));
  json.Field("compression", std::string_view(report.compression));
  json.Field("source_dtype", std::string_view(report.source_dtype));
  json.Field("rows_read", report.rows_read);
  json.Field("rows_skipped", report.rows_skipped);
  json.Field("rows_duplicate", report.rows_duplicate);
  json.Field("values_changed", report.values_changed);
  json.Field("values_non_finite", report.values_non_finite);
  json.Field("keys_changed", report.keys_changed);
  json.Field("rows_zero", report.rows_zero);
  json.Field("input_bytes", report.input_bytes);
  json.Name("order");
  json.BeginObject();
  json.Field("order", std::string_view(report.table.order));
  json.Field("file", std::string_view(options_.order.file));
  json.Field("lines", report.order.lines);
  json.Field("keys", report.order.keys);
  json.Field("keys_unknown", report.order.keys_unknown);
  json.Field("first_unknown", std::string_view(report.order.first_unknown));
  json.EndObject();
  json.Field("seconds", seconds);
  json.Name("warnings");
  json.BeginArray();
  for (const std::string& warning : report.warnings) json.String(warning);
  json.EndArray();
  notes.WriteJson(&json);
  json.EndObject();
}

int ImportVerb::Run(Console* console) {
  if (const Status s = FillOptions(); !s.ok()) return console->Usage(s.message(), "import");
  if (!bad_rows_.empty()) {
    std::error_code ignored;
    for (const std::string& input :
         {options_.source.path, options_.source.keys, options_.order.file}) {
      if (fs::equivalent(bad_rows_, input, ignored)) {
        return console->Usage("--bad-rows would overwrite the input '" + input + "'", "import");
      }
    }
    const fs::path folder = fs::path(bad_rows_).parent_path();
    if (fs::equivalent(folder.empty() ? "." : folder, store_, ignored)) {
      return console->Usage("--bad-rows may not lie inside the store", "import");
    }
  }
  auto notes = ImportNotes::Open(bad_rows_, options_.replace);
  if (!notes.ok()) return console->Fail(notes.status());
  const auto start = std::chrono::steady_clock::now();
  const auto report = DoImport(console, notes->get());
  const Status closed = (*notes)->Close(/*keep=*/report.ok());
  if (!report.ok()) return console->Fail(report.status());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  Report(console, *report, **notes, seconds.count());
  if (console->json) ReportJson(console, *report, **notes, seconds.count());
  return closed.ok() ? kExitOk : console->Fail(closed);
}

}  // namespace

std::unique_ptr<Verb> MakeImport(CLI::App* parent) {
  return std::make_unique<ImportVerb>(
      parent->add_subcommand("import", "Read a file of embeddings into a table"));
}

}  // namespace edo::tools
