// edo nn: the rows nearest to the row of a key, by comparing with every row of the table. Meant as
// a check that a table holds what one thinks; it is not a search index. Equal scores are ordered by
// row number.
#include <algorithm>
#include <array>
#include <cmath>

#include "tools/common.h"
#include "tools/progress.h"
#include "tools/text.h"
#include "tools/verb.h"

namespace edo::tools {
namespace {

enum class Metric { kCosine, kDot, kL2 };

// Eight sums side by side, so that the compiler can keep them in one register; the order of
// summation is fixed, so results do not depend on the machine.
template <typename Term>
double Sum(std::span<const float> a, std::span<const float> b, Term term) {
  std::array<double, 8> sums{};
  size_t i = 0;
  for (; i + 8 <= a.size(); i += 8) {
    for (size_t j = 0; j < 8; ++j) sums[j] += term(double{a[i + j]}, double{b[i + j]});
  }
  for (size_t j = 0; i < a.size(); ++i, ++j) sums[j] += term(double{a[i]}, double{b[i]});
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}
double Dot(std::span<const float> a, std::span<const float> b) {
  return Sum(a, b, [](double x, double y) { return x * y; });
}

struct Neighbour {
  double closeness = 0;  // more is nearer
  uint64_t row = 0;
  // A heap of these has the farthest on top; of equals the one with the larger row number.
  friend bool operator<(const Neighbour& a, const Neighbour& b) {
    return a.closeness != b.closeness ? a.closeness > b.closeness : a.row < b.row;
  }
};

class NnVerb final : public Verb {
 public:
  explicit NnVerb(CLI::App* app) : Verb(app) {
    TakesKeys("KEY");
    AddStore(&store_);
    AddTable(&table_, "Table to look in; not needed when the store has only one");
    AddCount("-k", &count_, 1, 1000000, "How many rows to print")
        ->type_name("K")
        ->default_str("10");
    AddChoice<Metric>("--metric", &metric_,
                      {{"cosine", Metric::kCosine}, {"dot", Metric::kDot}, {"l2", Metric::kL2}},
                      "Cosine and dot product: more is nearer; l2 distance: less is nearer");
    app->footer(
        "Example:\n  edo nn --store vectors.edo --table glove river -k 5\n"
        "Prints key, TAB, score, nearest first, without KEY itself. Reads every row.");
  }

  int Run(Console* console) override {
    const auto keys = Keys();
    if (!keys.ok()) return console->Usage(keys.status().message(), "nn");
    if (keys->size() != 1) {
      return console->Usage("one KEY is needed, " + std::to_string(keys->size()) + " were given",
                            "nn");
    }
    const auto store = OpenForReading(store_, *console);
    if (!store.ok()) return console->Fail(store.status());
    const auto table = OpenNamedTable(**store, table_);
    if (!table.ok()) return console->Fail(table.status());
    auto found = Find(*console, **table, *keys);
    if (!found.ok()) return console->Fail(found.status());
    const auto names = KeysOf(**table, *found);
    if (!names.ok()) return console->Fail(names.status());
    Print(console, (*table)->info(), (*keys)[0], *found, *names);
    return kExitOk;
  }

 private:
  // Row number of the key.
  static Result<uint64_t> RowOf(const Table& table, const std::vector<std::string>& keys) {
    EDO_ASSIGN_OR_RETURN(const KeyList parsed, ParseKeys(keys, table.info()));
    auto rows = table.info().key_kind == KeyKind::kText ? table.FindRows(parsed.texts)
                                                        : table.FindRows(parsed.ints);
    if (!rows.ok()) return rows.status();
    if (rows->at(0) != Table::kMissingRow) return rows->at(0);
    return Status::NotFound("table '" + table.info().name + "': no key '" + keys[0] + "'");
  }

  Result<std::vector<Neighbour>> Find(const Console& console, const Table& table,
                                      const std::vector<std::string>& keys) const {
    EDO_RETURN_IF_ERROR(CheckCountable(table.info(), "nn"));
    EDO_ASSIGN_OR_RETURN(const uint64_t own_row, RowOf(table, keys));
    const uint32_t dim = table.info().dim;
    std::vector<float> query(dim);
    EDO_RETURN_IF_ERROR(table.LookupRows(std::array{own_row}, {}, query.data()));
    ScanOptions scan_options;
    scan_options.keys = false;
    EDO_ASSIGN_OR_RETURN(const auto scan, table.Scan(scan_options));
    ProgressBar bar(console, "nn");
    std::vector<Neighbour> heap;
    for (ScanBatch batch;;) {
      EDO_ASSIGN_OR_RETURN(const bool more, scan->Next(&batch));
      if (!more) break;
      for (uint64_t i = 0; i < batch.row_count; ++i) {
        const uint64_t row = batch.first_row + i;
        if (row != own_row)
          Offer(&heap, {Closeness(query, batch.values.subspan(i * dim, dim)), row});
      }
      const uint64_t done = batch.first_row + batch.row_count;
      if (!bar.Update({done, table.info().rows, 0, "rows"}))
        return Status::Cancelled("interrupted");
    }
    std::sort_heap(heap.begin(), heap.end());
    return heap;
  }

  double Closeness(std::span<const float> query, std::span<const float> row) const {
    if (metric_ == Metric::kDot) return Dot(query, row);
    if (metric_ == Metric::kL2) {
      return -std::sqrt(Sum(query, row, [](double x, double y) { return (x - y) * (x - y); }));
    }
    const double norms = std::sqrt(Dot(query, query)) * std::sqrt(Dot(row, row));
    return norms == 0 ? 0 : Dot(query, row) / norms;  // a row of zeros points nowhere
  }

  void Offer(std::vector<Neighbour>* heap, Neighbour candidate) const {
    if (std::isnan(candidate.closeness)) return;  // a row with inf or nan has no place in an order
    if (heap->size() == count_) {
      if (!(candidate < heap->front())) return;
      std::pop_heap(heap->begin(), heap->end());
      heap->pop_back();
    }
    heap->push_back(candidate);
    std::push_heap(heap->begin(), heap->end());
  }

  static Result<std::vector<std::string>> KeysOf(const Table& table,
                                                 const std::vector<Neighbour>& found) {
    std::vector<uint64_t> rows;
    for (const Neighbour& n : found) rows.push_back(n.row);
    if (table.info().key_kind == KeyKind::kText) return table.TextKeysOf(rows);
    EDO_ASSIGN_OR_RETURN(const auto ints, table.IntKeysOf(rows));
    std::vector<std::string> keys;
    for (int64_t key : ints) keys.push_back(std::to_string(key));
    return keys;
  }

  double Score(const Neighbour& n) const {
    return metric_ == Metric::kL2 ? 0.0 - n.closeness : n.closeness;
  }
  const char* MetricName() const {
    return metric_ == Metric::kCosine ? "cosine" : metric_ == Metric::kDot ? "dot" : "l2";
  }

  void Print(Console* console, const TableInfo& info, const std::string& key,
             const std::vector<Neighbour>& found, const std::vector<std::string>& names) const {
    if (!console->json) {
      for (size_t i = 0; i < found.size(); ++i) {
        std::string line = TsvField(names[i]) + "\t";
        AppendFloat(&line, static_cast<float>(Score(found[i])));
        console->out().Write(line + "\n");
      }
      return;
    }
    JsonWriter writer(&console->out());
    writer.BeginObject();
    writer.Field("schema", "edo.nn/1");
    writer.Field("table", info.name);
    WriteKey(&writer, info, key);
    writer.Field("metric", MetricName());
    writer.Name("neighbours");
    writer.BeginArray();
    for (size_t i = 0; i < found.size(); ++i) {
      writer.BeginObject();
      WriteKey(&writer, info, names[i]);
      writer.Field("row", found[i].row);
      writer.Field("score", Score(found[i]));
      writer.EndObject();
    }
    writer.EndArray();
    writer.EndObject();
  }

  std::string store_, table_;
  uint64_t count_ = 10;
  Metric metric_ = Metric::kCosine;
};

}  // namespace

std::unique_ptr<Verb> MakeNn(CLI::App* parent) {
  return std::make_unique<NnVerb>(
      parent->add_subcommand("nn", "Print the rows nearest to a key's row"));
}

}  // namespace edo::tools
