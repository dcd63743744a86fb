// A row store whose reads of chunks a test holds back, fails or counts.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/row_store.h"

namespace edo::test {

class GatedRowStore : public storage::RowStore {
 public:
  explicit GatedRowStore(std::unique_ptr<storage::RowStore> base) : base_(std::move(base)) {}

  // While the gate is closed, no chunk that was begun ends.
  void CloseGate() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  void OpenGate() {
    const std::lock_guard lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }
  // Waits until so many chunks have been begun and not ended.
  void AwaitHeld(uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return held_ >= count; });
  }
  // Reads of this chunk end with `status`, until it is OK again.
  void Fail(uint64_t number, Status status) {
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      failures_.erase(number);
    } else {
      failures_[number] = std::move(status);
    }
  }
  // How often each chunk was read since the last call.
  std::map<uint64_t, uint64_t> TakeReads() {
    const std::lock_guard lock(mutex_);
    return std::exchange(reads_, {});
  }

  void ReadPages(storage::PageKind kind, uint64_t generation, std::span<const uint64_t> numbers,
                 const storage::Deadline& deadline,
                 const storage::PageFunction& fn) const override {
    base_->ReadPages(kind, generation, numbers, deadline,
                     [&](size_t i, const Status& s, const storage::PageView& page) {
                       const Status status = Pass(kind, numbers[i], s);
                       fn(i, status, status.ok() ? page : storage::PageView());
                     });
  }
  // Asks for all that is wanted before it ends the first: many reads in flight.
  void ReadStream(storage::PageStream* stream) const override {
    std::vector<storage::PageRequest> requests;
    for (storage::PageRequest request;;) {
      requests.clear();
      while (requests.size() < 64 && stream->Next(&request)) {
        requests.push_back(request);
        const std::lock_guard lock(mutex_);
        ++held_;
        changed_.notify_all();
      }
      if (requests.empty()) return;
      for (const storage::PageRequest& r : requests) {
        const uint64_t number[] = {r.number};
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [&] { return !closed_; });
        }
        base_->ReadPages(r.kind, r.generation, number, r.deadline,
                         [&](size_t, const Status& s, const storage::PageView& page) {
                           Status status = s;
                           {
                             const std::lock_guard lock(mutex_);
                             --held_;
                             status = Counted(r.kind, r.number, s);
                           }
                           stream->Done(r, status, status.ok() ? page : storage::PageView());
                         });
      }
    }
  }

  std::unique_ptr<storage::PageCursor> ScanPages(storage::PageKind kind, uint64_t generation,
                                                 uint64_t first, uint64_t last) const override {
    return base_->ScanPages(kind, generation, first, last);
  }
  Result<std::vector<storage::CatalogEntry>> ReadCatalog() const override {
    return base_->ReadCatalog();
  }
  Status WriteCatalog(std::span<const storage::CatalogEntry> puts,
                      std::span<const std::string> deletes) override {
    return base_->WriteCatalog(puts, deletes);
  }
  Result<std::unique_ptr<storage::BulkWriter>> NewBulkWriter(uint64_t generation) override {
    return base_->NewBulkWriter(generation);
  }
  Status Ingest(storage::BulkWriter* writer) override { return base_->Ingest(writer); }
  Status DropGeneration(uint64_t generation) override { return base_->DropGeneration(generation); }
  std::optional<uint64_t> FreeBytes() const override { return base_->FreeBytes(); }
  std::vector<storage::StoreFile> Files() const override { return base_->Files(); }
  std::string FileOf(storage::PageKind kind, uint64_t generation, uint64_t number) const override {
    return base_->FileOf(kind, generation, number);
  }
  Status VerifyFile(const storage::StoreFile& file,
                    const std::function<bool(uint64_t)>& progress) const override {
    return base_->VerifyFile(file, progress);
  }
  void AddStats(Stats* stats) const override { base_->AddStats(stats); }

 private:
  Status Counted(storage::PageKind kind, uint64_t number, const Status& s) const {
    if (kind != storage::PageKind::kChunk) return s;
    ++reads_[number];
    const auto failure = failures_.find(number);
    return failure == failures_.end() ? s : failure->second;
  }
  Status Pass(storage::PageKind kind, uint64_t number, const Status& s) const {
    std::unique_lock lock(mutex_);
    if (kind == storage::PageKind::kChunk) {
      ++held_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !closed_; });
      --held_;
    }
    return Counted(kind, number, s);
  }

  const std::unique_ptr<storage::RowStore> base_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::condition_variable changed_;
  bool closed_ = false;
  mutable uint64_t held_ = 0;
  std::map<uint64_t, Status> failures_;
  mutable std::map<uint64_t, uint64_t> reads_;
};

}  // namespace edo::test
