// StoreImpl: the tables of a store, by name, and the commits that change them. A commit is: pages
// become readable (Ingest), then one durable catalog write names them, then the file EDO counts it.
// Until the catalog write the old table is the table; a crash before it leaves an orphan generation
// that the next writable open drops.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "edo/compose.h"
#include "edo/store.h"
#include "engine/store_context.h"
#include "storage/catalog.h"

namespace edo::engine {

struct CatalogState {
  storage::StoreRecord store;
  std::map<std::string, storage::TableRecord, std::less<>> tables;
};

// Reads the catalog and holds it against the files that are there and the commits the file EDO has
// counted. kCorruption says what is missing.
Result<CatalogState> LoadCatalog(const storage::RowStore& rows, uint64_t commits,
                                 const std::string& directory);

// Gives a context its device backend and its caches, as its options ask.
Status MakeCaches(StoreContext* context);

class StoreImpl : public Store {
 public:
  // Over a row store that is open already. `directory` empty: a store that lives in memory (tests).
  static Result<std::unique_ptr<StoreImpl>> Make(std::unique_ptr<storage::RowStore> rows,
                                                 std::string directory, const StoreOptions& options,
                                                 CatalogState state);
  // A new, empty store over `rows`.
  static Result<std::unique_ptr<StoreImpl>> MakeNew(std::unique_ptr<storage::RowStore> rows,
                                                    std::string directory,
                                                    const StoreOptions& options);

  ~StoreImpl() override;

  const std::string& directory() const override { return context_->directory; }
  std::vector<TableInfo> Tables() const override;
  Result<std::unique_ptr<Table>> OpenTable(std::string_view name,
                                           const ReadOptions& options) const override;
  Result<std::unique_ptr<Table>> OpenOnlyTable() const override;
  Result<std::unique_ptr<TableWriter>> CreateTable(std::string_view name,
                                                   const TableOptions& options) override;
  Status DropTable(std::string_view name) override;
  Status RenameTable(std::string_view from, std::string_view to) override;
  Status SetMetadata(std::string_view name, const Metadata& pairs) override;
  Result<VerifyReport> Verify(const VerifyOptions& options) const override;
  Stats stats() const override;

  // For TableWriter: a generation number never used before, and the commit of what it wrote.
  Result<uint64_t> NewGeneration();
  // `hot`: of a table of mixed precision the staged generations of the tiers before the last.
  using StagedTiers = std::vector<std::shared_ptr<GenerationPin>>;
  Status CommitTable(storage::TableRecord record, bool replace, storage::BulkWriter* writer,
                     StagedTiers hot = {});
  // The same in place of generation `expected` only: kAlreadyExists when the table has another one
  // by now, kNotFound when it is gone.
  Status CommitRecoded(storage::TableRecord record, uint64_t expected, storage::BulkWriter* writer,
                       StagedTiers hot = {});
  // ComposeTable of edo/compose.h.
  Result<TableInfo> Compose(std::string_view name, const ComposedOptions& options);
  // Makes a finished generation readable that is no table and never becomes one. Its pages go with
  // the pin; should the process end before, with the next writable open.
  Result<std::shared_ptr<GenerationPin>> Stage(uint64_t generation, storage::BulkWriter* writer);
  const std::shared_ptr<StoreContext>& context() const { return context_; }
  Status CheckWritable() const;
  // kAlreadyExists when the table is there and may not be replaced.
  Status CheckMayCreate(std::string_view name, bool replace) const;

 private:
  struct Entry {
    storage::TableRecord record;
    std::shared_ptr<GenerationPin> pin;
  };
  Status CommitLocked(storage::TableRecord record, storage::BulkWriter* writer, StagedTiers hot);

  StoreImpl(std::shared_ptr<StoreContext> context, CatalogState state);
  // These need mutex_.
  Status UnknownTable(std::string_view name) const;
  std::string ComposedOf(std::string_view part) const;  // a composed table that names it, or empty
  void WarnOfUnfit(std::string_view part) const;        // of what its new rows no longer fit
  Result<storage::TableRecord> ComposedRecord(std::string_view name,
                                              const ComposedOptions& options) const;
  Result<TableInfo> CommitComposed(storage::TableRecord record);
  // Whether the parts, as they are now, still fit; the status begins with the part.
  Status CheckComposed(const storage::TableRecord& record) const;
  Result<std::unique_ptr<Table>> OpenComposed(const Entry& entry, const ReadOptions& options) const;
  // Writes puts and deletes and the counted commit. Needs mutex_ held exclusively.
  Status WriteCommit(std::vector<storage::CatalogEntry> puts, std::vector<std::string> deletes);
  void DropOrphans();
  Result<std::unique_ptr<Table>> MakeTable(const Entry& entry, const ReadOptions& options) const;

  const std::shared_ptr<StoreContext> context_;
  mutable std::shared_mutex mutex_;  // guards what follows
  storage::StoreRecord record_;
  std::map<std::string, Entry, std::less<>> tables_;
};

}  // namespace edo::engine
