// ReadAhead: runs a RowReader in a thread of its own, a few batches ahead of the store that encodes
// and writes them. With `threads` 1 it reads in the caller's thread. The notes of the reader come
// from its thread; everything else is for one thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "storage/row_reader.h"

namespace edo::engine {

class ReadAhead {
 public:
  ReadAhead(storage::RowReader* reader, uint32_t threads);
  ~ReadAhead();  // stops and joins the thread, wherever it is
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next batch, false at the end; valid until the next call. Batches before an error arrive
  // before it.
  Result<bool> Next(const storage::RowBatch** batch);

 private:
  static constexpr size_t kBatchesAhead = 2;

  void Run();

  storage::RowReader* const reader_;
  std::unique_ptr<storage::RowBatch> current_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::unique_ptr<storage::RowBatch>> ready_;
  std::deque<std::unique_ptr<storage::RowBatch>> spare_;
  bool ended_ = false;
  bool stop_ = false;
  Status error_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace edo::engine
