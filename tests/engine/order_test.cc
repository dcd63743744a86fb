// Tables whose rows are stored in another order than their source's, against the same table stored
// plainly: lookups by every call that takes keys, scans and exports must not tell them apart,
// whatever the kind of keys, the order and the sizes of windows. One seed decides the rows, their
// sizes, the counts and the trace; a failure prints it and EDO_TEST_SEED=N replays it. Then what an
// interrupted import leaves, what damage of the order's pages does, and the kd order itself.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>
#include <set>

#include "edo/store.h"
#include "edo/transfer.h"
#include "engine/balanced_kd.h"
#include "engine/row_order.h"
#include "engine/table_impl.h"
#include "storage/order_page.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

struct Rows {
  KeyKind kind = KeyKind::kDense;
  uint32_t dim = 0;
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
  std::vector<float> values;
  uint64_t count() const { return values.size() / dim; }
  // As the file of an order names it.
  std::string KeyText(uint64_t row) const {
    return kind == KeyKind::kText    ? texts[row]
           : kind == KeyKind::kInt64 ? std::to_string(ints[row])
                                     : std::to_string(row);
  }
};

Rows MakeRows(KeyKind kind, uint64_t count, uint32_t dim, uint64_t seed) {
  std::mt19937_64 random(seed);
  Rows rows{kind, dim, {}, {}, test::RowsOf(0, count, dim, seed)};
  std::set<int64_t> ints;
  for (uint64_t r = 0; r < count; ++r) {
    rows.texts.push_back("w" + std::to_string(r * 7919 % 1000003));
    while (!ints.insert(static_cast<int64_t>(random())).second) {
    }
  }
  rows.ints.assign(ints.begin(), ints.end());
  std::shuffle(rows.ints.begin(), rows.ints.end(), random);
  return rows;
}

Result<TableInfo> Put(Store* store, const std::string& name, const Rows& rows,
                      TableOptions options) {
  options.key_kind = rows.kind;
  options.dim = rows.dim;
  options.replace = true;
  options.reproducible = true;
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable(name, options));
  const std::vector<std::string_view> views(rows.texts.begin(), rows.texts.end());
  TableWriter::Rows all;
  all.values = rows.values;
  if (rows.kind == KeyKind::kText) all.text_keys = views;
  if (rows.kind == KeyKind::kInt64) all.int_keys = rows.ints;
  EDO_RETURN_IF_ERROR(writer->Append(all));
  return writer->Commit();
}

engine::StoreImpl& ImplOf(Store* store) { return dynamic_cast<engine::StoreImpl&>(*store); }
const engine::TableImpl& ImplOf(const Table& table) {
  return dynamic_cast<const engine::TableImpl&>(table);
}

std::unique_ptr<Table> Open(const Store& store, const std::string& name) {
  auto table = store.OpenTable(name);
  EXPECT_TRUE(table.ok()) << table.status().ToString();
  return table.ok() ? std::move(*table) : nullptr;
}

Status LookupKeys(const Table& table, const Rows& rows, std::span<const uint64_t> places,
                  const LookupOptions& options, float* out, LookupReport* report = nullptr) {
  std::vector<std::string_view> texts;
  std::vector<int64_t> ints;
  for (const uint64_t p : places) {
    const bool there = p < rows.count();
    if (rows.kind == KeyKind::kText) {
      texts.push_back(there ? std::string_view(rows.texts[p]) : "absent");
    }
    if (rows.kind == KeyKind::kInt64) ints.push_back(there ? rows.ints[p] : 77);
    if (rows.kind == KeyKind::kDense) ints.push_back(static_cast<int64_t>(p));
  }
  return rows.kind == KeyKind::kText
             ? table.Lookup(std::span<const std::string_view>(texts), options, out, report)
             : table.Lookup(std::span<const int64_t>(ints), options, out, report);
}

// Every way to read by key gives what was written, and row numbers go both ways.
void ExpectReads(const Table& table, const Rows& rows) {
  const uint32_t dim = rows.dim;
  ASSERT_EQ(table.info().rows, rows.count());
  std::vector<uint64_t> places(rows.count() + 2);
  std::iota(places.begin(), places.end(), uint64_t{0});
  std::vector<float> expected = rows.values;
  expected.resize(places.size() * dim);  // two keys that are not there: zeros
  std::vector<float> out(places.size() * dim, 7.0f);
  LookupReport report;
  EDO_ASSERT_OK(LookupKeys(table, rows, places, {}, out.data(), &report));
  EXPECT_EQ(out, expected);
  EXPECT_EQ(report.missing, 2u);

  places.resize(rows.count());
  if (rows.count() == 0) return;
  std::vector<int64_t> ids(places.begin(), places.end());
  if (rows.kind == KeyKind::kInt64) ids = rows.ints;
  const std::vector<std::string_view> texts(rows.texts.begin(), rows.texts.end());
  const bool is_text = rows.kind == KeyKind::kText;
  const auto numbers = is_text ? table.FindRows(std::span<const std::string_view>(texts))
                               : table.FindRows(std::span<const int64_t>(ids));
  ASSERT_TRUE(numbers.ok()) << numbers.status().ToString();
  std::vector<float> by_row(rows.values.size());
  EDO_ASSERT_OK(table.LookupRows(*numbers, {}, by_row.data()));
  EXPECT_EQ(by_row, rows.values);
  if (is_text) {
    EXPECT_EQ(*table.TextKeysOf(*numbers), rows.texts);
  } else {
    EXPECT_EQ(*table.IntKeysOf(*numbers), ids);
    EXPECT_TRUE(*table.Contains(ids[0]));
    const auto device = table.LookupOnDevice(ids, {}, out.data());
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    EDO_ASSERT_OK((*device)->Finish());
    EXPECT_TRUE(std::equal(rows.values.begin(), rows.values.end(), out.begin()));
    const std::vector<uint64_t> offsets{0};
    std::vector<float> sum(dim), expected_sum(dim);
    EDO_ASSERT_OK(
        table.LookupBags(std::span<const int64_t>(ids), {.offsets = offsets}, {}, sum.data()));
    for (uint64_t r = 0; r < rows.count(); ++r) {
      for (uint32_t c = 0; c < dim; ++c) expected_sum[c] += rows.values[r * dim + c];
    }
    EXPECT_EQ(sum, expected_sum);
  }
  // The scan walks in row-number order, with the keys of those rows.
  std::vector<uint64_t> place_of(rows.count());
  for (uint64_t p = 0; p < rows.count(); ++p) place_of[(*numbers)[p]] = p;
  const auto scan = table.Scan({});
  ASSERT_TRUE(scan.ok());
  uint64_t row = 0;
  for (ScanBatch batch;;) {
    const auto more = (*scan)->Next(&batch);
    ASSERT_TRUE(more.ok()) << more.status().ToString();
    if (!*more) break;
    for (uint64_t i = 0; i < batch.row_count; ++i, ++row) {
      const uint64_t p = place_of[row];
      if (is_text) {
        ASSERT_EQ(batch.text_keys[i], rows.texts[p]);
      } else if (!batch.int_keys.empty()) {
        ASSERT_EQ(batch.int_keys[i], ids[p]);
      } else {
        ASSERT_EQ(row, p) << "only rows in the source's order have no keys in a scan";
      }
      ASSERT_TRUE(std::equal(batch.values.begin() + static_cast<ptrdiff_t>(i * dim),
                             batch.values.begin() + static_cast<ptrdiff_t>((i + 1) * dim),
                             rows.values.begin() + static_cast<ptrdiff_t>(p * dim)));
    }
  }
  EXPECT_EQ(row, rows.count());
}

std::string Exported(const Table& table, const std::string& path, const std::string& format) {
  ExportOptions options;
  options.path = path;
  options.format = format;
  options.force = true;
  const auto report = Export(table, options);
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  std::string bytes;
  for (const std::string& file : report.ok() ? report->files : std::vector<std::string>()) {
    bytes += test::ReadFile(file);
  }
  return bytes;
}

void ExpectWhole(const Store& store) {
  const auto report = store.Verify({});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  for (const Damage& d : report->damages)
    ADD_FAILURE() << d.part << " " << d.number << ": " << d.what;
}

// Generations that have files or pages.
std::set<uint64_t> Generations(Store* store) {
  std::set<uint64_t> found;
  for (const storage::StoreFile& file : ImplOf(store).context()->rows->Files()) {
    if (file.has_pages) found.insert(file.generation);
  }
  return found;
}

class OrderTest : public ::testing::TestWithParam<test::StoreBody> {
 protected:
  // A file of counts and a trace over these rows, some keys of which the table lacks.
  void WriteOrderFiles(const Rows& rows, std::mt19937_64* random) {
    std::string counts, trace;
    std::vector<uint64_t> places(rows.count());
    std::iota(places.begin(), places.end(), uint64_t{0});
    std::shuffle(places.begin(), places.end(), *random);
    for (const uint64_t p : places) {
      if ((*random)() % 4 == 0) continue;  // count 0
      counts += rows.KeyText(p) + "\t" + std::to_string((*random)() % 1000) + "\n";
    }
    counts += rows.kind == KeyKind::kText ? "nowhere\t5\n" : "-5\t5\n";
    for (int line = 0; line < 50 && rows.count() > 0; ++line) {
      for (int i = 0; i < 10; ++i) {
        const uint64_t limit = 1 + (*random)() % rows.count();
        trace += rows.KeyText((*random)() % limit) + (i % 2 ? " " : "\t");
      }
      trace += "-9\n";
    }
    test::WriteFile(dir_.File("counts"), counts);
    test::WriteFile(dir_.File("trace"), trace);
  }
  std::vector<RowOrder> Orders() const {
    return {{OrderKind::kCounts, dir_.File("counts")},
            {OrderKind::kTiered, dir_.File("counts")},
            {OrderKind::kTiered, ""},
            {OrderKind::kTrace, dir_.File("trace")}};
  }
  test::TempDir dir_;
};
INSTANTIATE_TEST_SUITE_P(Bodies, OrderTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

TEST_P(OrderTest, NoReadTellsAnOrderedTableFromAPlainOne) {
  const uint64_t seed = test::Seed(7);
  for (uint64_t s = seed; s < seed + 3 && !HasFatalFailure(); ++s) {
    std::mt19937_64 random(s);
    auto store = test::NewStore(GetParam(), dir_.File("s" + std::to_string(s)));
    // Windows of a few rows, tiers in parts.
    ImplOf(store.get()).context()->order_limits = {1 + random() % 700, 1 + random() % 40000,
                                                   1 + random() % 900};
    for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
      static constexpr uint32_t kDims[] = {1, 3, 17, 120, 2100};
      const uint32_t dim = kDims[random() % 5];
      const Rows rows = MakeRows(kind, 1 + random() % (dim > 1000 ? 100 : 2500), dim, random());
      WriteOrderFiles(rows, &random);
      ASSERT_TRUE(Put(store.get(), "plain", rows, {}).ok());
      const auto plain = Open(*store, "plain");
      EXPECT_EQ(plain->info().order, "file");
      for (const RowOrder& order : Orders()) {
        SCOPED_TRACE("seed " + std::to_string(s) + ", " + std::string(KeyKindName(kind)) +
                     " keys, " + std::to_string(rows.count()) + " rows of " + std::to_string(dim) +
                     ", order " + std::string(OrderKindName(order.kind)) + " " + order.file);
        TableOptions options;
        options.order = order;
        const auto info = Put(store.get(), "ordered", rows, options);
        ASSERT_TRUE(info.ok()) << info.status().ToString();
        EXPECT_EQ(info->order, OrderKindName(order.kind));
        EXPECT_GT(info->key_file_bytes, plain->info().key_file_bytes);
        const auto table = Open(*store, "ordered");
        ExpectReads(*table, rows);
        for (const char* format : {"npy", "raw", "jsonl", "safetensors", "edo"}) {
          std::string path = dir_.File("plain.out");
          std::string expected = Exported(*plain, path, format);
          std::string got = Exported(*table, path, format);
          if (format == std::string("edo")) {  // holds the name; compare what it imports as
            ImportOptions import;
            import.source.path = path;
            import.table = "again";
            import.replace = true;
            const auto report = Import(store.get(), import);
            ASSERT_TRUE(report.ok()) << report.status().ToString();
            EXPECT_EQ(report->table.order, "file");
            ExpectReads(*Open(*store, "again"), rows);
          } else {
            EXPECT_EQ(got, expected) << format;
          }
        }
      }
    }
    ExpectWhole(*store);
    std::set<uint64_t> named;
    for (const TableInfo& info : store->Tables()) named.insert(info.generation);
    EXPECT_EQ(Generations(store.get()), named) << "the generations in the source's order are gone";
  }
}

TEST_P(OrderTest, CountsComeFirstAndTiersDescend) {
  auto store = test::NewStore(GetParam(), dir_.File("s"));
  const Rows rows = MakeRows(KeyKind::kText, 1000, 12, 3);
  std::string counts;
  for (uint64_t r = 0; r < 900; ++r) {
    counts += rows.texts[r] + "\t" + std::to_string(r * 31 % 101) + "\n";
  }
  test::WriteFile(dir_.File("counts"), counts);
  const auto count_of = [](uint64_t place) { return place < 900 ? place * 31 % 101 : 0; };
  const auto places_of = [&](const RowOrder& order) {
    TableOptions options;
    options.order = order;
    EXPECT_TRUE(Put(store.get(), "t", rows, options).ok());
    const auto table = Open(*store, "t");
    std::vector<uint64_t> places(1000);
    std::iota(places.begin(), places.end(), uint64_t{0});
    return engine::InverseOf(ImplOf(*table).order().RowsOf(places, std::nullopt).rows);
  };
  const auto by_count = places_of({OrderKind::kCounts, dir_.File("counts")});
  for (size_t i = 1; i < by_count.size(); ++i) {
    const uint64_t a = count_of(by_count[i - 1]), b = count_of(by_count[i]);
    ASSERT_TRUE(a > b || (a == b && by_count[i - 1] < by_count[i])) << i;
  }
  const auto tiered = places_of({OrderKind::kTiered, dir_.File("counts")});
  for (size_t i = 1; i < tiered.size(); ++i) {
    ASSERT_GE(std::bit_width(count_of(tiered[i - 1])), std::bit_width(count_of(tiered[i]))) << i;
  }
  const auto ranked = places_of({OrderKind::kTiered, ""});
  for (size_t i = 1; i < ranked.size(); ++i) {
    ASSERT_LE(std::bit_width(ranked[i - 1] + 1), std::bit_width(ranked[i] + 1)) << i;
  }
}

TEST_P(OrderTest, SmallAndUniformTables) {
  auto store = test::NewStore(GetParam(), dir_.File("s"));
  test::WriteFile(dir_.File("counts"), "0\t5\n");
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    for (const uint64_t count : {0, 1, 2, 20, 300}) {
      for (const bool equal : {false, true}) {
        Rows rows = MakeRows(kind, count, 40, 9);
        if (equal) std::fill(rows.values.begin(), rows.values.end(), 0.25f);
        if (count > 0 && kind == KeyKind::kText) rows.texts[count / 2] = "0";
        if (count > 0 && kind == KeyKind::kInt64) rows.ints[count / 2] = 0;
        for (const RowOrder& order : {RowOrder{OrderKind::kTiered, ""},
                                      RowOrder{OrderKind::kCounts, dir_.File("counts")}}) {
          SCOPED_TRACE(std::string(KeyKindName(kind)) + " " + std::to_string(count));
          TableOptions options;
          options.order = order;
          const auto info = Put(store.get(), "t", rows, options);
          ASSERT_TRUE(info.ok()) << info.status().ToString();
          ExpectReads(*Open(*store, "t"), rows);
          ExpectWhole(*store);
        }
      }
    }
  }
}

TEST_P(OrderTest, DuplicatesAreDroppedBeforeRowsAreOrdered) {
  auto store = test::NewStore(GetParam(), dir_.File("s"));
  Rows rows = MakeRows(KeyKind::kText, 500, 8, 4);
  Rows doubled = rows;
  for (uint64_t r = 0; r < 500; r += 3) {
    doubled.texts.push_back(rows.texts[r]);
    for (uint32_t c = 0; c < 8; ++c) doubled.values.push_back(-1);
  }
  TableOptions options;
  options.order.kind = OrderKind::kTiered;
  EXPECT_EQ(Put(store.get(), "t", doubled, options).status().code(), StatusCode::kBadInput);
  EXPECT_TRUE(Generations(store.get()).empty());
  options.on_duplicate = OnDuplicate::kFirst;
  ASSERT_TRUE(Put(store.get(), "t", doubled, options).ok());
  ExpectReads(*Open(*store, "t"), rows);
  ExpectWhole(*store);
  EXPECT_EQ(Generations(store.get()).size(), 1u);
}

TEST_P(OrderTest, ACancelAtAnyStepLeavesTheOldTable) {
  auto store = test::NewStore(GetParam(), dir_.File("s"));
  const Rows old = MakeRows(KeyKind::kInt64, 50, 4, 1);
  ASSERT_TRUE(Put(store.get(), "t", old, {}).ok());
  ImplOf(store.get()).context()->order_limits = {100, 4000, 100};
  const Rows rows = MakeRows(KeyKind::kInt64, 1000, 4, 2);
  std::mt19937_64 random(3);
  WriteOrderFiles(rows, &random);
  for (int last = 1;; ++last) {
    TableOptions options;
    options.order = {OrderKind::kTiered, dir_.File("counts")};
    int steps = 0;
    options.progress = [&](const Progress&) { return ++steps < last; };
    const auto info = Put(store.get(), "t", rows, options);
    if (info.ok()) {
      EXPECT_GT(last, 20);
      break;
    }
    ASSERT_EQ(info.status().code(), StatusCode::kCancelled);
    ExpectReads(*Open(*store, "t"), old);
    ASSERT_EQ(Generations(store.get()).size(), 1u) << last;
  }
  ExpectReads(*Open(*store, "t"), rows);
  ExpectWhole(*store);
}

// The file's errors come before rows are taken, those that need the table's keys at Commit.
TEST_P(OrderTest, FaultsOfTheFileAreNamed) {
  auto store = test::NewStore(GetParam(), dir_.File("s"));
  const Rows rows = MakeRows(KeyKind::kText, 10, 2, 1);
  const auto error_of = [&](std::string_view counts) {
    test::WriteFile(dir_.File("c"), counts);
    TableOptions options;
    options.order = {OrderKind::kTiered, dir_.File("c")};
    const Status s = Put(store.get(), "t", rows, options).status();
    EXPECT_TRUE(Generations(store.get()).empty());
    return std::string(s.message());
  };
  EXPECT_EQ(error_of("w0\t5\nx\ty\n"),
            dir_.File("c") + " line 2: found 'y', expected a whole count from 0");
  EXPECT_EQ(error_of("w0\t5\n\nnever\t1\nw0\t6\n"),
            dir_.File("c") +
                " line 4: found key 'w0' again, expected each key once; it is on line 1 "
                "already");
  EXPECT_EQ(error_of("never\t1\nnone\t2\n"),
            dir_.File("c") +
                " line 1: 'never' is no key of table 't', nor is any other key of the "
                "file");
  TableOptions missing;
  missing.order = {OrderKind::kTrace, dir_.File("nothing")};
  EXPECT_EQ(Put(store.get(), "t", rows, missing).status().code(), StatusCode::kNotFound);
}

TEST_P(OrderTest, ImportsGiveTheSameBytesWithAnyNumberOfThreads) {
  auto store = test::NewStore(GetParam(), dir_.File("s"));
  const Rows rows = MakeRows(KeyKind::kText, 3000, 20, 6);
  ASSERT_TRUE(Put(store.get(), "plain", rows, {}).ok());
  Exported(*Open(*store, "plain"), dir_.File("rows.vec"), "word2vec");
  std::string pages[2];
  for (const uint32_t threads : {1u, 2u}) {
    ImportOptions options;
    options.source.path = dir_.File("rows.vec");
    options.table = "t" + std::to_string(threads);
    options.codec = *CodecSpec::Parse("INT8");
    options.threads = threads;
    options.order.kind = OrderKind::kTiered;
    ASSERT_TRUE(Import(store.get(), options).ok());
    const auto table = Open(*store, options.table);
    const engine::TableImpl& impl = ImplOf(*table);
    for (const auto& [kind, count] :
         {std::pair(storage::PageKind::kChunk, impl.info().chunk_count),
          std::pair(storage::PageKind::kOrder, impl.record().order_pages)}) {
      const auto cursor = impl.context().rows->ScanPages(kind, impl.info().generation, 0, count);
      for (uint64_t number = 0;;) {
        storage::PageView page;
        const auto more = cursor->Next(&number, &page);
        ASSERT_TRUE(more.ok());
        if (!*more) break;
        pages[threads - 1].append(page.payload);
      }
    }
  }
  EXPECT_FALSE(pages[0].empty());
  EXPECT_EQ(pages[0], pages[1]);
}

// Pages that are whole but say something wrong: verify holds them against each other.
TEST(OrderPages, VerifyFindsWhatIsNoPermutation) {
  auto store = test::NewStore(test::StoreBody::kMemory, "");
  const Rows rows = MakeRows(KeyKind::kDense, 2000, 4, 5);
  TableOptions options;
  options.order.kind = OrderKind::kTiered;
  ASSERT_TRUE(Put(store.get(), "t", rows, options).ok());
  storage::RowStore& disk = *ImplOf(store.get()).context()->rows;
  const auto table = Open(*store, "t");
  const storage::TableRecord& record = ImplOf(*table).record();
  ASSERT_EQ(record.order_pages, 6u);
  const auto rewritten = [&](uint64_t page_number, size_t entry, uint64_t value) {
    std::vector<std::pair<storage::PageKind, std::string>> pages;
    for (const auto& [kind, count] : {std::pair(storage::PageKind::kChunk, record.info.chunk_count),
                                      std::pair(storage::PageKind::kOrder, record.order_pages)}) {
      for (uint64_t number = 0; number < count; ++number) {
        disk.ReadPages(kind, record.info.generation, std::span(&number, 1), std::nullopt,
                       [&](size_t, const Status&, const storage::PageView& page) {
                         pages.emplace_back(
                             kind, std::string(page.payload.data() - 16, page.payload.size() + 16));
                       });
      }
    }
    EXPECT_TRUE(disk.DropGeneration(record.info.generation).ok());
    auto writer = disk.NewBulkWriter(record.info.generation);
    uint64_t numbers[2] = {0, 0};
    uint64_t before = 0;
    for (auto& [kind, bytes] : pages) {
      uint64_t& number = numbers[kind == storage::PageKind::kOrder];
      if (kind == storage::PageKind::kOrder && number == page_number) {
        const storage::PageView page = *storage::OpenPage(bytes, number);
        std::vector<uint64_t> entries;
        for (uint32_t i = 0; i < page.count; ++i) entries.push_back(storage::OrderEntry(page, i));
        before = std::exchange(entries[entry], value);
        storage::StartPage(&bytes);
        storage::AppendOrder(entries, &bytes);
        storage::SealPage(number, static_cast<uint32_t>(entries.size()), &bytes);
      }
      EXPECT_TRUE((*writer)->Put(kind, number++, bytes).ok());
    }
    EXPECT_TRUE(disk.Ingest(writer->get()).ok());
    return before;
  };
  const auto said = [&] {
    const auto report = store->Verify({});
    EXPECT_TRUE(report.ok());
    if (report->damages.size() != 1) return "damages: " + std::to_string(report->damages.size());
    EXPECT_EQ(report->damages[0].part, "order page");
    EXPECT_EQ(report->damages[0].table, "t");
    return report->damages[0].what;
  };
  uint64_t was = rewritten(0, 3, 9);  // a row twice
  EXPECT_EQ(said(), "the order pages do not name every row once");
  rewritten(0, 3, was);
  ExpectWhole(*store);
  was = rewritten(4, 7, 9);  // back to a wrong place
  EXPECT_EQ(said(), "the order pages from places to rows and from rows to places do not agree");
  rewritten(4, 7, was);
  ExpectWhole(*store);
  rewritten(1, 0, 2000);  // beyond the table
  EXPECT_EQ(said(), "entry 2000 in a table of 2000 rows");
  const int64_t id = 800;
  const Status s = table->FindRows(std::span(&id, 1)).status();
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_NE(s.message().find("order page 1"), std::string_view::npos) << s.ToString();
}

#if !defined(__SANITIZE_THREAD__)

TEST(OrderPages, ADamagedPageFailsItsKeysOnlyAndVerifyNamesIt) {
  const test::TempDir dir;
  const Rows rows = MakeRows(KeyKind::kDense, 3000, 24, 8);
  {
    auto store = test::NewStore(test::StoreBody::kRocksdb, dir.File("s"));
    TableOptions options;
    options.order.kind = OrderKind::kTiered;
    ASSERT_TRUE(Put(store.get(), "t", rows, options).ok());
  }
  std::string victim;  // the smaller of the two data files has the order
  for (const auto& entry : std::filesystem::directory_iterator(dir.File("s"))) {
    if (entry.path().extension() != ".sst" || entry.file_size() < 20'000) continue;
    if (victim.empty() || entry.file_size() < std::filesystem::file_size(victim)) {
      victim = entry.path().string();
    }
  }
  ASSERT_FALSE(victim.empty());
  std::string bytes = test::ReadFile(victim);
  bytes[2000] = static_cast<char>(bytes[2000] ^ 1);  // inside order page 0
  test::WriteFile(victim, bytes);
  auto store = Store::Open(dir.File("s"), {.read_only = true});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  const auto table = Open(**store, "t");
  std::vector<uint64_t> places(3000);
  std::iota(places.begin(), places.end(), uint64_t{0});
  std::vector<float> out(rows.values.size(), -1.0f);
  LookupReport report;
  const Status s = LookupKeys(*table, rows, places, {}, out.data(), &report);
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_NE(s.message().find("table 't': order page 0"), std::string_view::npos) << s.ToString();
  EXPECT_EQ(report.unread, 800u);
  EXPECT_EQ(report.found, 2200u);
  for (uint64_t p = 0; p < 3000; ++p) {
    EXPECT_EQ(report.states[p], p < 800 ? RowState::kUnread : RowState::kFound) << p;
    for (uint32_t c = 0; c < 24; ++c) {
      ASSERT_EQ(out[p * 24 + c], p < 800 ? -1.0f : rows.values[p * 24 + c]) << p;
    }
  }
  const auto verified = (*store)->Verify({});
  ASSERT_TRUE(verified.ok());
  const bool named =
      std::any_of(verified->damages.begin(), verified->damages.end(), [&](const Damage& d) {
        return d.part == "order page" && d.number == 0 && d.table == "t" && d.file == victim;
      });
  EXPECT_TRUE(named);
  ExportOptions options;
  options.path = dir.File("out.npy");
  EXPECT_EQ(Export(*table, options).status().code(), StatusCode::kCorruption);
  EXPECT_FALSE(std::filesystem::exists(dir.File("out.npy")));
}

// The process ends without a word at each step of the ordering in turn.
TEST(OrderPages, AKillAtAnyStepLeavesTheOldTable) {
  const test::TempDir dir;
  const Rows old = MakeRows(KeyKind::kText, 50, 4, 1);
  const Rows rows = MakeRows(KeyKind::kText, 1000, 4, 2);
  {
    ASSERT_TRUE(
        Put(test::NewStore(test::StoreBody::kRocksdb, dir.File("s")).get(), "t", old, {}).ok());
  }
  for (const int last : {1, 2, 3, 5, 9, 14}) {
    const pid_t child = fork();
    if (child == 0) {
      auto store = Store::Open(dir.File("s"));
      if (!store.ok()) _exit(2);
      ImplOf(store->get()).context()->order_limits = {100, 4000, 100};
      TableOptions options;
      options.order.kind = OrderKind::kTiered;
      int steps = 0;
      options.progress = [&](const Progress&) {
        if (++steps == last) _exit(0);
        return true;
      };
      (void)Put(store->get(), "t", rows, options);
      _exit(3);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
    {
      auto reader = Store::Open(dir.File("s"), {.read_only = true});
      ASSERT_TRUE(reader.ok()) << reader.status().ToString();
      ExpectReads(*Open(**reader, "t"), old);
    }
    auto store = Store::Open(dir.File("s"));
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_EQ(Generations(store->get()).size(), 1u);
    ExpectWhole(**store);
  }
}

#endif

TEST(BalancedKd, KeepsNeighboursTogetherAndEqualPointsInOrder) {
  std::mt19937_64 random(test::Seed(5));
  const auto is_permutation = [](std::vector<uint32_t> order) {
    std::sort(order.begin(), order.end());
    for (uint32_t i = 0; i < order.size(); ++i) {
      if (order[i] != i) return false;
    }
    return true;
  };
  for (const size_t count : {0, 1, 2, 7, 8, 9, 1000}) {
    std::vector<float> points(count * engine::kPointDims);
    const auto same = engine::BalancedKdOrder(points, 3, 8);
    ASSERT_EQ(same.size(), count);
    EXPECT_TRUE(std::is_sorted(same.begin(), same.end())) << "equal points stay in order";
    for (float& x : points) x = static_cast<float>(random() % 1000) / 100;
    EXPECT_TRUE(is_permutation(engine::BalancedKdOrder(points, random() % 9, 8)));
  }
  // 16 clusters of 20 points, shuffled: with leaves of 20 each leaf is one cluster.
  std::vector<uint32_t> cluster_of(320);
  for (uint32_t i = 0; i < 320; ++i) cluster_of[i] = i % 16;
  std::shuffle(cluster_of.begin(), cluster_of.end(), random);
  std::vector<float> points(320 * engine::kPointDims);
  for (uint32_t i = 0; i < 320; ++i) {
    for (uint32_t d = 0; d < 4; ++d) {
      points[i * engine::kPointDims + d] = (cluster_of[i] >> d & 1 ? 1.0f : -1.0f) * float(1 << d);
    }
    points[i * engine::kPointDims + 7] = static_cast<float>(random() % 100) / 10000;
  }
  const auto order = engine::BalancedKdOrder(points, 20, 20);
  for (uint32_t i = 0; i < 320; ++i) {
    EXPECT_EQ(cluster_of[order[i]], cluster_of[order[i / 20 * 20]]) << i;
  }
}

}  // namespace
}  // namespace edo
