// Mixed precision: tables whose tiers have codecs of their own, against those codecs row by row, by
// every way to read; how they are made, changed and dropped. One seed decides rows and lookups;
// EDO_TEST_SEED=N replays it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "edo/codebook.h"
#include "edo/recode.h"
#include "edo/transfer.h"
#include "engine/row_quality.h"
#include "engine/table_impl.h"
#include "tests/engine/lookup_fixture.h"

namespace edo {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kDim = 20;

[[maybe_unused]] std::unique_ptr<Store> Value(Result<std::unique_ptr<Store>> store) {
  EXPECT_TRUE(store.ok()) << store.status().ToString();
  return store.ok() ? std::move(*store) : nullptr;
}

CodecSpec Spec(const std::string& word) { return *CodecSpec::Parse(word); }

std::vector<HotTier> Hot(const std::vector<std::pair<uint64_t, std::string>>& tiers) {
  std::vector<HotTier> hot;
  for (const auto& [rows, word] : tiers) hot.push_back({.rows = rows, .codec = Spec(word)});
  return hot;
}

struct Made {
  std::vector<float> values;  // (rows, dim), in the order of the source
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
};

Made MakeRows(uint64_t rows, std::mt19937_64& random) {
  Made made;
  std::normal_distribution<float> gauss(0, 1);
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint32_t c = 0; c < kDim; ++c) made.values.push_back(gauss(random) + (c < 2 ? 3.0f : 0));
    made.texts.push_back("w" + std::to_string(r * 7919 % 1000003));
    made.ints.push_back(static_cast<int64_t>(r * 0x9e3779b97f4a7c15u));
  }
  return made;
}

Result<TableInfo> Put(Store* store, const std::string& name, const Made& made,
                      const TableOptions& asked) {
  TableOptions options = asked;
  options.dim = kDim;
  EDO_ASSIGN_OR_RETURN(auto writer, store->CreateTable(name, options));
  const std::vector<std::string_view> views(made.texts.begin(), made.texts.end());
  const uint64_t rows = made.texts.size();
  for (uint64_t at = 0; at < rows; at += 700) {
    const uint64_t n = std::min<uint64_t>(700, rows - at);
    TableWriter::Rows batch;
    batch.values = std::span(made.values).subspan(at * kDim, n * kDim);
    if (options.key_kind == KeyKind::kText) batch.text_keys = std::span(views).subspan(at, n);
    if (options.key_kind == KeyKind::kInt64) batch.int_keys = std::span(made.ints).subspan(at, n);
    EDO_RETURN_IF_ERROR(writer->Append(batch));
  }
  return writer->Commit();
}

// What rows (ascending by row number) become in the tiers of `table`, by their codecs alone.
std::vector<float> ThroughCodecs(const Table& table, const std::vector<float>& rows) {
  std::vector<float> out(rows.size());
  for (const engine::Tier& tier : dynamic_cast<const engine::TableImpl&>(table).tiers()) {
    const auto codec = storage::Codec::Make(tier.codec->spec(), kDim, tier.codec->learned());
    std::vector<std::byte> codes(tier.rows() * (*codec)->row_bytes());
    EDO_EXPECT_OK((*codec)->Encode(&rows[tier.first_row() * kDim], tier.rows(), codes.data()));
    (*codec)->Decode(codes.data(), tier.rows(),
                     {&out[tier.first_row() * kDim], FloatType::kF32, 0, 0});
  }
  return out;
}

std::vector<float> RowsByNumber(const Table& table) {
  std::vector<uint64_t> rows(table.info().rows);
  for (uint64_t r = 0; r < rows.size(); ++r) rows[r] = r;
  std::vector<float> out(rows.size() * kDim);
  EDO_EXPECT_OK(table.LookupRows(rows, {}, out.data()));
  return out;
}

class TiersTest : public ::testing::TestWithParam<test::StoreBody> {
 protected:
  void SetUp() override { store_ = test::NewStore(GetParam(), dir_.File("store")); }
  std::unique_ptr<Table> Open() { return test::OpenTable(store_.get(), "t"); }
  uint64_t Generations() const {
    std::set<uint64_t> all;
    const auto& rows = *dynamic_cast<engine::StoreImpl&>(*store_).context()->rows;
    for (const storage::StoreFile& file : rows.Files()) {
      if (file.has_pages) all.insert(file.generation);
    }
    return all.size();
  }
  void ExpectWhole() const {
    const auto verified = store_->Verify({});
    ASSERT_TRUE(verified.ok()) << verified.status().ToString();
    EXPECT_TRUE(verified->damages.empty());
  }

  test::TempDir dir_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(Bodies, TiersTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

// Every kind of key, with and without an order: a row is what its tier's codec makes of it.
TEST_P(TiersTest, EachRowIsItsTiersCodecs) {
  std::mt19937_64 random(test::Seed(61));
  const Made made = MakeRows(3000, random);
  for (const KeyKind kind : {KeyKind::kDense, KeyKind::kInt64, KeyKind::kText}) {
    for (const OrderKind order : {OrderKind::kFile, OrderKind::kTiered}) {
      TableOptions options;
      options.key_kind = kind;
      options.order.kind = order;
      options.codec = Spec("PQ5x4");
      options.hot = Hot({{200, "F32"}, {700, "P,INT8"}, {1, "L4+4"}});
      const auto info = Put(store_.get(), "t", made, options);
      ASSERT_TRUE(info.ok()) << info.status().ToString();
      ASSERT_EQ(info->tiers.size(), 4u);
      EXPECT_EQ(info->codec.ToString(), "PQ5x4");
      EXPECT_EQ(info->tiers[1].first_row, 200u);
      EXPECT_EQ(info->tiers[1].rows, 700u);
      EXPECT_EQ(info->tiers[1].codec.ToString(), "P,INT8");
      EXPECT_EQ(info->tiers[3].first_row, 901u);
      EXPECT_EQ(info->tiers[3].rows, 2099u);
      const auto table = Open();
      EXPECT_EQ(table->info().rows, 3000u);
      // The rows of the source in the table's order.
      std::vector<uint64_t> numbers;
      if (kind == KeyKind::kText) {
        const std::vector<std::string_view> views(made.texts.begin(), made.texts.end());
        numbers = *table->FindRows(std::span<const std::string_view>(views));
      } else {
        std::vector<int64_t> ids = made.ints;
        for (size_t i = 0; kind == KeyKind::kDense && i < ids.size(); ++i) {
          ids[i] = static_cast<int64_t>(i);
        }
        numbers = *table->FindRows(std::span<const int64_t>(ids));
      }
      std::vector<float> in_order(made.values.size());
      for (uint64_t place = 0; place < numbers.size(); ++place) {
        ASSERT_LT(numbers[place], 3000u);
        std::copy_n(&made.values[place * kDim], kDim, &in_order[numbers[place] * kDim]);
      }
      const std::vector<float> expected = ThroughCodecs(*table, in_order);
      EXPECT_EQ(RowsByNumber(*table), expected);  // from disk
      EXPECT_EQ(RowsByNumber(*table), expected);  // from the cache
      std::vector<uint64_t> all(3000);
      for (uint64_t r = 0; r < all.size(); ++r) all[r] = r;
      EXPECT_EQ(test::PlainRows(*table, all), expected);  // by scan
      EXPECT_EQ(std::vector<float>(expected.begin(), expected.begin() + 200 * kDim),
                std::vector<float>(in_order.begin(), in_order.begin() + 200 * kDim));
      ExpectWhole();
      EXPECT_EQ(Generations(), 4u);
      EDO_ASSERT_OK(store_->DropTable("t"));
    }
  }
}

// Lookups, bags, reads ahead, bulk jobs and pipelines, with caches of any size.
TEST_P(TiersTest, EveryWayToReadGivesTheSameRows) {
  const uint64_t seed = test::Seed(62);
  std::mt19937_64 random(seed);
  const Made made = MakeRows(4000, random);
  TableOptions options;
  options.codec = Spec("L4");
  options.hot = Hot({{150, "F32"}, {850, "INT8"}, {1000, "P,L4+4"}});
  ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
  for (const uint64_t cache_bytes : {uint64_t{0}, uint64_t{40} << 10, uint64_t{8} << 20}) {
    for (const uint64_t device_bytes : {uint64_t{0}, uint64_t{60} << 10}) {
      StoreOptions store_options;
      store_options.cache_bytes = cache_bytes;
      store_options.device_cache_bytes = device_bytes;
      store_options.backend = BackendKind::kCpu;
      std::unique_ptr<Store> store;
      if (GetParam() == test::StoreBody::kRocksdb) {
        store_options.read_only = true;
        store = Value(Store::Open(dir_.File("store"), store_options));
      } else {
        store = test::MemoryStore(store_options);
        ASSERT_TRUE(Put(store.get(), "t", made, options).ok());
      }
      const auto table = test::OpenTable(store.get(), "t");
      for (int round = 0; round < 12; ++round) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", cache " << cache_bytes
                                        << ", device " << device_bytes << ", round " << round);
        const std::vector<uint64_t> rows =
            test::SomeRows(4000, 1 + random() % 900, random() % 2 ? 9 : 0, random);
        const std::vector<float> expected = test::PlainRows(*table, rows);
        std::unique_ptr<PrefetchTicket> ticket;
        if (random() % 2) {
          auto made_ticket = table->PrefetchRows(rows, {.to_device = random() % 2 == 0});
          ASSERT_TRUE(made_ticket.ok()) << made_ticket.status().ToString();
          ticket = std::move(*made_ticket);
          EDO_ASSERT_OK(ticket->Wait());
          const PrefetchReport report = ticket->report();
          std::vector<uint64_t> distinct = rows;
          std::sort(distinct.begin(), distinct.end());
          distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
          std::erase_if(distinct, [](uint64_t row) { return row >= 4000; });
          EXPECT_EQ(report.resident + report.staged, distinct.size());
        }
        std::vector<float> out(expected.size(), 7.0f);
        LookupReport report;
        EDO_ASSERT_OK(table->LookupRows(rows, {}, out.data(), &report));
        EXPECT_EQ(out, expected);
        for (size_t i = 0; i < rows.size(); ++i) {
          EXPECT_EQ(report.states[i], rows[i] < 4000 ? RowState::kFound : RowState::kMissing);
        }
        // What is missing is left as it was, or is an error.
        LookupOptions mark;
        mark.on_missing = OnMissing::kMark;
        std::fill(out.begin(), out.end(), 7.0f);
        EDO_ASSERT_OK(table->LookupRows(rows, mark, out.data()));
        for (size_t i = 0; i < rows.size(); ++i) {
          for (uint32_t c = 0; c < kDim; ++c) {
            ASSERT_EQ(out[i * kDim + c], rows[i] < 4000 ? expected[i * kDim + c] : 7.0f);
          }
        }
        const std::vector<uint64_t> offsets = test::SomeOffsets(rows.size(), random);
        std::vector<float> weights(rows.size());
        for (float& w : weights) w = static_cast<float>(random() % 100) / 10;
        Bags bags;
        bags.offsets = offsets;
        if (random() % 2) {
          bags.weights = weights;
        } else if (random() % 2) {
          bags.mode = PoolMode::kMean;
        }
        const std::vector<float> sums = test::PlainBags(*table, rows, bags);
        std::vector<float> pooled(sums.size());
        EDO_ASSERT_OK(table->LookupBagRows(rows, bags, {}, pooled.data()));
        EXPECT_EQ(pooled, sums);
        // On device.
        const std::vector<int64_t> numbers(rows.begin(), rows.end());
        std::fill(out.begin(), out.end(), 7.0f);
        auto lookup = table->LookupRowsOnDevice(numbers.data(), rows.size(), {}, out.data());
        ASSERT_TRUE(lookup.ok()) << lookup.status().ToString();
        EDO_ASSERT_OK((*lookup)->Finish(&report));
        EXPECT_EQ(out, expected);
        std::vector<uint64_t> ends = offsets;
        ends.push_back(rows.size());
        DeviceBags on_device{ends.data(), offsets.size(),
                             bags.weights.empty() ? nullptr : weights.data(), bags.mode};
        std::fill(pooled.begin(), pooled.end(), 7.0f);
        lookup =
            table->LookupBagRowsOnDevice(numbers.data(), rows.size(), on_device, {}, pooled.data());
        ASSERT_TRUE(lookup.ok()) << lookup.status().ToString();
        EDO_ASSERT_OK((*lookup)->Finish(&report));
        EXPECT_EQ(pooled, sums);
      }
      // Loops.
      std::vector<std::vector<uint64_t>> batches;
      for (int b = 0; b < 9; ++b) batches.push_back(test::SomeRows(4000, 300, 11, random));
      for (const bool to_device : {false, true}) {
        PipelineOptions loop;
        loop.on_device = to_device;
        loop.depth = 2;
        loop.look_ahead = 6;
        auto pipeline = table->MakePipeline(KeysFrom(batches), loop);
        ASSERT_TRUE(pipeline.ok()) << pipeline.status().ToString();
        PipelineBatch batch;
        size_t number = 0;
        while (*(*pipeline)->Next(&batch)) {
          EDO_ASSERT_OK(batch.status);
          const std::vector<float> expected = test::PlainRows(*table, batches[number]);
          const auto* const values = static_cast<const float*>(batch.data);
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), values));
          ++number;
        }
        EXPECT_EQ(number, batches.size());
      }
      std::vector<float> streamed;
      BulkOptions bulk;
      bulk.window_bytes = 32 << 10;
      EDO_ASSERT_OK(table->BulkLookup(KeysFrom(batches), bulk, [&](const BulkRows& rows) {
        streamed.insert(streamed.end(), rows.values.begin(), rows.values.end());
        return Status::Ok();
      }));
      std::vector<uint64_t> all;
      for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
      EXPECT_EQ(streamed, test::PlainRows(*table, all));
    }
  }
}

TEST_P(TiersTest, RecodingBetweenOneCodecAndTiers) {
  std::mt19937_64 random(test::Seed(63));
  const Made made = MakeRows(2500, random);
  TableOptions options;
  options.key_kind = KeyKind::kText;
  options.codec = Spec("F32");
  options.metadata["licence"] = "CC0-1.0";
  ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
  RecodeOptions recode;
  recode.table = "t";
  recode.codec = Spec("P,L4");
  recode.hot = Hot({{300, "L4+4"}, {500, "INT8"}});
  auto report = Recode(store_.get(), recode);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->after.tiers.size(), 3u);
  EXPECT_EQ(report->after.metadata.at("licence"), "CC0-1.0");
  EXPECT_EQ(Generations(), 3u);
  auto table = Open();
  std::vector<float> rows = RowsByNumber(*table);
  EXPECT_EQ(rows, ThroughCodecs(*table, made.values));
  ExpectWhole();
  report = Recode(store_.get(), recode);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->unchanged);

  // Tiers that stay keep their bits; a refinement is dropped from one of them.
  recode.hot = Hot({{300, "L4"}, {500, "INT8"}});
  report = Recode(store_.get(), recode);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->dropped_refinement);
  auto after = Open();
  const std::vector<float> now = RowsByNumber(*after);
  EXPECT_TRUE(std::equal(now.begin() + 300 * kDim, now.end(), rows.begin() + 300 * kDim));
  EXPECT_FALSE(std::equal(now.begin(), now.begin() + 300 * kDim, rows.begin()));
  EXPECT_EQ(RowsByNumber(*table), rows);  // an old handle
  EXPECT_EQ(Generations(), 6u);
  table.reset();
  EXPECT_EQ(Generations(), 3u);

  // Tiers that are cut elsewhere, and back to one codec.
  recode.hot = Hot({{900, "F16"}});
  report = Recode(store_.get(), recode);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  table = Open();
  rows = RowsByNumber(*table);
  const std::vector<float> through = ThroughCodecs(*table, now);
  EXPECT_TRUE(std::equal(rows.begin(), rows.begin() + 900 * kDim, through.begin()));
  EXPECT_TRUE(std::equal(rows.begin() + 900 * kDim, rows.end(), now.begin() + 900 * kDim));
  recode.hot.clear();
  recode.codec = Spec("INT8");
  report = Recode(store_.get(), recode);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->after.tiers.empty());
  table = Open();
  EXPECT_EQ(RowsByNumber(*table), ThroughCodecs(*table, rows));
  after.reset();
  EXPECT_EQ(Generations(), 1u);
  ExpectWhole();
  const std::vector<std::string_view> views(made.texts.begin(), made.texts.end());
  EXPECT_EQ((*table->FindRows(std::span<const std::string_view>(views)))[2499], 2499u);
}

// Encoded rows of the table from `first` on, as their tiers hold them.
std::vector<std::byte> CodesFrom(const Table& table, uint64_t first) {
  std::vector<std::byte> codes;
  EDO_EXPECT_OK(dynamic_cast<const engine::TableImpl&>(table).ScanCodes(
      [&](const engine::Tier& tier, uint64_t at, uint64_t rows, std::string_view bytes) {
        for (uint64_t i = 0; i < rows; ++i) {
          if (at + i < first) continue;
          const auto row =
              std::as_bytes(std::span(bytes).subspan(i * tier.row_bytes(), tier.row_bytes()));
          codes.insert(codes.end(), row.begin(), row.end());
        }
        return Status::Ok();
      }));
  return codes;
}

std::vector<std::byte> LearnedBehind(const Table& table) {
  const auto learned =
      dynamic_cast<const engine::TableImpl&>(table).tiers().back().codec->learned();
  return {learned.begin(), learned.end()};
}

// Rows that stay in their codec keep their codes and what the codec has learned, however the tiers
// are cut: nothing is learned anew from rows that were decoded.
TEST_P(TiersTest, RowsThatStayInTheirCodecKeepTheirCodes) {
  std::mt19937_64 random(test::Seed(71));
  const Made made = MakeRows(2500, random);
  for (const char* const word : {"PQ5x4", "OPQ5,PQ5x4", "RQ2x4", "P,L4", "P,L4+4", "L4", "F8"}) {
    SCOPED_TRACE(word);
    TableOptions options;
    options.key_kind = KeyKind::kText;
    options.codec = Spec(word);
    ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
    auto table = Open();
    const std::vector<float> before = RowsByNumber(*table);
    const std::vector<std::byte> learned = LearnedBehind(*table);
    const std::vector<std::byte> behind = CodesFrom(*table, 301);
    const auto recode = [&](std::vector<HotTier> hot, const std::string& codec) {
      RecodeOptions to;
      to.table = "t";
      to.codec = Spec(codec);
      to.hot = std::move(hot);
      const auto report = Recode(store_.get(), to);
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      EXPECT_FALSE(report->unchanged);
      table = Open();
      ExpectWhole();
    };
    recode(Hot({{301, "F16"}}), word);
    EXPECT_TRUE(CodesFrom(*table, 301) == behind);
    EXPECT_TRUE(LearnedBehind(*table) == learned);
    std::vector<float> now = RowsByNumber(*table);
    EXPECT_TRUE(std::equal(now.begin() + 301 * kDim, now.end(), before.begin() + 301 * kDim));
    // Cut elsewhere: most rows of the last tier are in its codec, the others are encoded by it.
    recode(Hot({{100, "F16"}}), word);
    EXPECT_TRUE(CodesFrom(*table, 301) == behind);
    EXPECT_TRUE(LearnedBehind(*table) == learned);
    now = RowsByNumber(*table);
    // And back to one codec.
    recode({}, word);
    EXPECT_TRUE(CodesFrom(*table, 301) == behind);
    EXPECT_TRUE(LearnedBehind(*table) == learned);
    const std::vector<float> back = RowsByNumber(*table);
    EXPECT_TRUE(std::equal(back.begin() + 100 * kDim, back.end(), now.begin() + 100 * kDim));
    // Rows in the middle of the tier become one before the last.
    recode(Hot({{77, "F16"}, {1000, word}}), "F32");
    now = RowsByNumber(*table);
    EXPECT_TRUE(std::equal(now.begin() + 77 * kDim, now.end(), back.begin() + 77 * kDim));
    EDO_ASSERT_OK(store_->DropTable("t"));
  }
}

// Books of others are for rows of their own scale, also when hot rows come back to them.
TEST_P(TiersTest, HotRowsComeBackToABookOfOthers) {
  std::mt19937_64 random(test::Seed(76));
  const Made made = MakeRows(1500, random);
  TableOptions options;
  options.codec = Spec("PQ5x4");
  Codebook book;
  book.parts = 5;
  book.ksub = 16;
  book.width = 4;
  for (uint32_t part = 0; part < 5; ++part) {
    for (uint64_t row = 0; row < 16; ++row) {
      for (uint32_t c = 0; c < 4; ++c) {
        book.centroids.push_back(100 * made.values[row * kDim + part * 4 + c]);
      }
    }
  }
  const auto learned = MakeLearned(options.codec, kDim, book);
  ASSERT_TRUE(learned.ok()) << learned.status().ToString();
  options.learned = *learned;
  options.learned_elsewhere = true;
  ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
  const std::vector<float> before = RowsByNumber(*Open());
  RecodeOptions recode;
  recode.table = "t";
  recode.codec = options.codec;
  recode.hot = Hot({{400, "F32"}});
  ASSERT_TRUE(Recode(store_.get(), recode).ok());
  EXPECT_EQ(RowsByNumber(*Open()), before);
  recode.hot.clear();
  ASSERT_TRUE(Recode(store_.get(), recode).ok());
  const std::vector<float> back = RowsByNumber(*Open());
  EXPECT_TRUE(std::equal(back.begin() + 400 * kDim, back.end(), before.begin() + 400 * kDim));
  double error = 0, energy = 0;
  for (size_t i = 0; i < 400 * kDim; ++i) {
    error += (back[i] - before[i]) * (back[i] - before[i]);
    energy += before[i] * before[i];
  }
  EXPECT_LT(error, 0.01 * energy);
}

// Few rows of a tier are in its codec already: what that one learned from them is not what the
// others need.
TEST_P(TiersTest, ACodecOfFewOfTheRowsLearnsAnew) {
  std::mt19937_64 random(test::Seed(72));
  const Made made = MakeRows(1200, random);
  TableOptions options;
  options.codec = Spec("F32");
  options.hot = Hot({{100, "PQ5x4"}});
  ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
  const auto old = Open();
  RecodeOptions recode;
  recode.table = "t";
  recode.codec = Spec("PQ5x4");
  ASSERT_TRUE(Recode(store_.get(), recode).ok());
  const auto table = Open();
  const auto few = dynamic_cast<const engine::TableImpl&>(*old).tiers().front().codec->learned();
  EXPECT_FALSE(LearnedBehind(*table) == std::vector<std::byte>(few.begin(), few.end()));
  EXPECT_EQ(RowsByNumber(*table), ThroughCodecs(*table, RowsByNumber(*old)));
}

// Without the refinement in some tiers only.
TEST_P(TiersTest, ARefinementIsDroppedFromPartOfTheRows) {
  std::mt19937_64 random(test::Seed(73));
  const Made made = MakeRows(1200, random);
  for (const auto& [both, base] : {std::pair("L4+4", "L4"), std::pair("P,L4+4", "P,L4")}) {
    TableOptions options;
    options.codec = Spec(both);
    ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
    const std::vector<float> whole = RowsByNumber(*Open());
    const auto halves = store_->OpenTable("t", {.base_only = true});
    ASSERT_TRUE(halves.ok());
    const std::vector<float> half = RowsByNumber(**halves);
    RecodeOptions recode;
    recode.table = "t";
    recode.codec = Spec(base);
    recode.hot = Hot({{111, both}});
    const auto report = Recode(store_.get(), recode);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->dropped_refinement);
    const std::vector<float> rows = RowsByNumber(*Open());
    EXPECT_TRUE(std::equal(rows.begin(), rows.begin() + 111 * kDim, whole.begin()));
    EXPECT_TRUE(std::equal(rows.begin() + 111 * kDim, rows.end(), half.begin() + 111 * kDim));
    EDO_ASSERT_OK(store_->DropTable("t"));
  }
}

TEST_P(TiersTest, SharesOfTheRowsAndACodecChosenForTheRest) {
  std::mt19937_64 random(test::Seed(64));
  const Made made = MakeRows(1001, random);
  TableOptions options;
  options.hot = {{.percent = 10, .codec = Spec("F32")}, {.percent = 0.01, .codec = Spec("F16")}};
  options.choose_codec = CodecGoal{.quality = {.min_cosine = 0.98}, .max_bytes = {}};
  const auto info = Put(store_.get(), "t", made, options);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  ASSERT_EQ(info->tiers.size(), 3u);
  EXPECT_EQ(info->tiers[0].rows, 101u);  // rounded up
  // What a share is in full is not rounded: 0.07 * 40,000 is above 2,800 in binary.
  for (const auto& [percent, rows] :
       {std::pair(7.0, 28u), {14.0, 56u}, {28.0, 112u}, {55.0, 220u}, {0.25, 1u}, {0.26, 2u}}) {
    TableOptions shares;
    shares.replace = true;
    shares.hot = {{.percent = percent, .codec = Spec("F16")}};
    const auto put = Put(store_.get(), "s", MakeRows(400, random), shares);
    ASSERT_TRUE(put.ok()) << put.status().ToString();
    EXPECT_EQ(put->tiers[0].rows, rows) << percent;
  }
  EXPECT_EQ(info->tiers[1].rows, 1u);
  EXPECT_LT(info->tiers[2].row_bytes, kDim * 4u);
  EXPECT_TRUE(info->metadata.contains("edo.codec.choice"));
}

QualityReport QualityOf(const std::vector<float>& original, const std::vector<float>& decoded) {
  engine::RowQuality quality(kDim, {});
  quality.Add(original.data(), decoded.data(), original.size() / kDim, 0);
  return quality.Report();
}

uint64_t BytesOf(const TableInfo& info) {
  uint64_t bytes = 0;
  for (const TierInfo& tier : info.tiers) {
    bytes += tier.rows * tier.row_bytes + tier.codec.LearnedBytes(info.dim);
  }
  return bytes;
}

// What a goal allows is for all rows: bytes of hot rows count, and so does how they come back.
TEST_P(TiersTest, AGoalIsHeldOverTheRowsOfAllTiers) {
  std::mt19937_64 random(test::Seed(74));
  const Made made = MakeRows(2000, random);
  TableOptions options;
  options.replace = true;
  options.hot = {{.percent = 50, .codec = Spec("F32")}};
  options.choose_codec = CodecGoal{.quality = {}, .max_bytes = 100000};
  auto info = Put(store_.get(), "t", made, options);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_LE(BytesOf(*info), 100000u);
  EXPECT_THAT(info->metadata.at("edo.codec.choice"),
              HasSubstr("1000:F32 " + info->codec.ToString()));
  EXPECT_THAT(info->metadata.at("edo.codec.choice"), HasSubstr("over all 2000 rows"));
  EXPECT_THAT(info->metadata.at("edo.codec.choice"),
              HasSubstr("; " + std::to_string(BytesOf(*info)) + " bytes"));

  // Exact rows leave the others more error: L4 alone would not keep this.
  const uint32_t half = 1000 * kDim;
  const auto l4 = storage::Codec::Make(Spec("L4"), kDim);
  std::vector<std::byte> codes(1000 * (*l4)->row_bytes());
  std::vector<float> decoded(made.values);
  EDO_ASSERT_OK((*l4)->Encode(&made.values[half], 1000, codes.data()));
  (*l4)->Decode(codes.data(), 1000, {&decoded[half], FloatType::kF32, 0, 0});
  const double error = QualityOf(made.values, decoded).rel_error_mean;
  options.choose_codec = CodecGoal{
      .quality = {.max_rel_error = error * 1.001, .at = QualityBudget::At::kMean}, .max_bytes = {}};
  info = Put(store_.get(), "t", made, options);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_LE(info->row_bytes, (*l4)->row_bytes());
  EXPECT_LE(QualityOf(made.values, RowsByNumber(*Open())).rel_error_mean, error * 1.001);

  // Coarse hot rows are made up for by the others where that can be.
  options.hot = Hot({{1000, "L4"}});
  options.choose_codec->quality.max_rel_error = error * 1.05;
  info = Put(store_.get(), "t", made, options);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  const QualityReport quality = QualityOf(made.values, RowsByNumber(*Open()));
  EXPECT_LE(quality.rel_error_mean, error * 1.05);
  char figure[64];
  std::snprintf(figure, sizeof figure, "%.4g mean", quality.rel_error_mean);
  EXPECT_THAT(info->metadata.at("edo.codec.choice"), HasSubstr(figure));
  // The same of a table that is there.
  ASSERT_TRUE(Put(store_.get(), "u", made, {}).ok());
  RecodeOptions recode;
  recode.table = "u";
  recode.hot = options.hot;
  recode.choose_codec = options.choose_codec;
  const auto report = Recode(store_.get(), recode);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->after.codec, info->codec);
  EXPECT_EQ(report->after.metadata.at("edo.codec.choice"), info->metadata.at("edo.codec.choice"));
}

// What rows are in already keeps them as they are, whatever is asked for.
TEST_P(TiersTest, AChoiceKeepsTheCodecThatRowsAreIn) {
  std::mt19937_64 random(test::Seed(77));
  const Made made = MakeRows(1500, random);
  TableOptions options;
  for (const char* const word : {"PQ5x8", "PQ4x4", "L4"}) {
    options.codec = Spec(word);
    ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
    const std::vector<float> before = RowsByNumber(*Open());
    RecodeOptions recode;
    recode.table = "t";
    recode.choose_codec = CodecGoal{.quality = {.min_cosine = 1}, .max_bytes = {}};
    auto report = Recode(store_.get(), recode);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->unchanged);
    recode.hot = Hot({{100, "F32"}});
    report = Recode(store_.get(), recode);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->after.codec.ToString(), word);
    EXPECT_EQ(RowsByNumber(*Open()), before);
    EXPECT_THAT(report->after.metadata.at("edo.codec.choice"),
                HasSubstr("100:F32 " + std::string(word) +
                          " over all 1500 rows: relative squared "
                          "error 0 mean, 0 p99"));
    EDO_ASSERT_OK(store_->DropTable("t"));
  }
}

TEST_P(TiersTest, HotTiersThatLeaveAGoalNoRoomAreNamed) {
  std::mt19937_64 random(test::Seed(75));
  const Made made = MakeRows(2000, random);
  TableOptions options;
  const auto refused = [&](const std::string& what) {
    const auto info = Put(store_.get(), "t", made, options);
    EXPECT_EQ(info.status().code(), StatusCode::kGoalMissed) << info.status().ToString();
    EXPECT_THAT(std::string(info.status().message()), HasSubstr(what));
    EXPECT_TRUE(store_->Tables().empty());
    EXPECT_EQ(Generations(), 0u);
  };
  options.choose_codec = CodecGoal{.quality = {}, .max_bytes = 80000};
  options.hot = {{.percent = 50, .codec = Spec("F32")}};
  refused("the hot tiers alone take 80000 bytes, 80000 are allowed for all rows");
  // Known before the first row comes.
  options.hot = Hot({{1000, "F32"}});
  TableOptions early = options;
  early.dim = kDim;
  EXPECT_EQ(store_->CreateTable("t", early).status().code(), StatusCode::kGoalMissed);
  refused("the hot tiers alone take 80000 bytes, 80000 are allowed for all rows");
  options.choose_codec->max_bytes = 80100;
  refused("no codec of the rows behind the hot tiers keeps what was asked for");
  for (const auto at : {QualityBudget::At::kP1, QualityBudget::At::kWorst}) {
    options.choose_codec = CodecGoal{.quality = {.min_cosine = 0.99, .at = at}, .max_bytes = {}};
    options.hot = Hot({{100, "F32"}, {900, "PQ5x4"}});
    refused("hot tier 2 (PQ5x4, rows 100..999) by itself: ");
  }
}

TEST_P(TiersTest, DuplicatesAreDroppedBeforeRowsAreCounted) {
  std::mt19937_64 random(test::Seed(65));
  Made made = MakeRows(50, random);
  made.ints[3] = made.ints[1];
  TableOptions options;
  options.key_kind = KeyKind::kInt64;
  options.codec = Spec("F16");
  options.on_duplicate = OnDuplicate::kFirst;
  options.hot = Hot({{5, "F32"}});
  const auto info = Put(store_.get(), "t", made, options);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->rows, 49u);
  const std::vector<float> rows = RowsByNumber(*Open());
  EXPECT_TRUE(
      std::equal(rows.begin() + 3 * kDim, rows.begin() + 5 * kDim, made.values.begin() + 4 * kDim));
}

TEST_P(TiersTest, WhatIsRefused) {
  std::mt19937_64 random(test::Seed(66));
  Made made = MakeRows(40, random);
  TableOptions options;
  options.codec = Spec("L4");
  const auto refused = [&](StatusCode code, const std::string& what) {
    const auto info = Put(store_.get(), "t", made, options);
    EXPECT_EQ(info.status().code(), code) << info.status().ToString();
    EXPECT_THAT(std::string(info.status().message()), HasSubstr(what));
    EXPECT_TRUE(store_->Tables().empty());
    EXPECT_EQ(Generations(), 0u);
  };
  options.hot = Hot({{30, "INT8"}, {10, "F16"}});
  refused(StatusCode::kInvalidArgument, "ask for the first 40 rows, the table has 40");
  options.expected_rows = 40;
  refused(StatusCode::kInvalidArgument, "ask for the first 40 rows, of 40");
  options.expected_rows = 0;
  options.hot = {{.rows = 3, .percent = 2, .codec = Spec("INT8")}};
  refused(StatusCode::kInvalidArgument, "hot tier 1: give its rows or their share");
  options.hot = {{.codec = Spec("INT8")}};
  refused(StatusCode::kInvalidArgument, "hot tier 1: give its rows or their share");
  options.hot = {{.percent = 100, .codec = Spec("INT8")}};
  refused(StatusCode::kInvalidArgument, "a share of 100.000000 % of the rows");
  options.hot = {{.percent = std::nan(""), .codec = Spec("INT8")}};
  refused(StatusCode::kInvalidArgument, "hot tier 1: a share");
  options.hot = Hot({{1, "F32"}, {1, "PQ21x8"}});
  refused(StatusCode::kInvalidArgument, "hot tier 2: ");
  options.hot.assign(kMostTiers, {.rows = 1, .codec = Spec("INT8")});
  refused(StatusCode::kInvalidArgument, "16 hot tiers; at most 15");
  options.hot = Hot({{1, "F32"}});
  options.learned.resize(8);
  refused(StatusCode::kInvalidArgument, "(`learned`) cannot be given for a table of several");
  options.learned.clear();
  // A value that one of the tiers cannot hold, wherever its row will stand.
  made.values[33 * kDim + 4] = 1e30f;
  options.hot = Hot({{2, "F16"}});
  refused(StatusCode::kBadInput, "row 33: value 5 of 20");
  made.values[33 * kDim + 4] = 1;
  auto writer = store_->CreateTable("t", [&] {
    TableOptions o = options;
    o.dim = kDim;
    return o;
  }());
  ASSERT_TRUE(writer.ok());
  const std::vector<std::byte> codes(48);
  EXPECT_EQ((*writer)->AppendCodes(codes, {}).code(), StatusCode::kInvalidArgument);
  writer->reset();

  // Recoding: the table stays.
  options.hot.clear();
  ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
  RecodeOptions recode;
  recode.table = "t";
  recode.hot = Hot({{40, "INT8"}});
  EXPECT_EQ(Recode(store_.get(), recode).status().code(), StatusCode::kInvalidArgument);
  recode.hot = Hot({{4, "INT8"}, {3, "F16"}});
  int steps = 0;
  recode.progress = [&](const Progress&) { return ++steps < 3; };  // two tiers are written by then
  EXPECT_EQ(Recode(store_.get(), recode).status().code(), StatusCode::kCancelled);
  EXPECT_EQ(Generations(), 1u);
  EXPECT_TRUE(store_->Tables()[0].tiers.empty());
}

TEST_P(TiersTest, ReplacedRenamedOpenedAgainAndDropped) {
  std::mt19937_64 random(test::Seed(67));
  const Made made = MakeRows(900, random);
  TableOptions options;
  options.codec = Spec("L4");
  options.hot = Hot({{100, "INT8"}});
  ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
  auto old = Open();
  const std::vector<float> rows = RowsByNumber(*old);
  options.replace = true;
  options.hot = Hot({{200, "F32"}, {200, "INT8"}});
  ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
  EXPECT_EQ(Generations(), 5u);
  EXPECT_EQ(RowsByNumber(*old), rows);
  old.reset();
  EXPECT_EQ(Generations(), 3u);
  const std::vector<float> newer = RowsByNumber(*Open());
  EDO_ASSERT_OK(store_->RenameTable("t", "u"));
  EDO_ASSERT_OK(store_->SetMetadata("u", {{"a", "b"}}));
  EDO_ASSERT_OK(store_->RenameTable("u", "t"));
  if (GetParam() == test::StoreBody::kRocksdb) {
    const TableInfo info = store_->Tables()[0];
    store_.reset();
    store_ = Value(Store::Open(dir_.File("store")));
    EXPECT_EQ(Generations(), 3u);
    const TableInfo again = store_->Tables()[0];
    EXPECT_EQ(again.chunk_file_bytes, info.chunk_file_bytes);
    EXPECT_EQ(again.chunk_count, info.chunk_count);
    EXPECT_EQ(again.tiers.size(), 3u);
    EXPECT_EQ(again.tiers[2].first_row, 400u);
  }
  EXPECT_EQ(RowsByNumber(*Open()), newer);
  ExpectWhole();
  EDO_ASSERT_OK(store_->DropTable("t"));
  EXPECT_EQ(Generations(), 0u);
}

TEST_P(TiersTest, ExportKeepsRowsAsTheyDecode) {
  std::mt19937_64 random(test::Seed(68));
  const Made made = MakeRows(1200, random);
  for (const OrderKind order : {OrderKind::kFile, OrderKind::kTiered}) {
    TableOptions options;
    options.key_kind = KeyKind::kText;
    options.codec = Spec("L4");
    options.order.kind = order;
    options.hot = Hot({{100, "INT8"}});
    options.replace = true;
    ASSERT_TRUE(Put(store_.get(), "t", made, options).ok());
    const auto table = Open();
    const std::vector<std::string_view> keys(made.texts.begin(), made.texts.end());
    std::vector<float> expected(made.values.size());
    EDO_ASSERT_OK(table->Lookup(keys, {}, expected.data()));
    for (const char* name : {"rows.edo", "rows.vec"}) {
      ExportOptions target;
      target.path = dir_.File(std::string(OrderKindName(order)) + name);
      ASSERT_TRUE(Export(*table, target).ok());
      ImportOptions source;
      source.source.path = target.path;
      source.table = "back";
      source.replace = true;
      const auto imported = Import(store_.get(), source);
      ASSERT_TRUE(imported.ok()) << imported.status().ToString();
      const auto back = test::OpenTable(store_.get(), "back");
      EXPECT_EQ(back->info().codec.ToString(), "F32");
      std::vector<float> rows(made.values.size());
      EDO_ASSERT_OK(back->Lookup(keys, {}, rows.data()));
      EXPECT_EQ(rows, expected) << target.path;
    }
    EDO_ASSERT_OK(store_->DropTable("back"));
  }
}

#if !defined(__SANITIZE_THREAD__)  // RocksDB is not instrumented
// Damage in one tier fails its rows, names them by their numbers in the table, and leaves the
// others.
TEST(TiersDamageTest, DamageIsNamedByTheTablesRows) {
  test::TempDir dir;
  std::mt19937_64 random(test::Seed(69));
  const Made made = MakeRows(2000, random);
  TableOptions options;
  options.codec = Spec("L4");
  options.hot = Hot({{100, "F32"}, {600, "F32"}});
  uint64_t middle = 0;
  {
    const auto store = Value(Store::Create(dir.File("store")));
    ASSERT_TRUE(Put(store.get(), "t", made, options).ok());
    const auto table = test::OpenTable(store.get(), "t");
    middle = dynamic_cast<const engine::TableImpl&>(*table).tiers()[1].record->info.generation;
  }
  std::string file;
  {
    const auto store = Value(Store::Open(dir.File("store"), {.read_only = true}));
    const auto& rows = *dynamic_cast<engine::StoreImpl&>(*store).context()->rows;
    file = rows.FileOf(storage::PageKind::kChunk, middle, 0);
  }
  ASSERT_FALSE(file.empty());
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(100);
    bytes.put('\x55');
  }
  const auto store = Value(Store::Open(dir.File("store"), {.read_only = true}));
  const auto table = test::OpenTable(store.get(), "t");
  const uint32_t chunk_rows = table->info().tiers[1].chunk_rows;
  std::vector<uint64_t> rows(2000);
  for (uint64_t r = 0; r < rows.size(); ++r) rows[r] = r;
  std::vector<float> out(made.values.size(), 9.0f);
  LookupReport report;
  const Status s = table->LookupRows(rows, {}, out.data(), &report);
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_THAT(std::string(s.message()),
              HasSubstr("(rows 100.." + std::to_string(100 + chunk_rows - 1) + ")"));
  for (uint64_t r = 0; r < rows.size(); ++r) {
    const bool lost = r >= 100 && r < 100 + chunk_rows;
    ASSERT_EQ(report.states[r], lost ? RowState::kUnread : RowState::kFound) << r;
    if (lost) {
      ASSERT_EQ(out[r * kDim], 9.0f);
    }
  }
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_EQ(report.failures[0].first_row, 100u);
  const auto verified = store->Verify({});
  ASSERT_TRUE(verified.ok());
  bool named = false;
  for (const Damage& damage : verified->damages) {
    EXPECT_EQ(damage.table, "t");
    named |= damage.part == "chunk" && damage.first_row == 100 && damage.row_count == chunk_rows;
  }
  EXPECT_TRUE(named);
}
#endif

// Hot rows of a tier are pooled and cached in their own size class beside the others'.
TEST(TiersCacheTest, EachTierHasItsPlaceInTheCache) {
  std::mt19937_64 random(test::Seed(70));
  const Made made = MakeRows(2000, random);
  StoreOptions store_options;
  store_options.cache_bytes = 1 << 20;
  const auto store = test::MemoryStore(store_options);
  TableOptions options;
  options.codec = Spec("L4");
  options.hot = Hot({{500, "INT8"}});
  ASSERT_TRUE(Put(store.get(), "t", made, options).ok());
  const auto table = test::OpenTable(store.get(), "t");
  (void)RowsByNumber(*table);
  const Stats first = store->stats();
  (void)RowsByNumber(*table);
  const Stats second = store->stats();
  EXPECT_EQ(first.cache_misses, 2000u);
  EXPECT_EQ(first.cache_hits, 0u);
  EXPECT_EQ(second.cache_hits, 2000u);
  EXPECT_EQ(second.chunks_read, first.chunks_read);
}

}  // namespace
}  // namespace edo
