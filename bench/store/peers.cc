#include "bench/store/peers.h"

#include <fcntl.h>
#include <liburing.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "bench/store/bench_util.h"
#include "storage/page_key.h"
#include "storage/rocksdb_options.h"

#ifdef EDO_BENCH_LMDB
#include <lmdb.h>
#endif

namespace edo::bench {
namespace {

void CheckRocks(const rocksdb::Status& s) {
  if (!s.ok()) Check(Status::IoError("peer: " + s.ToString()));
}

std::string BigEndian(uint64_t value) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(value >> (56 - 8 * i));
  return key;
}

std::string RowBytes(uint64_t row, uint32_t bytes) {
  std::string value(bytes, '\0');
  Random random(row + 1);
  for (uint32_t i = 0; i + 8 <= bytes; i += 8) {
    const uint64_t bits = random.Next();
    std::memcpy(value.data() + i, &bits, 8);
  }
  return value;
}

class RawReader : public RowPeer {
 public:
  RawReader(const std::string& path, uint32_t rows_a_block, unsigned queue_depth)
      : rows_a_block_(rows_a_block), queue_depth_(queue_depth) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd_ < 0) fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info = {};
    ::fstat(fd_, &info);
    blocks_ = static_cast<uint64_t>(info.st_size) / 4096;
    if (fd_ < 0 || blocks_ == 0) Check(Status::IoError("cannot read " + path));
    if (io_uring_queue_init(queue_depth, &ring_, 0) != 0) {
      Check(Status::IoError("io_uring is not available"));
    }
    buffers_ = static_cast<char*>(std::aligned_alloc(4096, size_t{queue_depth} * 4096));
  }
  ~RawReader() override {
    io_uring_queue_exit(&ring_);
    ::close(fd_);
    std::free(buffers_);
  }

  void ReadBatch(std::span<const uint64_t> rows) override {
    blocks_wanted_.clear();
    for (const uint64_t row : rows) blocks_wanted_.push_back(row / rows_a_block_ % blocks_);
    std::sort(blocks_wanted_.begin(), blocks_wanted_.end());
    blocks_wanted_.erase(std::unique(blocks_wanted_.begin(), blocks_wanted_.end()),
                         blocks_wanted_.end());
    size_t next = 0;
    size_t done = 0;
    std::vector<unsigned> free;
    for (unsigned i = 0; i < queue_depth_; ++i) free.push_back(i);
    while (done < blocks_wanted_.size()) {
      while (next < blocks_wanted_.size() && !free.empty()) {
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        if (entry == nullptr) break;
        const unsigned buffer = free.back();
        free.pop_back();
        io_uring_prep_read(entry, fd_, buffers_ + size_t{buffer} * 4096, 4096,
                           blocks_wanted_[next++] * 4096);
        io_uring_sqe_set_data64(entry, buffer);
      }
      io_uring_submit_and_wait(&ring_, 1);
      io_uring_cqe* entry = nullptr;
      unsigned head = 0;
      unsigned taken = 0;
      io_uring_for_each_cqe(&ring_, head, entry) {
        if (entry->res < 0) Check(Status::IoError("raw read failed"));
        free.push_back(static_cast<unsigned>(io_uring_cqe_get_data64(entry)));
        ++taken;
      }
      io_uring_cq_advance(&ring_, taken);
      done += taken;
    }
  }

 private:
  const uint32_t rows_a_block_;
  const unsigned queue_depth_;
  int fd_ = -1;
  uint64_t blocks_ = 0;
  io_uring ring_ = {};
  char* buffers_ = nullptr;
  std::vector<uint64_t> blocks_wanted_;
};

class StockRocksdb : public RowPeer {
 public:
  StockRocksdb(const std::string& directory, uint64_t generation, uint32_t chunk_rows, bool direct)
      : generation_(generation), chunk_rows_(chunk_rows) {
    storage::RocksdbTuning tuning;
    tuning.env = rocksdb::Env::Default();
    tuning.direct_reads = direct;
    tuning.read_only = true;
    tuning.hold_files = true;
    const std::vector<rocksdb::ColumnFamilyDescriptor> families{
        {rocksdb::kDefaultColumnFamilyName, storage::CatalogFamilyOptions()},
        {storage::kChunksFamily, storage::ChunksFamilyOptions()},
        {storage::kKeysFamily, storage::KeysFamilyOptions(0)}};
    rocksdb::DB* db = nullptr;
    CheckRocks(rocksdb::DB::OpenForReadOnly(storage::DatabaseOptions(tuning), directory, families,
                                            &handles_, &db));
    db_.reset(db);
  }
  ~StockRocksdb() override {
    for (auto* handle : handles_) (void)db_->DestroyColumnFamilyHandle(handle);
  }
  void ReadBatch(std::span<const uint64_t> rows) override {
    chunks_.clear();
    for (const uint64_t row : rows) chunks_.push_back(row / chunk_rows_);
    std::sort(chunks_.begin(), chunks_.end());
    chunks_.erase(std::unique(chunks_.begin(), chunks_.end()), chunks_.end());
    constexpr size_t kKeys = 128;
    std::vector<storage::PageKeyBytes> keys(kKeys);
    std::vector<rocksdb::Slice> slices(kKeys);
    std::vector<rocksdb::PinnableSlice> values(kKeys);
    std::vector<rocksdb::Status> statuses(kKeys);
    for (size_t begin = 0; begin < chunks_.size(); begin += kKeys) {
      const size_t n = std::min(kKeys, chunks_.size() - begin);
      for (size_t i = 0; i < n; ++i) {
        keys[i] =
            storage::EncodePageKey(storage::PageKind::kChunk, generation_, chunks_[begin + i]);
        slices[i] = rocksdb::Slice(keys[i].data(), 8);
      }
      db_->MultiGet(rocksdb::ReadOptions(), handles_[1], n, slices.data(), values.data(),
                    statuses.data(), true);
      for (size_t i = 0; i < n; ++i) {
        CheckRocks(statuses[i]);
        values[i].Reset();
      }
    }
  }

 private:
  const uint64_t generation_;
  const uint32_t chunk_rows_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::vector<uint64_t> chunks_;
};

rocksdb::Options PlainOptions(bool direct) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.use_direct_reads = direct;
  options.compression = rocksdb::kNoCompression;
  return options;
}

class RocksdbRows : public RowPeer {
 public:
  RocksdbRows(const std::string& directory, uint64_t rows, uint32_t dim, bool direct) {
    if (!std::filesystem::exists(directory)) {
      std::unique_ptr<rocksdb::DB> db = OpenAt(directory, false);
      rocksdb::WriteOptions no_log;
      no_log.disableWAL = true;
      for (uint64_t row = 0; row < rows;) {
        rocksdb::WriteBatch batch;
        for (int i = 0; i < 1000 && row < rows; ++i, ++row) {
          CheckRocks(batch.Put(BigEndian(row), RowBytes(row, dim * 4)));
        }
        CheckRocks(db->Write(no_log, &batch));
      }
      CheckRocks(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
    }
    db_ = OpenAt(directory, direct);
  }
  void ReadBatch(std::span<const uint64_t> rows) override {
    for (const uint64_t row : rows) {
      rocksdb::PinnableSlice value;
      CheckRocks(
          db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), BigEndian(row), &value));
    }
  }

 private:
  static std::unique_ptr<rocksdb::DB> OpenAt(const std::string& directory, bool direct) {
    rocksdb::DB* db = nullptr;
    CheckRocks(rocksdb::DB::Open(PlainOptions(direct), directory, &db));
    return std::unique_ptr<rocksdb::DB>(db);
  }
  std::unique_ptr<rocksdb::DB> db_;
};

class RocksdbBlockCache : public RowPeer {
 public:
  RocksdbBlockCache(const std::string& directory, uint64_t rows, uint32_t row_bytes) {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(rows * (row_bytes + 64) * 2 + (64 << 20));
    rocksdb::Options options = PlainOptions(false);
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    const bool fill = !std::filesystem::exists(directory);
    rocksdb::DB* db = nullptr;
    CheckRocks(rocksdb::DB::Open(options, directory, &db));
    db_.reset(db);
    if (!fill) return;
    rocksdb::WriteOptions no_log;
    no_log.disableWAL = true;
    for (uint64_t row = 0; row < rows;) {
      rocksdb::WriteBatch batch;
      for (int i = 0; i < 1000 && row < rows; ++i, ++row) {
        CheckRocks(batch.Put(BigEndian(row), RowBytes(row, row_bytes)));
      }
      CheckRocks(db_->Write(no_log, &batch));
    }
    CheckRocks(db_->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  }
  void ReadBatch(std::span<const uint64_t> rows) override {
    sorted_.assign(rows.begin(), rows.end());
    std::sort(sorted_.begin(), sorted_.end());
    constexpr size_t kKeys = 128;
    std::vector<std::string> keys(kKeys);
    std::vector<rocksdb::Slice> slices(kKeys);
    std::vector<rocksdb::PinnableSlice> values(kKeys);
    std::vector<rocksdb::Status> statuses(kKeys);
    for (size_t begin = 0; begin < sorted_.size(); begin += kKeys) {
      const size_t n = std::min(kKeys, sorted_.size() - begin);
      for (size_t i = 0; i < n; ++i) {
        keys[i] = BigEndian(sorted_[begin + i]);
        slices[i] = keys[i];
      }
      db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), n, slices.data(),
                    values.data(), statuses.data(), true);
      for (size_t i = 0; i < n; ++i) {
        CheckRocks(statuses[i]);
        sum_ += static_cast<unsigned char>(values[i].data()[0]);
        values[i].Reset();
      }
    }
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<uint64_t> sorted_;
  uint64_t sum_ = 0;
};

class MappedRows : public RowPeer {
 public:
  MappedRows(const std::string& path, uint64_t rows, uint32_t dim)
      : path_(path), row_bytes_(uint64_t{dim} * sizeof(float)), bytes_(rows * row_bytes_) {
    if (!std::filesystem::exists(path)) {
      std::FILE* const file = std::fopen(path.c_str(), "wb");
      bool written = file != nullptr;
      for (uint64_t row = 0; row < rows && written; ++row) {
        const std::string bytes = RowBytes(row, static_cast<uint32_t>(row_bytes_));
        written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
      }
      if (!written || std::fclose(file) != 0) Check(Status::IoError("cannot write " + path));
    }
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) Check(Status::IoError("cannot read " + path));
    out_.resize(row_bytes_);
  }
  ~MappedRows() override {
    Unmap();
    ::close(fd_);
  }
  void Prepare() override {
    Unmap();  // pages that are mapped would stay in memory
    DropFromPageCache(path_);
    mapped_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd_, 0);
    if (mapped_ == MAP_FAILED) Check(Status::IoError("cannot map " + path_));
    ::madvise(mapped_, bytes_, MADV_RANDOM);
  }
  void ReadBatch(std::span<const uint64_t> rows) override {
    for (const uint64_t row : rows) {
      std::memcpy(out_.data(), static_cast<const char*>(mapped_) + row * row_bytes_, row_bytes_);
      sum_ += static_cast<unsigned char>(out_[0]);
    }
  }

 private:
  void Unmap() {
    if (mapped_ != MAP_FAILED) ::munmap(mapped_, bytes_);
    mapped_ = MAP_FAILED;
  }
  const std::string path_;
  const uint64_t row_bytes_;
  const uint64_t bytes_;
  int fd_ = -1;
  void* mapped_ = MAP_FAILED;
  std::vector<char> out_;
  uint64_t sum_ = 0;
};

#ifdef EDO_BENCH_LMDB
void CheckLmdb(int result) {
  if (result != 0) Check(Status::IoError(std::string("peer LMDB: ") + mdb_strerror(result)));
}

void ReadIntoPageCache(const std::string& path) {
  std::vector<char> buffer(1 << 20);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && ::read(fd, buffer.data(), buffer.size()) > 0) {
  }
  if (fd >= 0) ::close(fd);
}

class Lmdb : public RowPeer {
 public:
  Lmdb(const std::string& directory, uint64_t rows, uint32_t row_bytes, bool cold)
      : path_(directory + "/data.mdb"), cold_(cold) {
    const bool fill = !std::filesystem::exists(path_);
    std::filesystem::create_directories(directory);
    Open(fill ? MDB_NOSYNC : 0);
    if (fill) Fill(rows, row_bytes);
    OpenTable();
    if (!cold) ReadIntoPageCache(path_);
  }
  ~Lmdb() override { mdb_env_close(env_); }
  void Prepare() override {
    if (!cold_) return;
    mdb_env_close(env_);  // pages that are mapped would stay in memory
    DropFromPageCache(path_);
    Open(0);
    OpenTable();
  }
  void ReadBatch(std::span<const uint64_t> rows) override {
    MDB_txn* txn = nullptr;
    CheckLmdb(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
    for (const uint64_t row : rows) {
      std::string key = BigEndian(row);
      MDB_val k{key.size(), key.data()};
      MDB_val v;
      CheckLmdb(mdb_get(txn, dbi_, &k, &v));
      sum_ += static_cast<unsigned char*>(v.mv_data)[0];
    }
    mdb_txn_abort(txn);
  }

 private:
  void Open(unsigned flags) {
    CheckLmdb(mdb_env_create(&env_));
    CheckLmdb(mdb_env_set_mapsize(env_, size_t{64} << 30));
    CheckLmdb(
        mdb_env_open(env_, path_.substr(0, path_.rfind('/')).c_str(), MDB_NORDAHEAD | flags, 0644));
  }
  void OpenTable() {
    MDB_txn* txn = nullptr;
    CheckLmdb(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
    CheckLmdb(mdb_dbi_open(txn, nullptr, 0, &dbi_));
    mdb_txn_abort(txn);
  }
  void Fill(uint64_t rows, uint32_t row_bytes) {
    MDB_txn* txn = nullptr;
    CheckLmdb(mdb_txn_begin(env_, nullptr, 0, &txn));
    CheckLmdb(mdb_dbi_open(txn, nullptr, MDB_CREATE, &dbi_));
    for (uint64_t row = 0; row < rows; ++row) {
      std::string key = BigEndian(row);
      std::string value = RowBytes(row, row_bytes);
      MDB_val k{key.size(), key.data()};
      MDB_val v{value.size(), value.data()};
      CheckLmdb(mdb_put(txn, dbi_, &k, &v, MDB_APPEND));
    }
    CheckLmdb(mdb_txn_commit(txn));
    CheckLmdb(mdb_env_sync(env_, 1));
  }
  const std::string path_;
  const bool cold_;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  uint64_t sum_ = 0;
};
#endif

}  // namespace

std::string LargestChunkFile(const std::string& directory) {
  std::string best;
  uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".sst" && entry.file_size() > bytes) {
      bytes = entry.file_size();
      best = entry.path().string();
    }
  }
  return best;
}

double ReadThroughMBs(const std::string& directory) {
  constexpr size_t kBytes = 1 << 20;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".sst") paths.push_back(entry.path().string());
  }
  std::atomic<uint64_t> total{0};
  const double start = Now();
  for (const std::string& path : paths) {
    std::atomic<uint64_t> next{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        int fd = ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
        if (fd < 0) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        char* const buffer = static_cast<char*>(std::aligned_alloc(4096, kBytes));
        for (;;) {
          const auto offset = static_cast<off_t>(next.fetch_add(kBytes));
          const ssize_t got = ::pread(fd, buffer, kBytes, offset);
          if (got <= 0) break;
          total += static_cast<uint64_t>(got);
        }
        std::free(buffer);
        ::close(fd);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return static_cast<double>(total) / 1e6 / (Now() - start);
}

void DropFromPageCache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ::fdatasync(fd);
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

std::unique_ptr<RowPeer> MakeRawReader(const std::string& path, uint32_t rows_a_block,
                                       unsigned queue_depth) {
  return std::make_unique<RawReader>(path, rows_a_block, queue_depth);
}
std::unique_ptr<RowPeer> MakeStockRocksdb(const std::string& store_directory, uint64_t generation,
                                          uint32_t chunk_rows, bool direct) {
  return std::make_unique<StockRocksdb>(store_directory, generation, chunk_rows, direct);
}
std::unique_ptr<RowPeer> MakeRocksdbRows(const std::string& directory, uint64_t rows, uint32_t dim,
                                         bool direct) {
  return std::make_unique<RocksdbRows>(directory, rows, dim, direct);
}
std::unique_ptr<RowPeer> MakeRocksdbBlockCache(const std::string& directory, uint64_t rows,
                                               uint32_t row_bytes) {
  return std::make_unique<RocksdbBlockCache>(directory, rows, row_bytes);
}
std::unique_ptr<RowPeer> MakeMappedRows(const std::string& path, uint64_t rows, uint32_t dim) {
  return std::make_unique<MappedRows>(path, rows, dim);
}
std::unique_ptr<RowPeer> MakeLmdb(const std::string& directory, uint64_t rows, uint32_t row_bytes,
                                  bool cold) {
#ifdef EDO_BENCH_LMDB
  return std::make_unique<Lmdb>(directory, rows, row_bytes, cold);
#else
  (void)directory, (void)rows, (void)row_bytes, (void)cold;
  return nullptr;
#endif
}

double RocksdbWriteBatchMBs(const std::string& directory, uint64_t rows, uint32_t row_bytes) {
  std::filesystem::remove_all(directory);
  rocksdb::DB* opened = nullptr;
  CheckRocks(rocksdb::DB::Open(PlainOptions(false), directory, &opened));
  std::unique_ptr<rocksdb::DB> db(opened);
  double spent = 0;
  for (uint64_t row = 0; row < rows;) {
    std::vector<std::string> values;
    const uint64_t first = row;
    for (int i = 0; i < 8000 && row < rows; ++i, ++row) values.push_back(RowBytes(row, row_bytes));
    const double start = Now();
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < values.size(); ++i) {
      CheckRocks(batch.Put(BigEndian(first + i), values[i]));
    }
    CheckRocks(db->Write(rocksdb::WriteOptions(), &batch));
    spent += Now() - start;
  }
  const double start = Now();
  CheckRocks(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr));
  spent += Now() - start;
  db.reset();
  std::filesystem::remove_all(directory);
  return static_cast<double>(rows) * row_bytes / 1e6 / spent;
}

}  // namespace edo::bench
