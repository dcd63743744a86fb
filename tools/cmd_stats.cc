// edo stats: what the rows of a table are like (norms, range, zeros), by reading all of them, and
// how this machine read them.
#include <cmath>
#include <limits>

#include "tools/common.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

struct RowStats {
  uint64_t rows = 0, zero_rows = 0, non_finite_rows = 0;
  // Over rows of finite values; infinite bounds where there is none.
  double norm_min = std::numeric_limits<double>::infinity(), norm_max = 0, norm_sum = 0;
  float value_min = std::numeric_limits<float>::infinity();
  float value_max = -std::numeric_limits<float>::infinity();

  void Add(std::span<const float> row) {
    ++rows;
    double squares = 0;
    float low = row[0], high = row[0];
    for (float x : row) {
      squares += double{x} * double{x};
      low = x < low ? x : low;
      high = x > high ? x : high;
    }
    if (!std::isfinite(squares)) {  // double holds the squares of all finite floats
      ++non_finite_rows;
      return;
    }
    const double norm = std::sqrt(squares);
    if (low == 0 && high == 0) ++zero_rows;
    norm_min = std::min(norm_min, norm);
    norm_max = std::max(norm_max, norm);
    norm_sum += norm;
    value_min = std::min(value_min, low);
    value_max = std::max(value_max, high);
  }
  uint64_t finite_rows() const { return rows - non_finite_rows; }
  double norm_mean() const {
    return finite_rows() == 0 ? 0 : norm_sum / static_cast<double>(finite_rows());
  }
};

// What is known of one table.
struct Measured {
  TableInfo info;
  Status status;  // not OK: why it could not be read
  RowStats rows;
};

class StatsVerb final : public Verb {
 public:
  explicit StatsVerb(CLI::App* app) : Verb(app) {
    AddStore(&store_);
    AddTable(&table_, "Only this table; default: all tables of the store");
    app->footer(
        "Example:\n  edo stats --store vectors.edo --table glove\n"
        "Reads every row. A table that cannot be read is named; the others are shown.");
  }

  int Run(Console* console) override {
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto tables = SelectTables(**store, table_);
    if (!tables.ok()) return console->Fail(tables.status());
    std::vector<Measured> all;
    int code = kExitOk;
    for (const TableInfo& info : *tables) {
      auto rows = info.unfit.empty() ? Measure(*console, **store, info)
                                     : Result<RowStats>(Status::Corruption(info.unfit));
      if (rows.status().code() == StatusCode::kCancelled) return console->Fail(rows.status());
      all.push_back({info, rows.status(), rows.ok() ? *rows : RowStats()});
      if (rows.ok()) continue;
      SayUnreadable(*console, info, rows.status().message());
      code = kExitError;
    }
    console->json ? PrintJson(console, all, (*store)->stats())
                  : Print(console, all, (*store)->stats());
    return code;
  }

 private:
  static Result<RowStats> Measure(const Console& console, const Store& store,
                                  const TableInfo& info) {
    EDO_ASSIGN_OR_RETURN(const auto table, store.OpenTable(info.name));
    if (info.every_id) return RowStats();  // there is no walk over its rows
    ScanOptions options;
    options.keys = false;
    EDO_ASSIGN_OR_RETURN(const auto scan, table->Scan(options));
    ProgressBar bar(console, "stats " + info.name);
    RowStats stats;
    for (ScanBatch batch;;) {
      EDO_ASSIGN_OR_RETURN(const bool more, scan->Next(&batch));
      if (!more) break;
      for (uint64_t i = 0; i < batch.row_count; ++i) {
        stats.Add(batch.values.subspan(i * info.dim, info.dim));
      }
      if (!bar.Update({stats.rows, info.rows, 0, "rows"})) return Status::Cancelled("interrupted");
    }
    EDO_RETURN_IF_ERROR(LookUpSome(*table));
    return stats;
  }

  // Rows spread over the table, so that the counters say how lookups read; a scan is read by large
  // sequential reads of another kind.
  static Status LookUpSome(const Table& table) {
    constexpr uint64_t kMostRows = 4096;
    const uint64_t count = std::min(kMostRows, table.info().rows);
    std::vector<uint64_t> rows(count);
    for (uint64_t i = 0; i < count; ++i) rows[i] = i * (table.info().rows / count);
    std::vector<float> first_values(count);
    LookupOptions options;
    options.dims = 1;
    return table.LookupRows(rows, options, first_values.data());
  }

  static void Print(Console* console, const std::vector<Measured>& tables, const Stats& store) {
    const auto line = [&](std::string name, const std::string& value) {
      console->out().Write(name + "\t" + value + "\n");
    };
    for (const auto& [info, status, s] : tables) {
      line("table", TsvField(info.name));
      if (!status.ok()) {
        line("cannot be read", TsvField(status.message()) + "\n");
        continue;
      }
      if (info.every_id) {
        line("rows", "every 64-bit id");
        line("composed of", TsvField(info.composition) + "\n");
        continue;
      }
      line("rows", std::to_string(s.rows));
      line("rows of zeros", std::to_string(s.zero_rows));
      line("rows with inf or nan", std::to_string(s.non_finite_rows));
      if (s.finite_rows() != 0) {
        line("norm min", FloatText(s.norm_min));
        line("norm mean", FloatText(s.norm_mean()));
        line("norm max", FloatText(s.norm_max));
        line("value min", FloatText(double{s.value_min}));
        line("value max", FloatText(double{s.value_max}));
      }
      line("bytes on disk", std::to_string(TableBytes(info)));
      if (info.compression != Compression::kNone) {
        line("bytes on disk uncompressed",
             std::to_string(info.plain_chunk_bytes + info.key_file_bytes));
      }
      line("bytes as F32", std::to_string(PlainBytes(info)));
      console->out().Write("\n");
    }
    line("read path", store.read_path.empty() ? "nothing read" : store.read_path);
    if (!store.read_path_note.empty()) line("read path note", TsvField(store.read_path_note));
    line("chunks read", std::to_string(store.chunks_read));
    line("chunks by address", std::to_string(store.chunks_by_address));
    line("chunks by MultiGet", std::to_string(store.chunks_by_multiget));
    if (store.read_depth_samples > 0) line("mean queue depth", FloatText(QueueDepth(store)));
  }

  static double QueueDepth(const Stats& store) {
    return static_cast<double>(store.read_depth_sum) /
           static_cast<double>(store.read_depth_samples);
  }

  static void WriteTable(JsonWriter* writer, const Measured& table) {
    const auto& [info, status, s] = table;
    const bool measured = status.ok() && !info.every_id;
    const auto count = [&](const char* name, uint64_t value) {
      writer->Name(name);
      measured ? writer->UInt(value) : writer->Null();
    };
    const auto number = [&](const char* name, double value) {
      writer->Name(name);
      s.finite_rows() == 0 ? writer->Null() : writer->Double(value);
    };
    writer->BeginObject();
    writer->Field("name", info.name);
    writer->Field("key_kind", KeyKindName(info.key_kind));
    WriteRows(writer, info);
    writer->Field("dim", info.dim);
    WriteCodec(writer, info);
    WriteComposition(writer, info);
    count("zero_rows", s.zero_rows);
    count("non_finite_rows", s.non_finite_rows);
    number("norm_min", s.norm_min);
    number("norm_mean", s.norm_mean());
    number("norm_max", s.norm_max);
    number("value_min", double{s.value_min});
    number("value_max", double{s.value_max});
    writer->Field("chunk_file_bytes", info.chunk_file_bytes);
    writer->Field("compression", CompressionName(info.compression));
    writer->Field("plain_chunk_bytes", PlainChunkBytes(info));
    writer->Field("key_file_bytes", info.key_file_bytes);
    WritePlainBytes(writer, info);
    if (!status.ok()) WriteError(writer, status);
    writer->EndObject();
  }

  void PrintJson(Console* console, const std::vector<Measured>& tables, const Stats& store) const {
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.stats/1");
    writer.Field("store", std::string_view(store_));
    writer.Name("tables");
    writer.BeginArray();
    for (const Measured& table : tables) WriteTable(&writer, table);
    writer.EndArray();
    writer.Name("reads");
    writer.BeginObject();
    writer.Field("read_path", std::string_view(store.read_path));
    writer.Field("read_path_note", std::string_view(store.read_path_note));
    writer.Field("chunks_read", store.chunks_read);
    writer.Field("key_pages_read", store.key_pages_read);
    writer.Field("device_reads", store.device_reads);
    writer.Field("device_bytes", store.device_bytes);
    writer.Field("uring_batches", store.uring_batches);
    writer.Field("chunks_by_address", store.chunks_by_address);
    writer.Field("chunks_by_multiget", store.chunks_by_multiget);
    writer.Name("mean_queue_depth");
    store.read_depth_samples == 0 ? writer.Null() : writer.Double(QueueDepth(store));
    writer.EndObject();
    writer.EndObject();
  }

  std::string store_, table_;
};

}  // namespace

std::unique_ptr<Verb> MakeStats(CLI::App* parent) {
  return std::make_unique<StatsVerb>(
      parent->add_subcommand("stats", "Norms, range and zeros of a table's rows"));
}

}  // namespace edo::tools
