#include "storage/rocksdb_page_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "storage/chunk_packing.h"
#include "storage/page_key.h"
#include "storage/rocksdb_block.h"

namespace edo::storage {
namespace {

constexpr uint32_t kUnits = 512;               // of kBlockUnit bytes: a lane's buffers
constexpr uint32_t kSlots = 2048;              // pages under way
constexpr uint32_t kMostRunBytes = 128 << 10;  // neighbours that are read together
constexpr unsigned kSubmitReads = 32;          // handed to the kernel at a time
constexpr unsigned kDepth = BlockRing::kDepth;
constexpr int kPatience = 1000;     // tries to hand reads to a kernel that is short of memory
constexpr uint32_t kMostWrong = 3;  // wrong pages of a file, until it is left to RocksDB
constexpr size_t kMostMaps = 16;    // that a stream holds on to

struct FreeMemory {
  void operator()(char* memory) const { std::free(memory); }
};

bool Late(const Deadline& deadline) {
  return deadline && std::chrono::steady_clock::now() >= *deadline;
}
Status LateStatus() { return Status::DeadlineExceeded("the deadline passed before it was read"); }

// Buffers handed out in order and taken back in any: a ring of units. A range is free again when it
// and all that were handed out before it have been given back.
class UnitRing {
 public:
  // First unit of `count` that lie together, or nothing.
  std::optional<uint32_t> Allocate(uint32_t count) {
    if (used_ == 0) head_ = tail_ = 0;  // the same few units again: they are in the CPU's cache
    uint32_t at = head_;
    uint32_t skipped = 0;
    if (at + count > kUnits) {
      skipped = kUnits - at;
      at = 0;
    }
    if (used_ + skipped + count > kUnits) return std::nullopt;
    if (skipped > 0) Mark(head_, skipped, true);
    Mark(at, count, false);
    head_ = (at + count) % kUnits;
    used_ += skipped + count;
    Shrink();
    return at;
  }
  // `count` more units behind the range handed out last, which ends at unit `end`.
  bool Extend(uint32_t end, uint32_t count) {
    if (end + count > kUnits || used_ + count > kUnits) return false;
    Mark(end, count, false);
    head_ = (end + count) % kUnits;
    used_ += count;
    return true;
  }
  void Free(uint32_t first, uint32_t count) {
    Mark(first, count, true);
    Shrink();
  }

 private:
  void Mark(uint32_t first, uint32_t count, bool free) {
    std::fill_n(free_.begin() + first, count, free);
  }
  void Shrink() {
    while (used_ > 0 && free_[tail_]) {
      tail_ = (tail_ + 1) % kUnits;
      --used_;
    }
  }
  std::array<bool, kUnits> free_{};
  uint32_t head_ = 0;
  uint32_t tail_ = 0;
  uint32_t used_ = 0;  // from tail_ to head_
};

}  // namespace

// What one thread reads with.
class PageReader::Lane {
 public:
  explicit Lane(PageReader* reader) : reader_(reader), parts_(reader->parts_) {
    for (uint32_t i = 0; i < kSlots; ++i) slots_[i].next = i + 1;
  }

  void Read(PageStream* stream) {
    stream_ = stream;
    for (;;) {
      const bool more = Fill();
      if (queued_ + in_flight_ == 0) {
        if (run_) {
          CountRefusal();
        } else if (!others_.empty()) {
          ReadOthers();
        } else if (!more) {
          break;
        }
        continue;
      }
      // Waits for several where many are under way: fewer calls of the kernel, and the queue stays
      // nearly full.
      const bool full = !more || carry_ || queued_ + in_flight_ >= kDepth;
      SubmitAndReap(full ? std::max(1u, (queued_ + in_flight_) / 8) : 0);
      if (others_.size() >= PageGetter::kMost) ReadOthers();
    }
    maps_.clear();
    generation_ = kNoGeneration;
    FlushCounts();
  }

 private:
  struct Run {  // neighbours in a file, read as one
    const BlockFile* file = nullptr;
    uint32_t first_unit = 0;
    uint32_t units = 0;       // 0: no run
    uint32_t first_slot = 0;  // of its pages
    uint32_t last_slot = 0;
    uint64_t offset = 0;  // in the file, of whole units
    uint64_t end = 0;     // of the last block; less than a unit before the end of the read
    uint64_t next = 0;    // number of the page that would follow

    uint32_t bytes() const { return units * static_cast<uint32_t>(kBlockUnit); }
  };
  struct Slot {
    PageRequest request;
    uint32_t next = 0;  // of the run, or free
  };
  struct Other {
    PageRequest request;
    const BlockFile* disproved = nullptr;  // the file that it was not found right in
  };

  // Takes requests until there are none (false), the queue is full, or a number of reads is queued
  // that is worth a call of the kernel.
  bool Fill() {
    bool more = true;
    while (queued_ < kSubmitReads && queued_ + in_flight_ + (run_ ? 1 : 0) < kDepth) {
      PageRequest request;
      if (carry_) {
        request = *carry_;
        carry_.reset();
      } else if (!stream_->Next(&request)) {
        more = false;
        break;
      } else if (Late(request.deadline)) {
        stream_->Done(request, LateStatus(), PageView());
        continue;
      }
      const BlockFile* const file = FileOf(request);
      if (file == nullptr) {
        AddOther(request, nullptr);
        if (others_.size() >= PageGetter::kMost) break;
        continue;
      }
      if (run_ && Extend(request, *file)) continue;
      if (!QueueRun() || !Begin(request, *file)) {
        carry_ = request;
        break;
      }
    }
    if (!QueueRun()) return true;
    return more;
  }

  // Null: the page goes through RocksDB.
  const BlockFile* FileOf(const PageRequest& request) {
    if (parts_.maps == nullptr || request.kind != PageKind::kChunk) return nullptr;
    if (request.generation != generation_) {
      map_ = nullptr;
      for (const auto& [generation, map] : maps_) {
        if (generation == request.generation) map_ = map.get();
      }
      if (map_ == nullptr) {
        if (maps_.size() >= kMostMaps) {
          Drain();
          maps_.clear();
        }
        maps_.emplace_back(request.generation, parts_.maps->Of(request.generation));
        map_ = maps_.back().second.get();
      }
      generation_ = request.generation;
      file_ = nullptr;
    }
    if (file_ == nullptr || request.number - file_->first >= file_->count) {
      file_ = map_->Find(request.number);
    }
    if (file_ != nullptr && file_->wrong.load(std::memory_order_relaxed) > kMostWrong) {
      return nullptr;
    }
    return file_;
  }

  // Units from `offset`, the start of one, to `end`.
  static uint32_t UnitsTo(uint64_t offset, uint64_t end) {
    return static_cast<uint32_t>((end - offset + kBlockUnit - 1) / kBlockUnit);
  }

  bool Extend(const PageRequest& request, const BlockFile& file) {
    if (run_->file != &file || request.number != run_->next || free_slot_ == kSlots) return false;
    const BlockFile::Place place = file.PlaceOf(request.number);
    const uint64_t end = place.offset + place.bytes;
    const uint32_t units = UnitsTo(run_->offset, end);
    if (units * kBlockUnit > kMostRunBytes) return false;
    // Compressed blocks end inside a unit; the next may need no more of them.
    if (units > run_->units &&
        !units_.Extend(run_->first_unit + run_->units, units - run_->units)) {
      return false;
    }
    const uint32_t slot = TakeSlot(request);
    slots_[run_->last_slot].next = slot;
    run_->last_slot = slot;
    run_->units = units;
    run_->end = end;
    ++run_->next;
    return true;
  }

  uint32_t TakeSlot(const PageRequest& request) {
    const uint32_t slot = free_slot_;
    free_slot_ = slots_[slot].next;
    slots_[slot] = {request, kSlots};
    return slot;
  }

  bool Begin(const PageRequest& request, const BlockFile& file) {
    if (!Prepare()) {
      AddOther(request, nullptr);
      return true;
    }
    if (free_slot_ == kSlots) return false;
    const BlockFile::Place place = file.PlaceOf(request.number);
    const uint64_t offset = place.offset / kBlockUnit * kBlockUnit;
    const uint64_t end = place.offset + place.bytes;
    const uint32_t units = UnitsTo(offset, end);
    const std::optional<uint32_t> unit = units_.Allocate(units);
    if (!unit) return false;
    const uint32_t slot = TakeSlot(request);
    run_ = Run{&file, *unit, units, slot, slot, offset, end, request.number + 1};
    return true;
  }

  // Ring and buffers, when the first chunk is read. False: no memory.
  bool Prepare() {
    if (!buffers_) {
      constexpr size_t kBytes = kUnits * kBlockUnit;
      buffers_.reset(static_cast<char*>(std::aligned_alloc(kBytes, kBytes)));
      if (!buffers_) return false;
      ::madvise(buffers_.get(), kBytes, MADV_HUGEPAGE);  // fewer misses of the TLB; or not
    }
    if (!ring_) ring_ = reader_->rings_.Take();
    if (!ring_) ring_ = MakePreadRing();
    return true;
  }

  // False: the queue is full; the run stays.
  bool QueueRun() {
    if (!run_) return true;
    char* const buffer = buffers_.get() + run_->first_unit * kBlockUnit;
    if (!ring_->Queue(
            {run_->file->file->fd(), run_->offset, run_->bytes(), buffer, run_->first_unit})) {
      return false;
    }
    runs_[run_->first_unit] = *run_;
    ++counts_.reads;
    counts_.bytes += run_->bytes();
    run_.reset();
    ++queued_;
    return true;
  }

  void SubmitAndReap(unsigned wait_for) {
    const int error = ring_->Submit(wait_for);
    if (error == 0) {
      in_flight_ += queued_;
      queued_ = 0;
      ++counts_.submits;
      counts_.depth += in_flight_;
    }
    const size_t taken = ring_->Reap(done_);
    for (size_t i = 0; i < taken; ++i) {
      // Of a submission that was refused in part, some are under way all the same.
      if (in_flight_ > 0) {
        --in_flight_;
      } else {
        --queued_;
      }
      Finish(static_cast<uint32_t>(done_[i].tag), done_[i].result);
    }
    refused_ = error != 0 && taken == 0 ? refused_ + 1 : 0;
    if (error == 0 || ((error == EAGAIN || error == EBUSY) && refused_ < kPatience)) return;
    Replace(std::string("io_uring failed: ") + std::strerror(error));
  }

  // Until nothing is under way that needs the maps.
  void Drain() {
    while (run_ || queued_ + in_flight_ > 0 || !others_.empty()) {
      const bool no_room = !QueueRun();
      if (queued_ + in_flight_ > 0) {
        SubmitAndReap(1);
      } else if (no_room) {
        CountRefusal();
      } else {
        ReadOthers();
      }
    }
  }

  // The ring has nothing, and took nothing.
  void CountRefusal() {
    if (++refused_ >= kPatience) Replace("io_uring takes no reads");
  }

  // The ring failed: what is outstanding, and all further reads of this lane, go by pread.
  void Replace(const std::string& why) {
    parts_.path->Note(why);
    ring_->Abandon();
    ring_ = MakePreadRing();
    queued_ = in_flight_ = 0;
    refused_ = 0;
    for (uint32_t unit = 0; unit < kUnits; ++unit) {
      if (runs_[unit].units > 0) Finish(unit, 0);
    }
  }

  // `result` bytes of a run have arrived, or -errno.
  void Finish(uint32_t unit, int32_t result) {
    const Run run = runs_[unit];
    runs_[unit].units = 0;
    char* const buffer = buffers_.get() + unit * kBlockUnit;
    int64_t got = result;
    if (result == -EAGAIN || result == -EINTR) got = 0;
    if (got >= 0 && static_cast<uint64_t>(got) < run.end - run.offset) {
      const OpenFile& file = *run.file->file;
      got = PreadRest(file.fd(), run.offset, run.bytes(), static_cast<size_t>(got), file.direct(),
                      buffer);
    }
    for (uint32_t slot = run.first_slot; slot != kSlots;) {
      const PageRequest request = slots_[slot].request;
      const uint32_t next = std::exchange(slots_[slot].next, free_slot_);
      free_slot_ = slot;
      slot = next;
      const BlockFile::Place place = run.file->PlaceOf(request.number);
      const uint64_t at = place.offset - run.offset;
      if (got < 0 || at + place.bytes > static_cast<uint64_t>(got)) {
        AddOther(request, run.file);  // unreadable, or behind the end of the file
        continue;
      }
      Result<PageView> page = Prove({buffer + at, place.bytes}, request);
      if (page.ok() && unpacker_.Unpack(&*page).ok()) {
        ++counts_.by_address;
        stream_->Done(request, Status::Ok(), *page);
      } else {
        AddOther(request, run.file);
      }
    }
    units_.Free(unit, run.units);
  }

  static Result<PageView> Prove(std::string_view block, const PageRequest& request) {
    const Result<std::string_view> page =
        PageInBlock(block, PageId(request.kind, request.generation, request.number));
    if (!page.ok()) return page.status();
    return OpenPage(*page, request.number);
  }

  // Reads what RocksDB is to be asked for: one MultiGet for each column family.
  void ReadOthers() {
    std::vector<Other> others;
    others.swap(others_);
    std::sort(others.begin(), others.end(), [](const Other& a, const Other& b) {
      const bool a_keys = a.request.kind != PageKind::kChunk;
      const bool b_keys = b.request.kind != PageKind::kChunk;
      return a_keys != b_keys ? a_keys < b_keys : IdOf(a.request) < IdOf(b.request);
    });
    std::array<uint64_t, PageGetter::kMost> ids;
    std::array<const Other*, PageGetter::kMost> group;
    for (size_t i = 0; i < others.size();) {
      const bool keys = others[i].request.kind != PageKind::kChunk;
      size_t count = 0;
      for (; i < others.size() && count < group.size(); ++i) {
        const Other& other = others[i];
        if ((other.request.kind != PageKind::kChunk) != keys) break;
        if (other.disproved == nullptr && Late(other.request.deadline)) {
          stream_->Done(other.request, LateStatus(), PageView());
          continue;
        }
        ids[count] = IdOf(other.request);
        group[count++] = &other;
      }
      if (count == 0) continue;
      if (!keys) counts_.by_multiget += count;
      parts_.getter->Get(
          keys ? PageKind::kKeys : PageKind::kChunk, std::span(ids).first(count),
          [&](size_t j, const Status& read, const PageView& found) {
            const PageRequest& request = group[j]->request;
            PageView page = found;
            Status status = read;
            if (status.ok() && request.kind == PageKind::kChunk) {
              status = unpacker_.Unpack(&page);
              if (!status.ok()) {
                status = status.WithContext(parts_.getter->FileOf(request.kind, IdOf(request)));
              }
            }
            if (status.ok() && group[j]->disproved) Distrust(*group[j]);
            stream_->Done(request, status, status.ok() ? page : PageView());
          });
    }
    others.clear();
    if (others_.empty()) others_.swap(others);  // keeps its memory
  }

  // RocksDB had a page right that did not prove at its address.
  void Distrust(const Other& other) {
    const uint32_t wrong = other.disproved->wrong.fetch_add(1, std::memory_order_relaxed);
    if (wrong > 0) return;
    parts_.path->Note(other.disproved->file->name() + ": " + "chunk " +
                      std::to_string(other.request.number) +
                      " could not be read at its address, RocksDB read it");
  }

  static uint64_t IdOf(const PageRequest& r) { return PageId(r.kind, r.generation, r.number); }

  void AddOther(const PageRequest& request, const BlockFile* disproved) {
    others_.push_back({request, disproved});
  }

  void FlushCounts() {
    ReadPath& path = *parts_.path;
    const auto add = [](std::atomic<uint64_t>* to, uint64_t* count) {
      if (*count > 0) to->fetch_add(std::exchange(*count, 0), std::memory_order_relaxed);
    };
    add(&path.device_reads, &counts_.reads);
    add(&path.device_bytes, &counts_.bytes);
    add(&path.chunks_by_address, &counts_.by_address);
    add(&path.chunks_by_multiget, &counts_.by_multiget);
    uint64_t samples = counts_.submits;
    add(&path.uring_batches, &counts_.submits);
    add(&path.depth_samples, &samples);
    add(&path.depth_sum, &counts_.depth);
  }

  PageReader* const reader_;
  const Parts& parts_;
  PageStream* stream_ = nullptr;

  // Maps of the generations that the stream has met; they keep the files open.
  static constexpr uint64_t kNoGeneration = ~uint64_t{0};
  std::vector<std::pair<uint64_t, std::shared_ptr<const BlockMap>>> maps_;
  uint64_t generation_ = kNoGeneration;  // of the two below
  const BlockMap* map_ = nullptr;
  const BlockFile* file_ = nullptr;

  std::unique_ptr<BlockRing> ring_;
  std::unique_ptr<char, FreeMemory> buffers_;
  UnitRing units_;
  std::optional<PageRequest> carry_;  // taken from the stream, no room yet
  std::optional<Run> run_;            // may still grow; not queued yet
  unsigned queued_ = 0;               // reads that the ring has, the kernel not yet
  unsigned in_flight_ = 0;
  int refused_ = 0;
  std::array<Run, kUnits> runs_;  // by first unit; 0 units = none
  std::array<Slot, kSlots> slots_;
  uint32_t free_slot_ = 0;  // the first of a list that ends with kSlots
  ChunkUnpacker unpacker_;
  std::array<BlockDone, kDepth> done_;
  std::vector<Other> others_;

  struct {
    uint64_t reads = 0, bytes = 0, by_address = 0, by_multiget = 0, submits = 0, depth = 0;
  } counts_;
};

PageReader::PageReader(Parts parts)
    : parts_(std::move(parts)),
      rings_(parts_.maps != nullptr && parts_.io_uring, parts_.rings, parts_.path) {}

PageReader::~PageReader() = default;

std::unique_ptr<PageReader::Lane> PageReader::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Lane> lane = std::move(free_.back());
      free_.pop_back();
      return lane;
    }
  }
  return std::make_unique<Lane>(this);
}

void PageReader::GiveBack(std::unique_ptr<Lane> lane) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(lane));
}

void PageReader::ReadStream(PageStream* stream) {
  std::unique_ptr<Lane> lane = Take();
  lane->Read(stream);
  GiveBack(std::move(lane));
}

namespace {

// The pages of one ReadPages, shared by its threads, which take groups of them in turn.
struct SharedPages {
  const PageKind kind;
  const uint64_t generation;
  const std::span<const uint64_t> numbers;
  const Deadline& deadline;
  const PageFunction& fn;
  std::atomic<size_t> next{0};
  std::mutex one_at_a_time;
  bool alone = true;  // one thread: nobody to lock out
};

class ListedPages : public PageStream {
 public:
  explicit ListedPages(SharedPages* pages) : pages_(pages) {}
  bool Next(PageRequest* request) override {
    if (at_ == end_) {
      at_ = std::min(pages_->next.fetch_add(PageGetter::kMost), pages_->numbers.size());
      end_ = std::min(at_ + PageGetter::kMost, pages_->numbers.size());
      if (at_ == end_) return false;
    }
    *request = {pages_->kind, pages_->generation, pages_->numbers[at_], pages_->deadline, at_};
    ++at_;
    return true;
  }
  void Done(const PageRequest& request, const Status& status, const PageView& page) override {
    if (pages_->alone) {
      pages_->fn(request.tag, status, page);
      return;
    }
    const std::lock_guard lock(pages_->one_at_a_time);
    pages_->fn(request.tag, status, page);
  }

 private:
  SharedPages* const pages_;
  size_t at_ = 0;
  size_t end_ = 0;
};

}  // namespace

void PageReader::ReadPages(PageKind kind, uint64_t generation, std::span<const uint64_t> numbers,
                           const Deadline& deadline, uint32_t threads, const PageFunction& fn) {
  SharedPages pages{kind, generation, numbers, deadline, fn};
  const auto work = [&] {
    ListedPages stream(&pages);
    ReadStream(&stream);
  };
  const size_t useful = std::min<size_t>(threads, numbers.size() / PageGetter::kMost);
  std::vector<std::thread> helpers;
  pages.alone = useful <= 1;
  try {
    while (helpers.size() + 1 < useful) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // Fewer threads than wished for; the work gets done all the same.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace edo::storage
