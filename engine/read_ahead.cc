#include "engine/read_ahead.h"

#include <utility>

namespace edo::engine {

ReadAhead::ReadAhead(storage::RowReader* reader, uint32_t threads)
    : reader_(reader), current_(std::make_unique<storage::RowBatch>()) {
  if (threads < 2) return;
  for (size_t i = 0; i < kBatchesAhead; ++i) {
    spare_.push_back(std::make_unique<storage::RowBatch>());
  }
  thread_ = std::thread([this] { Run(); });
}

ReadAhead::~ReadAhead() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ReadAhead::Run() {
  for (;;) {
    std::unique_ptr<storage::RowBatch> batch;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !spare_.empty(); });
      if (stop_) return;
      batch = std::move(spare_.front());
      spare_.pop_front();
    }
    Result<bool> more = reader_->Next(batch.get());
    const std::lock_guard lock(mutex_);
    if (more.ok() && *more) {
      ready_.push_back(std::move(batch));
    } else {
      ended_ = true;
      error_ = more.status();
    }
    changed_.notify_all();
    if (ended_) return;
  }
}

Result<bool> ReadAhead::Next(const storage::RowBatch** batch) {
  *batch = current_.get();
  if (!thread_.joinable()) return reader_->Next(current_.get());
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || !ready_.empty(); });
  if (ready_.empty()) {
    if (!error_.ok()) return error_;
    return false;
  }
  spare_.push_back(std::move(current_));
  current_ = std::move(ready_.front());
  ready_.pop_front();
  lock.unlock();
  changed_.notify_all();
  *batch = current_.get();
  return true;
}

}  // namespace edo::engine
