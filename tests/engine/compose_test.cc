// Composed tables against a plain model: for each id the rows of the parts, from lookups of their
// own tables, combined in f32 by loops; bits are equal. Every hash, operation, key mode and call of
// Table. Murmur3 words are those that thinc 9.1.1 gives (NumpyOps.hash). Records, bad input, what
// replacing, renaming and dropping parts does.
#include "edo/compose.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <future>

#include "engine/part_hash.h"
#include "storage/catalog.h"
#include "tests/engine/lookup_fixture.h"

namespace edo::test {
namespace {

using ::testing::HasSubstr;

TableOptions Dense(uint32_t dim, const char* codec = "F32") {
  TableOptions options;
  options.dim = dim;
  options.codec = *CodecSpec::Parse(codec);
  return options;
}

ComposedPart Part(std::string_view text) { return ParseComposedParts(text).value().at(0); }

uint64_t ModelRow(const ComposedPart& part, uint64_t id, uint64_t table_rows) {
  const uint64_t buckets = part.buckets == 0 ? table_rows : part.buckets;
  switch (part.hash) {
    case PartHash::kQuotient:
      return id / part.divisor;
    case PartHash::kQuotientF32:
      return static_cast<uint64_t>(static_cast<float>(id) / static_cast<float>(part.divisor));
    case PartHash::kRemainder:
      return id % part.divisor;
    case PartHash::kAffine: {
      // (a id + b) mod p by doubling, without wide numbers; p < 2^63.
      uint64_t product = 0, x = id % part.p;
      for (uint64_t a = part.a % part.p; a > 0; a >>= 1) {
        if (a & 1) product = (product + x) % part.p;
        x = 2 * x % part.p;
      }
      return (product + part.b % part.p) % part.p % buckets;
    }
    case PartHash::kMurmur3:
      return engine::Murmur3Words(id, part.seed)[part.word] % buckets;
  }
  return 0;
}

std::vector<float> ModelRowValues(const Store& store, const ComposedOptions& options, uint64_t id) {
  std::vector<float> out;
  for (size_t p = 0; p < options.parts.size(); ++p) {
    const ComposedPart& part = options.parts[p];
    const auto table = OpenTable(&store, part.table);
    const uint64_t row = ModelRow(part, id, table->info().rows);
    EXPECT_LT(row, table->info().rows);
    std::vector<float> values(table->info().dim);
    const auto key = static_cast<int64_t>(row);
    EDO_EXPECT_OK(table->Lookup(std::span(&key, 1), {}, values.data()));
    for (float& value : values) {
      volatile float weighted = part.weight * value;
      value = weighted;
    }
    if (p == 0 || options.op == ComposedOp::kConcat) {
      out.insert(out.end(), values.begin(), values.end());
      continue;
    }
    for (size_t c = 0; c < out.size(); ++c) {
      volatile float next =
          options.op == ComposedOp::kSum ? out[c] + values[c] : out[c] * values[c];
      out[c] = next;
    }
  }
  return out;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

TEST(Murmur3, WordsAreThoseOfThinc) {
  using Words = std::array<uint32_t, 4>;
  constexpr struct {
    uint64_t id;
    uint32_t seed;
    Words words;
  } kCases[] = {
      {0, 0, {3428303819, 685728695, 3303603794, 4065689084}},
      {7, 0, {629116850, 820062611, 2537516629, 243167512}},
      {0, 8, {0, 0, 0, 0}},
      {123456789, 8, {847689176, 3235222800, 1271533764, 557866904}},
      {uint64_t{1} << 63, 1, {1641175515, 320533966, 3429533087, 914146972}},
      {UINT64_MAX, 8, {2488739950, 2974852181, 1585626277, 2314794624}},
      {0x0123456789abcdef, UINT32_MAX, {3491414146, 2059185664, 2406743383, 1038593495}},
  };
  for (const auto& c : kCases) EXPECT_EQ(engine::Murmur3Words(c.id, c.seed), c.words) << c.id;
}

TEST(Composed, EveryHashOperationAndCallAgreesWithAModel) {
  const uint64_t seed = Seed(20240611);
  std::mt19937_64 random(seed);
  SCOPED_TRACE("EDO_TEST_SEED=" + std::to_string(seed));
  for (int round = 0; round < 24; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    StoreOptions store_options;
    store_options.cache_bytes = round % 3 == 0 ? 0 : 1 << 20;
    auto store = MemoryStore(store_options);
    const auto op = static_cast<ComposedOp>(round % 3);
    const bool every_id = round % 2 == 1;
    const uint32_t dim = 1 + random() % 40;
    const char* const codecs[] = {"F32", "INT8", "F16", "L4"};
    ComposedOptions options;
    options.op = op;
    options.rows = every_id ? 0 : 500 + random() % 3000;
    const size_t parts = 1 + random() % 4;
    for (size_t p = 0; p < parts; ++p) {
      const std::string name = "part" + std::to_string(p);
      const uint64_t rows = 50 + random() % 500;
      const uint32_t part_dim = op == ComposedOp::kConcat ? 1 + random() % 20 : dim;
      TableOptions table = Dense(part_dim, codecs[random() % 4]);
      EDO_ASSERT_OK(WriteTable(store.get(), name, table, rows, p).status());
      ComposedPart part;
      part.table = name;
      part.hash = static_cast<PartHash>(random() % 5);
      const bool quotient = part.hash == PartHash::kQuotient || part.hash == PartHash::kQuotientF32;
      if (quotient && every_id) part.hash = PartHash::kMurmur3;
      part.divisor = quotient ? options.rows / rows + 1 : 1 + random() % rows;
      part.a = random() >> 2;
      part.b = random() >> 2;
      part.p = (uint64_t{1} << 61) - 1;
      part.seed = static_cast<uint32_t>(random());
      part.word = random() % 4;
      part.buckets = random() % 2 ? 0 : 1 + random() % rows;
      if (random() % 3 == 0) part.weight = 0.3f;
      options.parts.push_back(part);
    }
    const auto made = ComposeTable(store.get(), "c", options);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    const auto table = OpenTable(store.get(), "c");
    const TableInfo& info = table->info();
    EXPECT_EQ(info.composition, made->composition);
    EXPECT_EQ(info.every_id, every_id);
    EXPECT_EQ(info.rows, options.rows);
    EXPECT_EQ(info.dim, ModelRowValues(*store, options, 1).size());

    // Ids, some repeated, a padding id, and missing ones where there are any.
    constexpr int64_t kPadding = 3;
    std::vector<int64_t> ids;
    std::vector<uint64_t> rows;
    for (int i = 0; i < 150; ++i) {
      const uint64_t id = every_id ? random() : random() % (options.rows + options.rows / 8);
      ids.push_back(static_cast<int64_t>(i % 10 == 0 ? kPadding : id));
      rows.push_back(static_cast<uint64_t>(ids.back()));
    }
    const auto held = [&](int64_t id) {
      return every_id || static_cast<uint64_t>(id) < options.rows;
    };
    std::vector<float> expected(ids.size() * info.dim, -7.0f);
    std::vector<RowState> states(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      float* const row = expected.data() + i * info.dim;
      states[i] = ids[i] == kPadding ? RowState::kPadding
                  : held(ids[i])     ? RowState::kFound
                                     : RowState::kMissing;
      if (states[i] == RowState::kPadding) std::fill_n(row, info.dim, 0.0f);
      if (states[i] != RowState::kFound) continue;
      const auto values = ModelRowValues(*store, options, rows[i]);
      std::copy(values.begin(), values.end(), row);
    }
    LookupOptions lookup;
    lookup.on_missing = OnMissing::kMark;
    lookup.padding_id = kPadding;
    const std::span<const int64_t> id_span(ids);
    LookupReport report;
    std::vector<float> out(expected.size(), -7.0f);
    EDO_ASSERT_OK(table->Lookup(id_span, lookup, out.data(), &report));
    EXPECT_TRUE(SameBits(out, expected));
    EXPECT_EQ(report.states, states);
    const auto padding = std::count(states.begin(), states.end(), RowState::kPadding);
    EXPECT_EQ(report.found + report.missing + static_cast<uint64_t>(padding), ids.size());

    // Cut rows, a stride, halves.
    lookup.dims = 1 + random() % info.dim;
    lookup.out_stride = lookup.dims + 3;
    lookup.out_type = FloatType::kBF16;
    std::vector<uint16_t> halves(ids.size() * lookup.out_stride, 0x1234);
    EDO_ASSERT_OK(table->Lookup(id_span, lookup, halves.data()));
    for (size_t i = 0; i < ids.size(); ++i) {
      for (uint32_t c = 0; c < lookup.out_stride; ++c) {
        const bool written = c < lookup.dims && states[i] != RowState::kMissing;
        uint32_t bits = 0;
        std::memcpy(&bits, &expected[i * info.dim + std::min(c, info.dim - 1)], 4);
        const auto rounded = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        ASSERT_EQ(halves[i * lookup.out_stride + c], written ? rounded : 0x1234);
      }
    }
    lookup.dims = 0;
    lookup.out_stride = 0;
    lookup.out_type = FloatType::kF32;

    // Bags.
    Bags bags;
    const auto offsets = SomeOffsets(ids.size(), random);
    bags.offsets = offsets;
    std::vector<float> weights(ids.size());
    for (float& w : weights) w = static_cast<float>(random() % 100) / 32.0f;
    for (int kind = 0; kind < 3; ++kind) {
      bags.mode = kind == 1 ? PoolMode::kMean : PoolMode::kSum;
      bags.weights = kind == 2 ? std::span<const float>(weights) : std::span<const float>();
      std::vector<float> sums(offsets.size() * info.dim);
      for (size_t b = 0; b < offsets.size(); ++b) {
        const uint64_t end = b + 1 < offsets.size() ? offsets[b + 1] : ids.size();
        uint64_t present = 0;
        for (uint64_t i = offsets[b]; i < end; ++i) {
          if (states[i] != RowState::kFound) continue;
          ++present;
          for (uint32_t c = 0; c < info.dim; ++c) {
            volatile float value = expected[i * info.dim + c];
            if (kind == 2) value = weights[i] * value;
            sums[b * info.dim + c] = sums[b * info.dim + c] + value;
          }
        }
        for (uint32_t c = 0; kind == 1 && present > 0 && c < info.dim; ++c) {
          sums[b * info.dim + c] /= static_cast<float>(present);
        }
      }
      std::vector<float> pooled(sums.size(), -1.0f);
      EDO_ASSERT_OK(table->LookupBags(id_span, bags, lookup, pooled.data(), &report));
      EXPECT_TRUE(SameBits(pooled, sums)) << kind;
      EXPECT_EQ(report.states, states);
      std::vector<float> on_device(sums.size(), -1.0f);
      auto device = table->LookupBagsOnDevice(id_span, bags, lookup, on_device.data());
      ASSERT_TRUE(device.ok()) << device.status().ToString();
      EDO_ASSERT_OK((*device)->Finish(&report));
      EXPECT_TRUE(SameBits(on_device, sums));
    }

    // On device, ahead of need, loops.
    std::vector<float> on_device(expected.size(), -7.0f);
    auto device = table->LookupOnDevice(id_span, lookup, on_device.data());
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    EXPECT_TRUE(*(*device)->IsReady());
    EDO_ASSERT_OK((*device)->Finish(&report));
    EXPECT_TRUE(SameBits(on_device, expected));
    EXPECT_EQ(report.states, states);
    auto ticket = table->Prefetch(id_span);
    ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
    std::promise<Status> done;
    (*ticket)->OnDone([&](const Status& s) { done.set_value(s); });
    EDO_ASSERT_OK((*ticket)->Wait());
    EDO_ASSERT_OK(done.get_future().get());
    EXPECT_TRUE((*ticket)->IsReady());
    EXPECT_EQ((*ticket)->report().keys, ids.size());
    for (const bool on_gpu : {false, true}) {
      PipelineOptions loop;
      loop.lookup = lookup;
      loop.lookup.on_missing = OnMissing::kZero;
      loop.on_device = on_gpu;
      int left = 5;
      auto pipeline = table->MakePipeline(
          [&](KeyBatch* batch) -> Result<bool> {
            batch->ids = ids;
            return left-- > 0;
          },
          loop);
      ASSERT_TRUE(pipeline.ok());
      uint64_t batches = 0;
      PipelineBatch batch;
      for (; *(*pipeline)->Next(&batch); ++batches) {
        EDO_ASSERT_OK(batch.status);
        const auto* values = static_cast<const float*>(batch.data);
        for (size_t i = 0; i < ids.size(); ++i) {
          if (states[i] == RowState::kMissing) continue;
          ASSERT_TRUE(SameBits({values + i * info.dim, info.dim},
                               std::span(expected).subspan(i * info.dim, info.dim)));
        }
      }
      EXPECT_EQ(batches, 5u);
      EXPECT_EQ((*pipeline)->stats().rows, 5 * ids.size());
    }
    ticket->reset();  // rows that it keeps are not read again
    BulkOptions bulk;
    bulk.lookup = lookup;
    bulk.window_bytes = round % 4 == 0 ? 20000 : 1 << 20;
    int left = 3;
    uint64_t seen = 0;
    BulkReport told;
    EDO_ASSERT_OK(table->BulkLookup(
        [&](KeyBatch* batch) -> Result<bool> {
          batch->ids = ids;
          return left-- > 0;
        },
        bulk,
        [&](const BulkRows& got) {
          for (uint64_t i = 0; i < got.count; ++i, ++seen) {
            const size_t at = seen % ids.size();
            EXPECT_EQ(got.states[i], states[at]);
            if (states[at] != RowState::kFound) continue;
            EXPECT_TRUE(SameBits(got.values.subspan(i * info.dim, info.dim),
                                 std::span(expected).subspan(at * info.dim, info.dim)));
          }
          return Status::Ok();
        },
        &told));
    EXPECT_EQ(seen, 3 * ids.size());
    EXPECT_TRUE(told.complete);
    EXPECT_GT(told.chunks, 0u);

    EXPECT_TRUE(*table->Contains(int64_t{1}));
    EXPECT_EQ(*table->Contains(int64_t{-1}), every_id);
    if (every_id) {
      EXPECT_EQ(table->LookupRows(rows, {}, out.data()).code(), StatusCode::kUnsupported);
      EXPECT_EQ(table->FindRows(id_span).status().code(), StatusCode::kUnsupported);
      EXPECT_EQ(table->Scan({}).status().code(), StatusCode::kUnsupported);
      EXPECT_EQ(table->PrefetchRows(rows).status().code(), StatusCode::kUnsupported);
      continue;
    }
    lookup.padding_id.reset();
    std::vector<float> by_row(expected.size(), -7.0f), by_id = by_row;
    EDO_ASSERT_OK(table->LookupRows(rows, lookup, by_row.data()));
    EDO_ASSERT_OK(table->Lookup(id_span, lookup, by_id.data()));
    EXPECT_TRUE(SameBits(by_row, by_id));
    std::vector<float> from_device(expected.size(), -7.0f);
    auto rows_on_device =
        table->LookupRowsOnDevice(ids.data(), ids.size(), lookup, from_device.data());
    ASSERT_TRUE(rows_on_device.ok());
    EDO_ASSERT_OK((*rows_on_device)->Finish());
    EXPECT_TRUE(SameBits(from_device, by_id));
    EDO_ASSERT_OK((*table->PrefetchRows(rows))->Wait());
    EXPECT_EQ((*table->FindRows(id_span))[1], held(ids[1]) ? rows[1] : Table::kMissingRow);
    EXPECT_EQ(table->IntKeysOf(std::vector<uint64_t>{2, 0}).value(), (std::vector<int64_t>{2, 0}));
    EXPECT_FALSE(table->IntKeysOf(std::vector<uint64_t>{options.rows}).ok());
    auto scan = table->Scan({.first_row = 7, .row_count = 20});
    ASSERT_TRUE(scan.ok());
    ScanBatch batch;
    ASSERT_TRUE(*(*scan)->Next(&batch));
    ASSERT_EQ(batch.row_count, 20u);
    EXPECT_TRUE(
        SameBits(batch.values.subspan(info.dim, info.dim), ModelRowValues(*store, options, 8)));
    EXPECT_FALSE(*(*scan)->Next(&batch));
    lookup.on_missing = OnMissing::kError;
    const int64_t beyond = -5;
    EXPECT_EQ(table->Lookup(std::span(&beyond, 1), lookup, out.data()).code(),
              StatusCode::kNotFound);
    const auto verify = store->Verify({.table = "c", .progress = {}});
    ASSERT_TRUE(verify.ok());
    EXPECT_TRUE(verify->damages.empty());
  }
}

TEST(Composed, WordsOfPartsAreReadAndWrittenBack) {
  for (const char* text : {"u.q:quotient:1000", "a:b:remainder:7", "t:affine:5:6:101:10",
                           "t:murmur3:8:3:2000*0.25", "q:quotient-f32:4", "x:remainder:3*-1.5"}) {
    EXPECT_EQ(ComposedPartText(Part(text)), text);
  }
  const auto four = ParseComposedParts("E:murmur3:9*2");
  ASSERT_TRUE(four.ok());
  ASSERT_EQ(four->size(), 4u);
  for (uint32_t w = 0; w < 4; ++w) EXPECT_EQ((*four)[w].word, w);
  EXPECT_EQ((*four)[3].weight, 2.0f);
  for (const char* text :
       {"", "t", "t:", ":quotient:3", "t:quotient", "t:quotient:", "t:quotient:0", "t:quotient:-1",
        "t:quotient:1:2", "t:remainder:x", "t:affine:1:2", "t:affine:1:2:0", "t:murmur3:1:4",
        "t:murmur3:4294967296", "t:murmur3:1:2:0", "t:remainder:3*nan", "t:remainder:3*",
        "t:hash:3", "t:remainder:18446744073709551616"}) {
    const auto bad = ParseComposedParts(text);
    EXPECT_EQ(bad.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(bad.status().message()), HasSubstr("expected")) << text;
  }
}

class ComposedStore : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = MemoryStore({});
    EDO_ASSERT_OK(WriteTable(store_.get(), "q", Dense(4), 10).status());
    EDO_ASSERT_OK(WriteTable(store_.get(), "r", Dense(4), 100).status());
    EDO_ASSERT_OK(WriteTable(store_.get(), "wide", Dense(5), 100).status());
    TableOptions text = Dense(4);
    text.key_kind = KeyKind::kText;
    EDO_ASSERT_OK(WriteTable(store_.get(), "text", text, 100).status());
  }
  ComposedOptions Qr(uint64_t rows = 1000) const {
    ComposedOptions options;
    options.op = ComposedOp::kProduct;
    options.parts = {Part("q:quotient:100"), Part("r:remainder:100")};
    options.rows = rows;
    return options;
  }
  Status Compose(const ComposedOptions& options, const char* name = "c") {
    return ComposeTable(store_.get(), name, options).status();
  }
  std::unique_ptr<Store> store_;
};

TEST_F(ComposedStore, WhatDoesNotFitIsRefusedAndLeavesNothing) {
  const struct {
    std::vector<const char*> parts;
    uint64_t rows;
    StatusCode code;
    const char* says;
  } cases[] = {
      {{}, 5, StatusCode::kInvalidArgument, "0 parts"},
      {{"q:quotient:100"}, 1001, StatusCode::kInvalidArgument, "has 10 rows; 11 are needed"},
      {{"r:remainder:101"}, 0, StatusCode::kInvalidArgument, "101 are needed"},
      {{"q:quotient:100"}, 0, StatusCode::kInvalidArgument, "rows is 0"},
      {{"r:murmur3:1:0:101"}, 0, StatusCode::kInvalidArgument, "101 are needed"},
      {{"r:remainder:9", "wide:remainder:9"}, 9, StatusCode::kInvalidArgument, "dim 5"},
      {{"text:remainder:9"}, 9, StatusCode::kInvalidArgument, "text keys"},
      {{"none:remainder:9"}, 9, StatusCode::kNotFound, "'none'"},
      {{"c:remainder:9"}, 9, StatusCode::kInvalidArgument, "part of itself"},
      {{"r:remainder:9"}, kMaxRows + 1, StatusCode::kInvalidArgument, "at most"},
  };
  for (const auto& c : cases) {
    ComposedOptions options;
    options.rows = c.rows;
    for (const char* part : c.parts) options.parts.push_back(Part(part));
    const Status s = Compose(options);
    EXPECT_EQ(s.code(), c.code) << c.says;
    EXPECT_THAT(s.ToString(), HasSubstr(c.says));
    EXPECT_EQ(store_->Tables().size(), 4u);
  }
  EXPECT_EQ(Compose(Qr(), "").code(), StatusCode::kInvalidArgument);
  EDO_ASSERT_OK(Compose(Qr()));
  EXPECT_EQ(Compose(Qr()).code(), StatusCode::kAlreadyExists);
  ComposedOptions again = Qr();
  again.replace = true;
  EDO_ASSERT_OK(Compose(again));
  ComposedOptions of_composed;
  of_composed.parts = {Part("c:remainder:3")};
  EXPECT_THAT(Compose(of_composed, "d").ToString(), HasSubstr("is a composed table"));
  ComposedOptions over_part;
  over_part.parts = {Part("wide:remainder:3")};
  over_part.replace = true;
  EXPECT_THAT(Compose(over_part, "q").ToString(), HasSubstr("is a part of composed table 'c'"));
}

TEST_F(ComposedStore, PartsCannotBeDroppedAndRenamesAreFollowed) {
  EDO_ASSERT_OK(Compose(Qr()));
  const Status drop = store_->DropTable("q");
  EXPECT_EQ(drop.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(drop.ToString(), HasSubstr("'q' is a part of table 'c'"));
  std::vector<float> before(4), after(4);
  const int64_t id = 345;
  EDO_ASSERT_OK(OpenTable(store_.get(), "c")->Lookup(std::span(&id, 1), {}, before.data()));
  EDO_ASSERT_OK(store_->RenameTable("q", "q2"));
  EDO_ASSERT_OK(store_->RenameTable("c", "d"));
  const auto renamed = OpenTable(store_.get(), "d");
  EXPECT_EQ(renamed->info().composition, "product(q2:quotient:100, r:remainder:100)");
  EDO_ASSERT_OK(renamed->Lookup(std::span(&id, 1), {}, after.data()));
  EXPECT_EQ(before, after);
  EDO_ASSERT_OK(store_->SetMetadata("d", {{"note", "x"}}));
  EDO_ASSERT_OK(store_->DropTable("d"));
  EDO_ASSERT_OK(store_->DropTable("q2"));
}

TEST_F(ComposedStore, AReplacedPartIsSeenByNewHandlesOnlyAndMustStillFit) {
  EDO_ASSERT_OK(Compose(Qr()));
  const auto old = OpenTable(store_.get(), "c");
  std::vector<float> before(4), now(4);
  const int64_t id = 345;
  EDO_ASSERT_OK(old->Lookup(std::span(&id, 1), {}, before.data()));
  EDO_ASSERT_OK(Rewrite(store_.get(), "q", Dense(4), 10, 7));
  EDO_ASSERT_OK(old->Lookup(std::span(&id, 1), {}, now.data()));
  EXPECT_EQ(now, before);
  EDO_ASSERT_OK(OpenTable(store_.get(), "c")->Lookup(std::span(&id, 1), {}, now.data()));
  EXPECT_NE(now, before);
  EDO_ASSERT_OK(Rewrite(store_.get(), "q", Dense(4), 9));
  const Status short_of = store_->OpenTable("c").status();
  EXPECT_EQ(short_of.code(), StatusCode::kCorruption);
  EXPECT_THAT(short_of.ToString(), HasSubstr("composed table 'c': part 'q:quotient:100': table 'q' "
                                             "has 9 rows; 10 are needed"));
  for (const TableInfo& info : store_->Tables()) {
    EXPECT_EQ(info.unfit,
              info.name == "c" ? "part 'q:quotient:100': table 'q' has 9 rows; 10 are needed" : "");
  }
  const auto verify = store_->Verify({});
  ASSERT_TRUE(verify.ok());
  EXPECT_TRUE(verify->damages.empty());  // no byte is
  ASSERT_EQ(verify->unfit.size(), 1u);
  EXPECT_EQ(verify->unfit[0].table, "c");
  EXPECT_EQ(verify->unfit[0].what, "part 'q:quotient:100': table 'q' has 9 rows; 10 are needed");
  EXPECT_TRUE(store_->Verify({.table = "r", .progress = {}})->unfit.empty());
  EDO_ASSERT_OK(Rewrite(store_.get(), "q", Dense(6), 10));
  EXPECT_THAT(store_->OpenTable("c").status().ToString(), HasSubstr("one dim"));
}

// Every composed table that a new part leaves without what it needs is named to the log, once.
TEST(ComposedWarning, OfAPartThatNoLongerFits) {
  std::vector<std::string> warnings;
  StoreOptions store_options;
  store_options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  };
  const auto store = MemoryStore(store_options);
  EDO_ASSERT_OK(WriteTable(store.get(), "q", Dense(4), 10).status());
  EDO_ASSERT_OK(WriteTable(store.get(), "r", Dense(4), 10).status());
  ComposedOptions options;
  for (const char* part : {"q:remainder:10", "q:remainder:9", "r:remainder:10"}) {
    options.parts = {Part(part)};
    options.rows = 10;
    EDO_ASSERT_OK(ComposeTable(store.get(), std::string("of ") + part, options).status());
  }
  EDO_ASSERT_OK(Rewrite(store.get(), "q", Dense(4), 11, 7));
  EXPECT_THAT(warnings, ::testing::IsEmpty());
  EDO_ASSERT_OK(Rewrite(store.get(), "q", Dense(4), 9, 7));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("composed table 'of q:remainder:10'"));
  EDO_ASSERT_OK(Rewrite(store.get(), "q", Dense(4), 8, 7));
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_THAT(warnings[2], HasSubstr("composed table 'of q:remainder:9'"));
  EXPECT_THAT(warnings[2], HasSubstr("table 'q' has 8 rows; 9 are needed"));
}

TEST_F(ComposedStore, QuotientsInBinary32AreThoseOfDlrmBeyondTwentyFourBits) {
  const uint64_t id = (uint64_t{1} << 24) + 1;  // as f32: 2^24
  int64_t exact = 0, f32 = 0;
  engine::PartRows(Part("t:quotient:1"), std::span(&id, 1), &exact);
  engine::PartRows(Part("t:quotient-f32:1"), std::span(&id, 1), &f32);
  EXPECT_EQ(exact, (1 << 24) + 1);
  EXPECT_EQ(f32, 1 << 24);
}

// docs/format.md, "Composed tables": its example, byte for byte.
// Tickets of the parts live side by side: what the largest rows of both may need must fit, else one
// would wait for room that the other holds.
TEST(ComposedPrefetch, TheLargestRowsOfItsPartsMustFit) {
  StoreOptions store_options;
  store_options.prefetch_bytes = 9000;
  store_options.cache_bytes = 0;
  const auto store = MemoryStore(store_options);
  TableOptions part;
  part.dim = 16;
  part.codec = *CodecSpec::Parse("L4");
  part.hot = {{.rows = 150, .codec = *CodecSpec::Parse("F32")}};
  for (const char* name : {"q", "r"}) {
    ASSERT_TRUE(WriteTable(store.get(), name, part, 200).ok());
  }
  ComposedOptions options;
  options.parts = *ParseComposedParts("q:remainder:200");
  options.parts.push_back((*ParseComposedParts("r:remainder:200"))[0]);
  options.rows = 200;
  ASSERT_TRUE(ComposeTable(store.get(), "t", options).ok());
  const auto table = OpenTable(store.get(), "t");
  std::vector<int64_t> ids(100);
  std::iota(ids.begin(), ids.end(), int64_t{0});  // two of 8000 bytes
  const std::span<const int64_t> all(ids);
  EXPECT_EQ(table->Prefetch(all).status().code(), StatusCode::kInvalidArgument);
  const auto ticket = table->Prefetch(all.first(50));
  ASSERT_TRUE(ticket.ok()) << ticket.status().ToString();
  EDO_EXPECT_OK((*ticket)->Wait());
}

TEST(ComposedRecord, FieldsAreThoseOfTheFormat) {
  storage::TableRecord record;
  record.info.name = "users";
  record.info.dim = 4;
  record.info.rows = 1000;
  record.info.generation = 3;
  record.info.row_bytes = 16;
  record.composition.emplace();
  record.composition->op = ComposedOp::kProduct;
  record.composition->parts = {Part("q:quotient:100"), Part("r:murmur3:8:2:100*0.5")};
  const std::string bytes = storage::EncodeTableRecord(record);
  const auto text = [](std::initializer_list<int> numbers) {
    return std::string(numbers.begin(), numbers.end());
  };
  const std::string op = text({0x2c, 0x80, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0});
  std::string first = text({0x2d, 0x80, 0x26, 0, 0, 0, 0, 0x64});
  first += std::string(7 + 24, '\0') + text({0, 0, 0x80, 0x3f, 'q'});
  std::string second = text({0x2d, 0x80, 0x26, 0, 0, 0, 3, 8});
  second += std::string(7, '\0') + text({2}) + std::string(15, '\0') + text({0x64}) +
            std::string(7, '\0') + text({0, 0, 0, 0x3f, 'r'});
  const size_t at = bytes.find(op);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(bytes.substr(at, bytes.size() - at - 8), op + first + second);
  const auto back = storage::DecodeTableRecord("users", bytes);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(storage::EncodeTableRecord(*back), bytes);
  EXPECT_EQ(back->info.composition, "product(q:quotient:100, r:murmur3:8:2:100*0.5)");
  record.info.chunk_count = 1;
  EXPECT_EQ(storage::DecodeTableRecord("users", storage::EncodeTableRecord(record)).status().code(),
            StatusCode::kCorruption);
}

#if !defined(__SANITIZE_THREAD__)
TEST(ComposedOnDisk, ReopensAndADamagedPartLeavesItsRowsUnread) {
  const TempDir dir;
  std::vector<float> before(1000 * 8);
  std::vector<int64_t> ids(1000);
  for (int i = 0; i < 1000; ++i) ids[static_cast<size_t>(i)] = i;
  {
    auto store = NewStore(StoreBody::kRocksdb, dir.File("s"));
    EDO_ASSERT_OK(WriteTable(store.get(), "q", Dense(8), 10).status());
    EDO_ASSERT_OK(WriteTable(store.get(), "r", Dense(8), 1000).status());
    ComposedOptions options;
    options.parts = {Part("q:quotient:100"), Part("r:remainder:1000")};
    options.rows = 1000;
    EDO_ASSERT_OK(ComposeTable(store.get(), "c", options).status());
    EDO_ASSERT_OK(
        OpenTable(store.get(), "c")->Lookup(std::span<const int64_t>(ids), {}, before.data()));
  }
  auto store = Store::Open(dir.File("s"));
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  std::vector<float> now(before.size());
  EDO_ASSERT_OK(
      OpenTable(store->get(), "c")->Lookup(std::span<const int64_t>(ids), {}, now.data()));
  EXPECT_EQ(now, before);
  store = Status::NotFound("closed");
  // A byte in the second chunk of the large part.
  for (const auto& file : std::filesystem::directory_iterator(dir.File("s"))) {
    if (file.path().extension() != ".sst" || file.file_size() < 30000) continue;
    std::string bytes = ReadFile(file.path());
    bytes[4096 + 500] ^= 1;
    WriteFile(file.path(), bytes);
  }
  store = Store::Open(dir.File("s"), {.read_only = true});
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  const auto table = OpenTable(store->get(), "c");
  std::fill(now.begin(), now.end(), -9.0f);
  LookupReport report;
  const Status s = table->Lookup(std::span<const int64_t>(ids), {}, now.data(), &report);
  EXPECT_EQ(s.code(), StatusCode::kCorruption) << s.ToString();
  EXPECT_THAT(s.ToString(), HasSubstr("table 'c': table 'r'"));
  EXPECT_GT(report.unread, 0u);
  EXPECT_EQ(report.found + report.unread, 1000u);
  for (size_t i = 0; i < 1000; ++i) {
    const bool unread = report.states[i] == RowState::kUnread;
    for (size_t c = 0; c < 8; ++c) ASSERT_EQ(now[i * 8 + c], unread ? -9.0f : before[i * 8 + c]);
  }
  std::vector<float> bag(8, -9.0f);
  const std::vector<uint64_t> offsets{0};
  EXPECT_FALSE(
      table->LookupBags(std::span<const int64_t>(ids), {.offsets = offsets}, {}, bag.data()).ok());
  EXPECT_EQ(bag[0], -9.0f);
  const auto verify = (*store)->Verify({.table = "c", .progress = {}});
  ASSERT_TRUE(verify.ok());
  EXPECT_FALSE(verify->damages.empty());
}
#endif

}  // namespace
}  // namespace edo::test
