// Store: a directory that holds tables. Start here.
//
//   auto store = edo::Store::Open("vectors.edo", {.read_only = true});
//   auto table = (*store)->OpenTable("glove");
//   std::vector<float> out(2 * (*table)->info().dim);
//   std::array<std::string_view, 2> words{"river", "stone"};
//   edo::Status s = (*table)->Lookup(words, {}, out.data());
//
// One process writes, any number read: a writable Store holds a lock on the directory, a read-only
// one takes none and keeps seeing the store as it was when it was opened. Every method is safe to
// call from many threads. A Store must outlive the tables, scans and writers it gave out.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edo/codec_goal.h"
#include "edo/codec_spec.h"
#include "edo/hot_tiers.h"
#include "edo/options.h"
#include "edo/row_order.h"
#include "edo/stats.h"
#include "edo/status.h"
#include "edo/table.h"

namespace edo {

// What a key repeated within one import does.
enum class OnDuplicate : uint8_t {
  kError,  // kBadInput naming the key and both places; nothing is stored
  kFirst,  // the first row wins; later ones are dropped and counted
  kLast,   // the last row wins and keeps its own place in the order
};

struct TableOptions {
  KeyKind key_kind = KeyKind::kDense;
  CodecSpec codec{};
  uint32_t dim = 0;  // 1 .. kMaxDim
  // Mixed precision (hot_tiers.h): the first rows of the table - after duplicates were dropped and
  // the order was made - in these codecs, the rest, which may not be empty, in `codec`. Rows wait
  // on disk as floats until Commit. Not with `learned`.
  std::vector<HotTier> hot{};
  // Instead of `codec`: at Commit the codec that keeps this goal over all rows, the best by it, of
  // those that edo/codec_choice.h tries on a sample. The choice and its figures are kept as
  // metadata "edo.codec.choice". With hot tiers, whose codecs are given, it is the codec of the
  // rest with which all tiers together keep the goal. kGoalMissed when none keeps it (without
  // max_bytes only by the fault of hot tiers, which are then named, as F32 keeps all; or when an
  // overlap that is asked for cannot be measured, for want of rows).
  std::optional<CodecGoal> choose_codec{};
  // What the codec has learned already (docs/codecs.md; spec.LearnedBytes(dim) bytes), as
  // Table::Learned gives it; empty: learn from the rows.
  std::vector<std::byte> learned{};
  // Of a PQ or OPQ that `learned` was taken from elsewhere (MakeLearned in edo/codebook.h): EDO's
  // own books code rows of mean square 1, others rows as they are. Encoding then tries each row at
  // both scales, codes and gain by turns, and keeps the closest, which is never further off than
  // the book's own decoder would be. Takes some five times as long.
  bool learned_elsewhere = false;
  OnDuplicate on_duplicate = OnDuplicate::kError;
  bool replace = false;  // replace a table of this name, atomically, when the writer commits
  Metadata metadata{};
  std::string position_unit = "row";  // how messages call the places given to Append: "line", "row"
  uint64_t expected_rows = 0;  // when known: disk space is checked before anything is written
  uint32_t threads = 1;        // that a codec which learns may use; the table does not depend on it
  bool reproducible = false;   // leave the commit time out, so that equal input gives equal bytes
  // Rows are put in this order at Commit, which then needs as much free space again as the table
  // has and memory: 75 bytes a row (17 a row beyond 16 million rows; `counts`: 24), beside up to
  // 150 MB of rows and keys on their way.
  RowOrder order{};
  // Of the chunks on disk. kAuto decides by samples: it compresses where the codes shrink by a
  // tenth or more (near-duplicate and smooth rows do, others do not), and holds up to 5 MiB of rows
  // for that. When the first rows and all rows disagree, the table is written twice.
  Compression compression = Compression::kAuto;
  ProgressFunction progress{};  // of that step; false ends the Commit with kCancelled

  Status Validate() const;
};

// A key or row that an import changed or dropped.
struct DroppedRow {
  uint64_t position = 0;       // of the row that was dropped
  uint64_t kept_position = 0;  // of the row that stayed
  std::string key;             // text keys: bytes; int64 keys: decimal
};

// Fills a new generation of a table. Nothing is visible before Commit, and a writer that is
// destroyed without Commit leaves no trace. One thread at a time. Memory stays under about 64 MiB
// whatever the row count, but for an order of the rows (TableOptions::order): keys are sorted on
// disk, inside the store's directory. With a codec that learns (CodecSpec::learns) rows beyond
// 64 MiB wait on disk as floats until Commit, which learns from a sample of all of them: 65,536
// rows and 256 MiB at most, in memory, and three times that while it learns.
class TableWriter {
 public:
  virtual ~TableWriter() = default;
  // Appends rows: values is (count, dim). Keys by the table's kind: none for dense, `int_keys`
  // (count) or `text_keys` (count). `positions` (count, or empty) are the places in the source
  // that messages about these rows name; empty = row numbers, counted from 0.
  // kBadInput when a value does not fit the codec (non-finite in INT8, beyond 65504 in F16) or a
  // key is too long; kNoSpace, kIoError from the disk. After an error the writer can only be
  // destroyed.
  struct Rows {
    std::span<const float> values;
    std::span<const int64_t> int_keys;
    std::span<const std::string_view> text_keys;
    std::span<const uint64_t> positions;
  };
  virtual Status Append(const Rows& rows) = 0;
  // Codes as another table of the same codec and dim holds them: (count, row_bytes). With a codec
  // that learns, TableOptions::learned must say what that table has learned.
  virtual Status AppendCodes(std::span<const std::byte> codes, const Rows& keys) = 0;
  // Builds the key directory, finds duplicates, makes everything durable and visible at once.
  // After an error the old table, if any, is untouched.
  virtual Result<TableInfo> Commit() = 0;
  // Rows dropped by on_duplicate; complete after Commit.
  virtual const std::vector<DroppedRow>& dropped() const = 0;
  // What the file of TableOptions::order said; complete after Commit.
  virtual const OrderReport& order_report() const = 0;
};

struct VerifyOptions {
  std::string table;  // empty = all tables and every file of the store
  ProgressFunction progress;
};

struct Damage {
  std::string file;                       // path of the damaged file, when known
  std::string table;                      // empty when it belongs to no table or to all
  std::string part;                       // "chunk", "key page", "key index", "order page",
                                          // "size page", "file", "catalog"
  uint64_t number = 0;                    // of the chunk or page
  uint64_t first_row = 0, row_count = 0;  // rows that can no longer be read (chunks)
  std::string what;                       // one sentence: found, expected
};

// A composed table that cannot be opened, though no byte of it is damaged.
struct UnfitTable {
  std::string table;
  std::string what;  // which part is missing or does not fit
};

struct VerifyReport {
  uint64_t tables = 0, chunks = 0, key_pages = 0, keys = 0, files = 0, bytes = 0;
  // Both empty = the store is whole.
  std::vector<Damage> damages;
  std::vector<UnfitTable> unfit;
};

// How a table will be read.
struct ReadOptions {
  // Most lookups will read so many leading values of each row (LookupOptions::dims): the cached
  // rows are cut into columns, so that those values of neighbouring rows lie together. 0: rows are
  // read whole. Changes no result; what the first open of a generation says holds for all its
  // handles.
  uint32_t read_dims = 0;
  // Rows of L4+4 and P,L4+4 without their refinement: they decode to the bit as L4 or P,L4 would,
  // and the caches hold that half only, so that about twice as many fit (TableInfo still says what
  // is stored; an archive export still holds it). Rows that the host's cache holds whole when the
  // refinement is dropped like this keep their halves there; once it is wanted again rows come from
  // disk. A cache serves one of the two: who opens a table the other way takes its rows over, and
  // older handles go on with what they have until they are closed. kInvalidArgument where no tier
  // of the table has a refinement.
  bool base_only = false;
};

// A backend that this build knows (StoreOptions::backend).
struct BackendInfo {
  std::string name;  // "cpu", "cuda"
  bool available = false;
  std::string description;  // the device; or, when not available, why not
  uint64_t free_bytes = 0;  // of its memory
};
// All of them, the CPU first. Asks the driver; never fails.
std::vector<BackendInfo> Backends();

class Store {
 public:
  virtual ~Store() = default;

  // Makes a new store in `directory` (made when missing; must be empty when there) and opens it.
  static Result<std::unique_ptr<Store>> Create(const std::string& directory,
                                               const StoreOptions& options = {});
  // Opens an existing store. kNotFound: no store there. kBusy: another process writes (names the
  // lock file and the process). kCorruption: names the damaged file. kUnsupported: the store was
  // written by a newer format version. A writable open removes what an interrupted import left.
  static Result<std::unique_ptr<Store>> Open(const std::string& directory,
                                             const StoreOptions& options = {});
  // True when `directory` holds a store (whole or damaged).
  static bool Exists(const std::string& directory);
  // Removes a store and all its files, nothing else. kInvalidArgument when it is not a store.
  static Status Destroy(const std::string& directory);
  // Removes a store that no table was ever committed to, as whoever made it for an import that then
  // failed does. kInvalidArgument when it has been used, kBusy when another process has it open.
  static Status DestroyIfNeverUsed(const std::string& directory);

  virtual const std::string& directory() const = 0;
  // By name. Composed tables whose parts do not fit are there, too (TableInfo::unfit).
  virtual std::vector<TableInfo> Tables() const = 0;
  // kNotFound names the tables that exist. The second form: the store's only table.
  // The first open of a generation finds its rows room in the caches and may wait for lookups that
  // are reading from them.
  // kInvalidArgument: read_dims > dim, or a cache that holds not even one block of its rows.
  virtual Result<std::unique_ptr<Table>> OpenTable(std::string_view name,
                                                   const ReadOptions& options = {}) const = 0;
  virtual Result<std::unique_ptr<Table>> OpenOnlyTable() const = 0;
  virtual Result<std::unique_ptr<TableWriter>> CreateTable(std::string_view name,
                                                           const TableOptions& options) = 0;
  virtual Status DropTable(std::string_view name) = 0;
  virtual Status RenameTable(std::string_view from, std::string_view to) = 0;
  // Sets, replaces or (empty value) removes metadata pairs of a table.
  virtual Status SetMetadata(std::string_view name, const Metadata& pairs) = 0;

  // Reads every byte: file checksums, chunk and page checksums, keys against the index both ways,
  // the catalog, and composed tables against their parts. What is wrong is in the report; an
  // error Status means verify itself could not run.
  virtual Result<VerifyReport> Verify(const VerifyOptions& options) const = 0;
  virtual Stats stats() const = 0;
};

}  // namespace edo
