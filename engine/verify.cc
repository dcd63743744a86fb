#include "engine/verify.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "engine/lookup.h"
#include "storage/codec.h"
#include "storage/key_page.h"
#include "storage/learned_pages.h"
#include "storage/order_page.h"
#include "storage/size_page.h"
#include "storage/store_file.h"

namespace edo::engine {
namespace {

using storage::PageKind;
using storage::PageView;
using storage::TableRecord;

constexpr uint64_t kPagesAStep = 1024;
constexpr size_t kMostDamages = 10000;  // listed; a disk full of zeros has millions

// Sum over (bucket, fingerprint or hash, row) of every key, whatever their order: equal on both
// sides when the index holds exactly the keys of the key pages.
uint64_t EntryDigest(uint64_t bucket, uint64_t hash, uint64_t row) {
  const auto mixed = [](uint64_t v) { return storage::HashKey(static_cast<int64_t>(v)); };
  return mixed(mixed(mixed(bucket) ^ hash) ^ row);
}

class Verifier {
 public:
  Verifier(const StoreContext& context, const VerifyOptions& options)
      : context_(context), options_(options) {}

  Result<VerifyReport> Run(const std::vector<TableRecord>& tables) {
    std::set<uint64_t> wanted;
    for (const TableRecord& table : tables) {
      for (const TableRecord& t : storage::TiersOf(table)) wanted.insert(t.info.generation);
    }
    std::vector<storage::StoreFile> files;
    for (storage::StoreFile& file : context_.rows->Files()) {
      if (options_.table.empty() || (file.has_pages && wanted.contains(file.generation))) {
        total_ += 2 * file.bytes;  // once as a file, once page by page
        files.push_back(std::move(file));
      }
    }
    EDO_RETURN_IF_ERROR(Files(files, tables));
    for (const TableRecord& table : tables) {
      for (const TableRecord& tier : storage::TiersOf(table)) {
        EDO_RETURN_IF_ERROR(Chunks(tier));
        EDO_RETURN_IF_ERROR(Learned(tier));
      }
      if (table.info.key_kind != KeyKind::kDense) EDO_RETURN_IF_ERROR(Keys(table));
      if (table.ordered()) EDO_RETURN_IF_ERROR(Order(table));
      ++report_.tables;
      if (!table.composition) report_.keys += table.info.rows;
    }
    return std::move(report_);
  }

 private:
  Status Step(uint64_t bytes) {
    done_ += bytes;
    if (options_.progress && !options_.progress({done_, total_, 0, "bytes"})) {
      return Status::Cancelled("verify was cancelled");
    }
    return Status::Ok();
  }

  void Add(Damage damage) {
    if (report_.damages.size() < kMostDamages) report_.damages.push_back(std::move(damage));
  }

  Status Files(const std::vector<storage::StoreFile>& files,
               const std::vector<TableRecord>& tables) {
    for (const storage::StoreFile& file : files) {
      const Status s =
          context_.rows->VerifyFile(file, [&](uint64_t bytes) { return Step(bytes).ok(); });
      if (s.code() == StatusCode::kCancelled) return s;
      ++report_.files;
      report_.bytes += file.bytes;
      if (s.ok()) continue;
      Damage damage;
      damage.file = file.path;
      damage.part = file.has_pages ? "file" : "catalog";
      damage.what = s.message();
      if (damage.what.starts_with(file.path + ": ")) damage.what.erase(0, file.path.size() + 2);
      for (const TableRecord& table : tables) {
        for (const TableRecord& t : storage::TiersOf(table)) {
          if (file.has_pages && t.info.generation == file.generation) damage.table = t.info.name;
        }
      }
      Add(std::move(damage));
    }
    return StoreFile();
  }

  // The file EDO may have been damaged after the store was opened.
  Status StoreFile() {
    if (context_.directory.empty() || !options_.table.empty()) return Status::Ok();
    ++report_.files;
    const Result<storage::StoreFileContent> content = storage::ReadStoreFile(context_.directory);
    if (!content.ok()) {
      Damage damage;
      damage.file = context_.directory + "/" + storage::kStoreFileName;
      damage.part = "file";
      damage.what = content.status().message();
      Add(std::move(damage));
    }
    return Status::Ok();
  }

  // Reads pages [0, count) of a kind; good(number, page) may add what it finds wrong.
  Status Pages(const TableRecord& table, PageKind kind, uint64_t count,
               const std::function<Status(uint64_t, const PageView&)>& good) {
    std::vector<uint64_t> numbers;
    for (uint64_t begin = 0; begin < count; begin += kPagesAStep) {
      numbers.resize(std::min(kPagesAStep, count - begin));
      std::iota(numbers.begin(), numbers.end(), begin);
      uint64_t bytes = 0;
      context_.rows->ReadPages(kind, table.info.generation, numbers, std::nullopt,
                               [&](size_t i, const Status& status, const PageView& page) {
                                 Status s = storage::AsDamage(status);
                                 if (s.ok()) s = good(numbers[i], page);
                                 bytes += page.page_bytes;
                                 if (!s.ok()) AddPage(table, kind, numbers[i], s);
                               });
      EDO_RETURN_IF_ERROR(Step(bytes));
    }
    return Status::Ok();
  }

  void AddPage(const TableRecord& table, PageKind kind, uint64_t number, const Status& s) {
    Damage damage;
    damage.table = table.info.name;
    damage.part = storage::PageKindName(kind);
    damage.number = number;
    damage.what = s.message();
    damage.file = context_.rows->FileOf(kind, table.info.generation, number);
    if (kind == PageKind::kChunk || kind == PageKind::kKeys) {
      const uint64_t rows_a_page =
          kind == PageKind::kChunk ? table.info.chunk_rows : table.keys_per_page;
      damage.first_row = table.first_row + number * rows_a_page;
      damage.row_count = std::min(rows_a_page, table.info.rows - number * rows_a_page);
    }
    Add(std::move(damage));
  }

  Status Chunks(const TableRecord& table) {
    report_.chunks += table.info.chunk_count;
    const size_t before = report_.damages.size();
    uint64_t from_chunks = 0;
    EDO_RETURN_IF_ERROR(Pages(table, PageKind::kChunk, table.info.chunk_count,
                              [&](uint64_t number, const PageView& page) {
                                from_chunks += EntryDigest(0, number, page.page_bytes);
                                return CheckChunk(table, number, page);
                              }));
    if (table.sizes_per_page == 0) return Status::Ok();
    // The sizes must be those of the chunks' pages.
    uint64_t from_sizes = 0;
    report_.key_pages += table.size_pages;
    EDO_RETURN_IF_ERROR(
        Pages(table, PageKind::kSizes, table.size_pages,
              [&](uint64_t number, const PageView& page) -> Status {
                const uint64_t first = number * table.sizes_per_page;
                EDO_RETURN_IF_ERROR(storage::CheckSizes(page));
                const uint64_t expected =
                    std::min<uint64_t>(table.sizes_per_page, table.info.chunk_count - first);
                if (page.count != expected) {
                  return Status::Corruption("holds " + std::to_string(page.count) +
                                            " sizes, expected " + std::to_string(expected));
                }
                for (uint64_t i = 0; i < page.count; ++i) {
                  from_sizes += EntryDigest(0, first + i, storage::SizeEntry(page, i));
                }
                return Status::Ok();
              }));
    if (report_.damages.size() != before || from_chunks == from_sizes) return Status::Ok();
    Damage damage;
    damage.table = table.info.name;
    damage.part = storage::PageKindName(PageKind::kSizes);
    damage.what = "the size pages do not hold the sizes of the chunks";
    Add(std::move(damage));
    return Status::Ok();
  }

  Status Keys(const TableRecord& table) {
    const KeyKind kind = table.info.key_kind;
    const uint64_t buckets = table.index_buckets;
    const size_t before = report_.damages.size();
    uint64_t from_keys = 0;
    uint64_t keys_seen = 0;
    std::vector<int64_t> ints;
    std::vector<std::string_view> texts;
    const auto add_key = [&](uint64_t hash, uint64_t row) {
      const storage::IndexPlace place = storage::PlaceOf(hash, buckets);
      from_keys += EntryDigest(place.bucket,
                               kind == KeyKind::kInt64 ? hash : uint64_t{place.fingerprint}, row);
      ++keys_seen;
    };
    report_.key_pages += table.key_pages + (table.info.rows > 0 ? buckets : 0);
    EDO_RETURN_IF_ERROR(Pages(table, PageKind::kKeys, table.key_pages,
                              [&](uint64_t number, const PageView& page) -> Status {
                                const uint64_t first = number * table.keys_per_page;
                                const uint64_t expected = std::min<uint64_t>(
                                    table.keys_per_page, table.info.rows - first);
                                if (page.count != expected) {
                                  return Status::Corruption("holds " + std::to_string(page.count) +
                                                            " keys, expected " +
                                                            std::to_string(expected));
                                }
                                if (kind == KeyKind::kInt64) {
                                  EDO_RETURN_IF_ERROR(storage::ReadIntKeys(page, &ints));
                                  for (size_t i = 0; i < ints.size(); ++i)
                                    add_key(storage::HashKey(ints[i]), first + i);
                                } else {
                                  EDO_RETURN_IF_ERROR(storage::ReadTextKeys(page, &texts));
                                  for (size_t i = 0; i < texts.size(); ++i) {
                                    add_key(storage::HashKey(texts[i]), first + i);
                                  }
                                }
                                return Status::Ok();
                              }));

    uint64_t from_index = 0;
    uint64_t entries_seen = 0;
    std::vector<storage::IndexEntry> entries;
    EDO_RETURN_IF_ERROR(Pages(table, PageKind::kIndex, table.info.rows > 0 ? buckets : 0,
                              [&](uint64_t number, const PageView& page) -> Status {
                                EDO_RETURN_IF_ERROR(storage::ReadIndex(kind, page, &entries));
                                for (const storage::IndexEntry& e : entries) {
                                  from_index += EntryDigest(number, e.hash, e.row);
                                  ++entries_seen;
                                }
                                return Status::Ok();
                              }));
    const bool all_readable = report_.damages.size() == before;
    if (all_readable && (from_keys != from_index || keys_seen != entries_seen)) {
      Damage damage;
      damage.table = table.info.name;
      damage.part = "key index";
      damage.what = "the key index (" + std::to_string(entries_seen) +
                    " entries) does not hold the keys of the key pages (" +
                    std::to_string(keys_seen) + " keys)";
      Add(std::move(damage));
    }
    return Status::Ok();
  }

  Status Learned(const TableRecord& table) {
    report_.key_pages += storage::LearnedPages(table.learned_bytes);
    return Pages(table, PageKind::kLearned, storage::LearnedPages(table.learned_bytes),
                 [&](uint64_t number, const PageView& page) {
                   return storage::CheckLearned(page, number, table.learned_bytes);
                 });
  }

  // The order must be a permutation, and both directions must agree. Digests of sums stand in for
  // the sets, as for keys.
  Status Order(const TableRecord& table) {
    const uint64_t rows = table.info.rows;
    const uint64_t one_way = storage::OrderPagesOneWay(rows, table.order_entries_per_page);
    const size_t before = report_.damages.size();
    uint64_t all_rows = 0, rows_seen = 0;
    uint64_t forward = 0, backward = 0;  // of (place, row)
    for (uint64_t r = 0; r < rows; ++r) all_rows += EntryDigest(0, 0, r);
    report_.key_pages += table.order_pages;
    EDO_RETURN_IF_ERROR(
        Pages(table, PageKind::kOrder, table.order_pages,
              [&](uint64_t number, const PageView& page) -> Status {
                const bool is_forward = number < one_way;
                const uint64_t first =
                    (is_forward ? number : number - one_way) * table.order_entries_per_page;
                EDO_RETURN_IF_ERROR(storage::CheckOrder(
                    page, std::min<uint64_t>(table.order_entries_per_page, rows - first)));
                for (uint64_t i = 0; i < page.count; ++i) {
                  const uint64_t entry = storage::OrderEntry(page, i);
                  if (entry >= rows) {
                    return Status::Corruption("entry " + std::to_string(entry) + " in a table of " +
                                              std::to_string(rows) + " rows");
                  }
                  if (is_forward) {
                    rows_seen += EntryDigest(0, 0, entry);
                    forward += EntryDigest(1, first + i, entry);
                  } else {
                    backward += EntryDigest(1, entry, first + i);
                  }
                }
                return Status::Ok();
              }));
    if (report_.damages.size() != before) return Status::Ok();
    std::string what;
    if (rows_seen != all_rows) {
      what = "the order pages do not name every row once";
    } else if (table.order_pages > one_way && forward != backward) {
      what = "the order pages from places to rows and from rows to places do not agree";
    }
    if (what.empty()) return Status::Ok();
    Damage damage;
    damage.table = table.info.name;
    damage.part = storage::PageKindName(PageKind::kOrder);
    damage.what = what;
    Add(std::move(damage));
    return Status::Ok();
  }

  const StoreContext& context_;
  const VerifyOptions& options_;
  VerifyReport report_;
  uint64_t done_ = 0;
  uint64_t total_ = 0;
};

}  // namespace

Result<VerifyReport> VerifyTables(const StoreContext& context,
                                  const std::vector<TableRecord>& tables,
                                  const VerifyOptions& options) {
  return Verifier(context, options).Run(tables);
}

}  // namespace edo::engine
