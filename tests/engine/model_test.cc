// Random operations on a store against a plain model: import, replace, refused duplicates, dropped
// writers, drop, rename, metadata, lookups by key and row, scans, reopening, verify. One seed
// decides everything; a failure prints it and EDO_TEST_SEED=N replays it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "edo/store.h"
#include "tests/support/stores.h"

namespace edo {
namespace {

struct ModelTable {
  KeyKind kind = KeyKind::kDense;
  uint32_t dim = 0;
  std::vector<std::string> texts;
  std::vector<int64_t> ints;
  std::vector<float> values;
  Metadata metadata;
  uint64_t rows() const { return values.size() / dim; }
};

class Simulation {
 public:
  Simulation(test::StoreBody body, uint64_t seed)
      : body_(body), random_(seed), store_(test::NewStore(body, dir_.File("s"))) {}

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      switch (random_() % 12) {
        case 0:
        case 1:
        case 2:
          Write();
          break;
        case 3:
          WriteDuplicates();
          break;
        case 4:
          Drop();
          break;
        case 5:
          Rename();
          break;
        case 6:
          Annotate();
          break;
        case 7:
          Reopen();
          break;
        case 8:
          Scan();
          break;
        default:
          Look();
          break;
      }
    }
    if (::testing::Test::HasFatalFailure()) return;
    Look();
    const auto report = store_->Verify({});
    ASSERT_TRUE(report.ok());
    for (const Damage& d : report->damages) ADD_FAILURE() << d.file << ": " << d.what;
  }

 private:
  std::string Name() { return "t" + std::to_string(random_() % 4); }

  std::string RandomKey() {
    static const std::string kBytes(
        "\0\n\t ,\"\xff\xe5"
        "ab",
        10);
    std::string key(random_() % 6, ' ');
    for (char& c : key) c = kBytes[random_() % kBytes.size()];
    if (random_() % 50 == 0) key.append(random_() % 3000, 'x');
    return key;
  }

  ModelTable RandomTable() {
    ModelTable t;
    t.kind = static_cast<KeyKind>(random_() % 3);
    static constexpr uint32_t kDims[] = {1, 2, 7, 33, 400};
    t.dim = kDims[random_() % 5];
    const uint64_t rows = random_() % (random_() % 10 == 0 ? 5000 : 300);
    std::set<std::string> texts;
    std::set<int64_t> ints;
    for (uint64_t r = 0; r < rows; ++r) {
      if (t.kind == KeyKind::kText) {
        std::string key = RandomKey();
        while (!texts.insert(key).second) key += std::to_string(random_() % 1000);
        t.texts.push_back(key);
      } else if (t.kind == KeyKind::kInt64) {
        auto key = static_cast<int64_t>(random_() % 3 == 0 ? random_() : random_() % 1000);
        while (!ints.insert(key).second) ++key;
        t.ints.push_back(key);
      }
    }
    t.values = test::RowsOf(random_() % 1000, rows, t.dim, random_());
    return t;
  }

  Status Put(const std::string& name, const ModelTable& t, OnDuplicate policy, bool commit) {
    TableOptions options;
    options.key_kind = t.kind;
    options.dim = t.dim;
    options.replace = true;
    options.on_duplicate = policy;
    options.metadata = t.metadata;
    options.compression = static_cast<Compression>(random_() % 3);
    EDO_ASSIGN_OR_RETURN(auto writer, store_->CreateTable(name, options));
    const std::vector<std::string_view> views(t.texts.begin(), t.texts.end());
    for (uint64_t begin = 0; begin < t.rows();) {
      const uint64_t n = std::min<uint64_t>(1 + random_() % 200, t.rows() - begin);
      TableWriter::Rows rows;
      rows.values = std::span(t.values).subspan(begin * t.dim, n * t.dim);
      if (t.kind == KeyKind::kText) rows.text_keys = std::span(views).subspan(begin, n);
      if (t.kind == KeyKind::kInt64) rows.int_keys = std::span(t.ints).subspan(begin, n);
      EDO_RETURN_IF_ERROR(writer->Append(rows));
      begin += n;
    }
    return commit ? writer->Commit().status() : Status::Ok();
  }

  void Write() {
    const std::string name = Name();
    const ModelTable t = RandomTable();
    const bool commit = random_() % 5 != 0;
    EDO_ASSERT_OK(Put(name, t, OnDuplicate::kError, commit));
    if (commit) model_[name] = t;
  }

  // A table in which some keys repeat, under each policy.
  void WriteDuplicates() {
    ModelTable t = RandomTable();
    if (t.kind == KeyKind::kDense || t.rows() < 2) return;
    for (int i = 0; i < 3; ++i) {
      const uint64_t from = random_() % t.rows();
      const uint64_t to = random_() % t.rows();
      if (t.kind == KeyKind::kText) t.texts[to] = t.texts[from];
      if (t.kind == KeyKind::kInt64) t.ints[to] = t.ints[from];
    }
    const std::string name = Name();
    const auto policy = static_cast<OnDuplicate>(random_() % 3);
    // Which rows stay, by the plain meaning of the policy.
    std::map<std::string, uint64_t> kept;
    bool repeats = false;
    const auto key_of = [&](uint64_t r) {
      return t.kind == KeyKind::kText ? t.texts[r] : std::to_string(t.ints[r]);
    };
    for (uint64_t r = 0; r < t.rows(); ++r) {
      const auto [at, fresh] = kept.insert({key_of(r), r});
      repeats |= !fresh;
      if (!fresh && policy == OnDuplicate::kLast) at->second = r;
    }
    const Status s = Put(name, t, policy, true);
    if (policy == OnDuplicate::kError && repeats) {
      ASSERT_EQ(s.code(), StatusCode::kBadInput);
      return;
    }
    EDO_ASSERT_OK(s);
    ModelTable smaller;
    smaller.kind = t.kind;
    smaller.dim = t.dim;
    for (uint64_t r = 0; r < t.rows(); ++r) {
      if (kept[key_of(r)] != r) continue;
      if (t.kind == KeyKind::kText) smaller.texts.push_back(t.texts[r]);
      if (t.kind == KeyKind::kInt64) smaller.ints.push_back(t.ints[r]);
      smaller.values.insert(smaller.values.end(),
                            t.values.begin() + static_cast<ptrdiff_t>(r * t.dim),
                            t.values.begin() + static_cast<ptrdiff_t>((r + 1) * t.dim));
    }
    model_[name] = smaller;
  }

  void Drop() {
    const std::string name = Name();
    const Status s = store_->DropTable(name);
    ASSERT_EQ(s.ok(), model_.erase(name) == 1) << s.ToString();
  }

  void Rename() {
    const std::string from = Name(), to = Name();
    const bool possible = model_.contains(from) && (from == to || !model_.contains(to));
    ASSERT_EQ(store_->RenameTable(from, to).ok(), possible);
    if (!possible || from == to) return;
    model_[to] = model_[from];
    model_.erase(from);
  }

  void Annotate() {
    const std::string name = Name();
    if (!model_.contains(name)) return;
    EDO_ASSERT_OK(store_->SetMetadata(name, {{"n", std::to_string(random_() % 9)}}));
    auto table = store_->OpenTable(name);
    ASSERT_TRUE(table.ok());
    model_[name].metadata = (*table)->info().metadata;
    ASSERT_EQ(model_[name].metadata.size(), 1u);
  }

  void Reopen() {
    if (body_ == test::StoreBody::kMemory) return;
    store_.reset();
    auto store = edo::Store::Open(
        dir_.File("s"), {.direct_reads = random_() % 2 == 0, .io_uring = random_() % 2 == 0});
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = std::move(*store);
    CompareNames();
  }

  void CompareNames() {
    std::vector<std::string> names, expected;
    for (const TableInfo& info : store_->Tables()) names.push_back(info.name);
    for (const auto& [name, t] : model_) expected.push_back(name);
    ASSERT_EQ(names, expected);
  }

  void Look() {
    CompareNames();
    for (const auto& [name, t] : model_) {
      auto table = store_->OpenTable(name);
      ASSERT_TRUE(table.ok()) << table.status().ToString();
      ASSERT_EQ((*table)->info().rows, t.rows());
      std::vector<uint64_t> rows;  // and, now and then, one that is not there
      for (int i = 0; i < 60; ++i) rows.push_back(random_() % (t.rows() + 3));
      std::vector<float> out(rows.size() * t.dim, 7.0f);
      LookupReport report;
      if (t.kind == KeyKind::kText) {
        std::vector<std::string> keys;
        for (const uint64_t r : rows) keys.push_back(r < t.rows() ? t.texts[r] : "absent!");
        const std::vector<std::string_view> views(keys.begin(), keys.end());
        EDO_ASSERT_OK(
            (*table)->Lookup(std::span<const std::string_view>(views), {}, out.data(), &report));
      } else if (t.kind == KeyKind::kInt64) {
        const std::set<int64_t> all(t.ints.begin(), t.ints.end());
        int64_t absent = -77;
        while (all.contains(absent)) --absent;
        std::vector<int64_t> keys;
        for (const uint64_t r : rows) keys.push_back(r < t.rows() ? t.ints[r] : absent);
        EDO_ASSERT_OK((*table)->Lookup(std::span<const int64_t>(keys), {}, out.data(), &report));
      } else {
        EDO_ASSERT_OK((*table)->LookupRows(rows, {}, out.data(), &report));
      }
      for (size_t i = 0; i < rows.size(); ++i) {
        const bool there = rows[i] < t.rows();
        ASSERT_EQ(report.states[i], there ? RowState::kFound : RowState::kMissing);
        for (uint32_t c = 0; c < t.dim; ++c) {
          ASSERT_EQ(out[i * t.dim + c], there ? t.values[rows[i] * t.dim + c] : 0.0f)
              << name << " row " << rows[i];
        }
      }
    }
  }

  void Scan() {
    for (const auto& [name, t] : model_) {
      auto table = store_->OpenTable(name);
      ASSERT_TRUE(table.ok());
      auto scan = (*table)->Scan({});
      ASSERT_TRUE(scan.ok());
      uint64_t row = 0;
      for (;;) {
        ScanBatch batch;
        const auto more = (*scan)->Next(&batch);
        ASSERT_TRUE(more.ok()) << more.status().ToString();
        if (!*more) break;
        for (uint64_t i = 0; i < batch.row_count; ++i, ++row) {
          if (t.kind == KeyKind::kText) {
            ASSERT_EQ(batch.text_keys[i], t.texts[row]);
          } else if (t.kind == KeyKind::kInt64) {
            ASSERT_EQ(batch.int_keys[i], t.ints[row]);
          }
          ASSERT_TRUE(std::equal(t.values.begin() + static_cast<ptrdiff_t>(row * t.dim),
                                 t.values.begin() + static_cast<ptrdiff_t>((row + 1) * t.dim),
                                 batch.values.begin() + static_cast<ptrdiff_t>(i * t.dim)));
        }
      }
      ASSERT_EQ(row, t.rows());
    }
  }

  const test::StoreBody body_;
  test::TempDir dir_;
  std::mt19937_64 random_;
  std::unique_ptr<edo::Store> store_;
  std::map<std::string, ModelTable> model_;
};

class ModelTest : public ::testing::TestWithParam<test::StoreBody> {};
INSTANTIATE_TEST_SUITE_P(Bodies, ModelTest, ::testing::ValuesIn(test::StoreBodies()),
                         test::BodyName);

TEST_P(ModelTest, RandomOperationsAgreeWithTheModel) {
  const uint64_t seed = test::Seed(42);
  for (uint64_t s = seed; s < seed + 3 && !HasFatalFailure(); ++s) {
    SCOPED_TRACE("seed " + std::to_string(s));
    Simulation(GetParam(), s).Run(120);
  }
}

}  // namespace
}  // namespace edo
