#include "gpucache/row_cache.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpucache/budget.h"
#include "kernels/host_rows.h"
#include "kernels/score.h"

namespace edo::gpucache {

using kernels::BlockView;
using kernels::Event;
using kernels::FillArgs;
using kernels::kNoPosition;
using kernels::kNoSlot;
using kernels::kSlots;
using kernels::Stream;

namespace {

// Blocks that let `rows` rows be resident together: half as many slots again as rows, because rows
// spread unevenly over blocks.
uint64_t WantedBlocks(uint64_t rows) {
  return std::max<uint64_t>(1, (rows + rows / 2 + kSlots - 1) / kSlots);
}

// The clock of next uses begins shortly before its 32 bits begin again, so that every longer loop,
// those of the tests too, passes that point.
constexpr uint32_t kFirstTime = 0u - 1000;

constexpr uint64_t kMostBlocks = (uint64_t{1} << 27) - 1;  // slot numbers fit 32 bits

}  // namespace

// Blocks of one shape. `blocks` is replaced as a whole when the class is resized.
struct SizeClass {
  struct Blocks {
    BlockView view;
    std::unique_ptr<FrequencySketch> sketch;
    uint64_t lookups_a_step = 1;  // of the clock
    // (blocks, 32), or null; as BlockView::next_use, but not for readers, which copy the view.
    // Guarded by RowCache::fill_mutex_.
    uint32_t* next_use = nullptr;

    BlockView ViewForFills() const {
      BlockView fills = view;
      fills.next_use = next_use;
      return fills;
    }
  };

  kernels::BlockShape shape;
  std::atomic<Blocks*> blocks{nullptr};  // null: the class has no memory; every read misses
  std::atomic<uint64_t> lookups{0};
  // Guarded by RowCache::tables_mutex_.
  uint64_t tables = 0;
  uint64_t rows = 0;
  uint64_t wanted = 0;  // blocks, with room to grow
  // Guarded by RowCache::fill_mutex_.
  uint32_t look_aheads = 0;   // tables that look ahead
  uint32_t now = kFirstTime;  // by the clock of next uses

  uint64_t bytes() const {
    const Blocks* const b = blocks.load();
    return b ? b->view.blocks * shape.block_bytes() : 0;
  }
  // Counts lookups and says what time it is.
  static uint32_t Clock(SizeClass* c, const Blocks& b, uint64_t more) {
    return static_cast<uint32_t>(c->lookups.fetch_add(more, std::memory_order_relaxed) /
                                 b.lookups_a_step);
  }
  // When a row is used that one of the class's tables uses so many batches ahead; 0: not known.
  uint32_t TimeOf(uint32_t ahead) const {
    if (ahead == 0) return kernels::kNoUse;
    const uint32_t time = now + ahead * look_aheads;
    return time == kernels::kNoUse ? time + 1 : time;
  }
};

// One set of buffers for the fills of an asynchronous backend, in device memory and pinned.
struct RowCache::DeviceScratch {
  uint64_t capacity = 0;  // rows
  std::byte* device = nullptr;
  std::byte* pinned = nullptr;
  uint64_t uncounted = 0;  // rows of the last fill, whose slots were not counted yet
  // Of the last Foresee: (capacity) positions, then next uses.
  struct Uses {
    static constexpr uint64_t kBytes = 8 + 4;  // each
    uint64_t capacity = 0;
    std::byte* device = nullptr;
    std::byte* pinned = nullptr;
  } uses;

  static constexpr uint64_t kRowBytes = 8 + 8 + 4 + 4 + 4 + 4 + 2;  // see the pointers below
  static uint64_t Bytes(uint64_t rows) { return (rows + 1) * kRowBytes + 64; }
  struct Arrays {
    uint64_t* positions;
    uint64_t* evicted;
    uint32_t* segments;  // (rows + 1)
    uint32_t* slots;
    uint32_t* sources;
    uint32_t* next_use;
    uint16_t* frequencies;
  };
  Arrays At(std::byte* base) const {
    Arrays a{};
    const uint64_t n = capacity + 1;
    a.positions = reinterpret_cast<uint64_t*>(base);
    a.evicted = a.positions + n;
    a.segments = reinterpret_cast<uint32_t*>(a.evicted + n);
    a.slots = a.segments + n;
    a.sources = a.slots + n;
    a.next_use = a.sources + n;
    a.frequencies = reinterpret_cast<uint16_t*>(a.next_use + n);
    return a;
  }
};

// ---- making ------------------------------------------------------------------------------------

RowCache::RowCache(std::shared_ptr<kernels::Backend> backend, const RowCacheOptions& options)
    : backend_(std::move(backend)),
      options_(options),
      scratch_(std::make_unique<DeviceScratch>()),
      positions_(uint64_t{1} << kernels::kPositionBits) {}

Result<std::unique_ptr<RowCache>> RowCache::Make(std::shared_ptr<kernels::Backend> backend,
                                                 const RowCacheOptions& options) {
  if (options.bytes == 0) return Status::InvalidArgument("a row cache of 0 bytes");
  if (options.group_shift.value_or(0) > 3) {
    return Status::InvalidArgument("groups of " + std::to_string(1u << *options.group_shift) +
                                   " neighbouring rows; at most 8 share a block");
  }
  auto cache = std::unique_ptr<RowCache>(new RowCache(std::move(backend), options));
  EDO_ASSIGN_OR_RETURN(cache->choice_, cache->backend_->CreateEvent());
  EDO_ASSIGN_OR_RETURN(cache->filled_, cache->backend_->CreateEvent());
  EDO_ASSIGN_OR_RETURN(cache->foreseen_, cache->backend_->CreateEvent());
  return cache;
}

RowCache::~RowCache() {
  (void)RetirePending(true);
  (void)DrainReaders();
  for (const auto& c : classes_) (void)Resize(c.get(), 0);
  for (const auto& [handle, event] : streams_) backend_->DestroyEvent(event);
  if (scratch_->capacity > 0) {
    backend_->Free(scratch_->device, DeviceScratch::Bytes(scratch_->capacity));
    backend_->FreePinned(scratch_->pinned, DeviceScratch::Bytes(scratch_->capacity));
  }
  if (scratch_->uses.capacity > 0) {
    const uint64_t bytes = scratch_->uses.capacity * DeviceScratch::Uses::kBytes;
    backend_->Free(scratch_->uses.device, bytes);
    backend_->FreePinned(scratch_->uses.pinned, bytes);
  }
  backend_->DestroyEvent(choice_);
  backend_->DestroyEvent(filled_);
  backend_->DestroyEvent(foreseen_);
}

// ---- tables and the budget
// -----------------------------------------------------------------------

Result<std::shared_ptr<const CachedTable>> RowCache::AddTable(const kernels::RowFormat& format,
                                                              uint64_t rows, uint32_t cell_bytes) {
  if (format.side_bytes > kernels::kMaxSideBytes) {
    return Status::InvalidArgument("side data of " + std::to_string(format.side_bytes) +
                                   " bytes a row; the cache holds at most " +
                                   std::to_string(kernels::kMaxSideBytes));
  }
  if (cell_bytes % 16 != 0) {
    return Status::InvalidArgument("cells of " + std::to_string(cell_bytes) +
                                   " bytes; they must be a multiple of 16");
  }
  const kernels::BlockShape shape = kernels::ShapeOf(format, cell_bytes);
  if (shape.block_bytes() > options_.bytes) {
    return Status::InvalidArgument("the cache has " + std::to_string(options_.bytes) +
                                   " bytes, less than one block of " + std::to_string(kSlots) +
                                   " rows of " + std::to_string(format.row_bytes()) + " bytes (" +
                                   std::to_string(shape.block_bytes()) + ")");
  }
  // Made before the locks are taken: were there no memory for it, its deleter would run here.
  CachedTable* const table = new CachedTable();
  const std::shared_ptr<const CachedTable> handle(table, [this](const CachedTable* t) {
    if (t->size_class_ != nullptr) RemoveTable(*t);
    delete t;
  });
  const std::lock_guard tables(tables_mutex_);
  const std::lock_guard fill(fill_mutex_);
  const std::optional<uint64_t> first = positions_.Take(std::max<uint64_t>(1, rows));
  if (!first) {
    return Status::NoSpace("no range of " + std::to_string(rows) + " positions is left of the 2^" +
                           std::to_string(kernels::kPositionBits) + " that the cache gives out");
  }
  SizeClass* const size_class = ClassOf(shape);
  ++size_class->tables;
  size_class->rows += rows;
  const uint64_t wanted = WantedBlocks(size_class->rows);
  if (wanted > size_class->wanted) {
    // Doubling: a thousand small tables of one shape are ten resizes.
    size_class->wanted = std::max(wanted, size_class->wanted * 2);
  }
  Status s = Redivide(size_class);
  if (s.ok() && size_class->blocks.load() == nullptr) {
    s = Status::NoSpace("no room for a block of rows of " + std::to_string(format.row_bytes()) +
                        " bytes beside the other tables in the cache of " +
                        std::to_string(options_.bytes) + " bytes");
  }
  if (!s.ok()) {
    size_class->rows -= rows;
    if (--size_class->tables == 0) {
      (void)Resize(size_class, 0);
      size_class->wanted = 0;
    }
    positions_.Give(*first, std::max<uint64_t>(1, rows));
    return s;
  }
  table->size_class_ = size_class;
  table->format_ = format;
  table->first_position_ = *first;
  table->rows_ = rows;
  return handle;
}

// The class of a shape, made when it is new. One without tables goes to the end: of classes that
// cannot all have a block, those that have been here longer keep theirs (Redivide). Needs
// tables_mutex_.
SizeClass* RowCache::ClassOf(const kernels::BlockShape& shape) {
  const auto known = std::find_if(classes_.begin(), classes_.end(),
                                  [&](const auto& c) { return c->shape == shape; });
  if (known == classes_.end()) {
    classes_.push_back(std::make_unique<SizeClass>());
    classes_.back()->shape = shape;
    return classes_.back().get();
  }
  SizeClass* const size_class = known->get();
  if (size_class->tables == 0) std::rotate(known, known + 1, classes_.end());
  return size_class;
}

void RowCache::RemoveTable(const CachedTable& table) {
  const std::lock_guard tables(tables_mutex_);
  const std::lock_guard fill(fill_mutex_);
  SizeClass* const c = table.size_class_;
  if (look_aheads_.erase(table.first_position_) != 0) DropLookAhead(c);
  --c->tables;
  c->rows -= table.rows_;
  // Positions whose rows may still be there (the device failed) are never given to another table.
  if (Forget(table).ok()) {
    positions_.Give(table.first_position_, std::max<uint64_t>(1, table.rows_));
  }
}

// Clears a table's rows, which no fill may bring back.
Status RowCache::Forget(const CachedTable& table) {
  EDO_RETURN_IF_ERROR(RetirePending(true));
  if (!backend_->synchronous()) EDO_RETURN_IF_ERROR(backend_->Synchronize(filled_));
  SizeClass* const c = table.size_class_;
  if (c->tables == 0) {
    c->wanted = 0;
    return Resize(c, 0);
  }
  const auto* const blocks = c->blocks.load();
  if (blocks == nullptr) return Status::Ok();
  EDO_RETURN_IF_ERROR(backend_->InvalidateRange(blocks->view, table.first_position_,
                                                table.first_position_ + table.rows_, {}));
  // The sweep passes over every block anyway, so scores that nobody filled beside are aged too.
  EDO_RETURN_IF_ERROR(backend_->AgeScores(blocks->view, SizeClass::Clock(c, *blocks, 0), {}));
  return backend_->Synchronize(Stream{});
}

// Gives every class its share. A class keeps what it has when that is at most an eighth below its
// share: what it holds is worth more than the rest of the share. An error says that `grown` did not
// get any memory; another class that did not get its share has the size it had or, when even that
// is refused, no memory until the next division.
Status RowCache::Redivide(SizeClass* grown) {
  std::vector<ClassDemand> demands;
  std::vector<SizeClass*> classes;
  for (const auto& c : classes_) {
    if (c->tables == 0) continue;
    classes.push_back(c.get());
    demands.push_back({c->shape.block_bytes(), std::min(c->wanted, kMostBlocks)});
  }
  const std::vector<uint64_t> shares = DivideBudget(options_.bytes, demands);
  std::vector<std::pair<SizeClass*, uint64_t>> grow;
  EDO_RETURN_IF_ERROR(RetirePending(true));
  for (size_t i = 0; i < classes.size(); ++i) {
    const auto* const blocks = classes[i]->blocks.load();
    const uint64_t has = blocks ? blocks->view.blocks : 0;
    if (has == shares[i]) continue;
    if (has > shares[i]) {
      const Status s = Resize(classes[i], shares[i]);  // first those that give
      if (!s.ok() && classes[i] == grown) return s;
    } else if (classes[i] == grown || shares[i] - has > has / 8) {
      grow.emplace_back(classes[i], shares[i]);
    }
  }
  for (const auto& [c, share] : grow) {
    const uint64_t had = c->bytes() / c->shape.block_bytes();
    const Status s = Resize(c, share);
    if (s.ok()) continue;
    if (had > 0 && Resize(c, had).ok()) continue;
    if (c == grown) return s;
  }
  return Status::Ok();
}

// Replaces the blocks of a class by `count` empty ones; on an error it has none.
Status RowCache::Resize(SizeClass* size_class, uint64_t count) {
  auto* const old = size_class->blocks.exchange(nullptr);
  const kernels::BlockShape& shape = size_class->shape;
  const auto free_blocks = [&](const BlockView& v) {
    backend_->Free(v.headers, v.blocks * shape.header_bytes);
    backend_->Free(v.payload, v.blocks * shape.payload_bytes());
    backend_->Free(v.pins, v.blocks * kSlots);
    backend_->Free(v.next_use, v.blocks * kSlots * sizeof(uint32_t));
  };
  if (old != nullptr) {
    const Status drained = DrainReaders();
    if (!drained.ok()) {
      size_class->blocks.store(old);  // somebody may still read it
      return drained;
    }
    bytes_.fetch_sub(old->view.blocks * shape.block_bytes(), std::memory_order_relaxed);
    free_blocks(old->ViewForFills());
    delete old;
  }
  if (count == 0) return Status::Ok();
  auto blocks = std::make_unique<SizeClass::Blocks>();
  blocks->sketch = std::make_unique<FrequencySketch>(count * kSlots);
  BlockView& view = blocks->view;
  view.shape = shape;
  view.group_shift = options_.group_shift.value_or(shape.columns > 1 ? 1 : 0);
  view.blocks = count;
  const auto allocate = [&](uint64_t bytes, auto** memory) -> Status {
    EDO_ASSIGN_OR_RETURN(void* const got, backend_->Allocate(bytes));
    *memory = static_cast<std::remove_reference_t<decltype(**memory)>*>(got);
    return Status::Ok();
  };
  Status s = allocate(count * shape.header_bytes, &view.headers);
  if (s.ok()) s = allocate(count * shape.payload_bytes(), &view.payload);
  if (s.ok()) s = allocate(count * kSlots, &view.pins);
  if (!s.ok()) {
    free_blocks(view);
    return s.WithContext("row cache");
  }
  blocks->lookups_a_step = count * kSlots * kernels::kLookupsPerSlotAndStep;
  bytes_.fetch_add(count * shape.block_bytes(), std::memory_order_relaxed);
  size_class->blocks.store(blocks.release());
  // Without memory for them, next uses are done without.
  if (size_class->look_aheads > 0) (void)AllocateNextUses(size_class);
  return Status::Ok();
}

// Waits until no read that is under way can see what was there before.
Status RowCache::DrainReaders() {
  if (backend_->synchronous()) {
    gate_.WaitUntilPast(gate_.Advance());
    return Status::Ok();
  }
  const std::lock_guard lock(streams_mutex_);
  for (const auto& [handle, event] : streams_) {
    EDO_RETURN_IF_ERROR(backend_->Synchronize(event));
  }
  EDO_RETURN_IF_ERROR(backend_->Synchronize(foreseen_));
  return backend_->Synchronize(filled_);
}

// ---- reading
// -------------------------------------------------------------------------------------

// The event that says how far a stream has read. Needs streams_mutex_. Streams that are done are
// forgotten when a new one comes, so that programs may make streams as they like.
Result<Event> RowCache::EventOf(Stream stream) {
  const auto known = streams_.find(stream.handle);
  if (known != streams_.end()) return known->second;
  for (auto it = streams_.begin(); it != streams_.end();) {
    EDO_ASSIGN_OR_RETURN(const bool done, backend_->IsDone(it->second));
    if (done) backend_->DestroyEvent(it->second);
    it = done ? streams_.erase(it) : std::next(it);
  }
  EDO_ASSIGN_OR_RETURN(const Event event, backend_->CreateEvent());
  streams_[stream.handle] = event;
  return event;
}

// Runs launch(view or null, clock) where the blocks stay what they are until it is done.
template <typename Launch>
Status RowCache::Read(SizeClass* size_class, uint32_t count, Stream stream, Launch launch) {
  if (backend_->synchronous()) {
    const EpochGate::Reader reader = gate_.Enter();
    const auto* const blocks = size_class->blocks.load();
    if (blocks == nullptr) return launch(BlockView{size_class->shape}, 0);
    return launch(blocks->view, SizeClass::Clock(size_class, *blocks, count));
  }
  const std::lock_guard lock(streams_mutex_);
  const auto* const blocks = size_class->blocks.load();
  if (blocks == nullptr) return launch(BlockView{size_class->shape}, 0);
  EDO_ASSIGN_OR_RETURN(const Event event, EventOf(stream));
  // A read that is enqueued after a choice must not see the tags from before it: the write that
  // follows the choice does not wait for this read. Asked for each time, because a stream may have
  // the handle of one that is gone.
  EDO_RETURN_IF_ERROR(backend_->WaitFor(stream, choice_));
  EDO_RETURN_IF_ERROR(launch(blocks->view, SizeClass::Clock(size_class, *blocks, count)));
  return backend_->Record(event, stream);
}

Status RowCache::Gather(const CachedTable& table, const GatherQuery& query, Stream stream) {
  if (query.count == 0) return Status::Ok();
  const auto launch = [&](const BlockView& view, uint32_t clock) {
    kernels::ProbeGatherArgs args;
    args.blocks = view;
    args.format = query.values == 0 ? table.format_ : Leading(table.format_, query.values);
    args.query = {query.rows, query.count, table.first_position_, table.rows_};
    if (query.table_rows != 0) {
      args.query.table_rows = query.table_rows;
      args.query.first_row = query.first_row;
      args.query.tier_rows = table.rows_;
    }
    args.out = query.out;
    args.zero_absent = query.zero_absent;
    args.clock = clock;
    args.misses = query.misses;
    args.marks = query.marks;
    args.counts = query.counts;
    return backend_->ProbeGather(args, stream);
  };
  const kernels::QueryCounts before =
      backend_->synchronous() ? *query.counts : kernels::QueryCounts();
  EDO_RETURN_IF_ERROR(Read(table.size_class_, query.count, stream, launch));
  if (backend_->synchronous()) {
    const kernels::QueryCounts& now = *query.counts;
    const uint32_t misses = now.misses - before.misses;
    AddCounts(
        query.count - misses - (now.absent - before.absent) - (now.elsewhere - before.elsewhere),
        misses);
  }
  return Status::Ok();
}

void RowCache::CopyRows(const CachedTable& table, std::span<const uint64_t> rows, std::byte* codes,
                        std::vector<uint32_t>* misses) {
  misses->resize(rows.size());
  if (rows.empty()) return;
  const auto count = static_cast<uint32_t>(rows.size());
  uint32_t missed = 0;
  const auto launch = [&](const BlockView& view, uint32_t clock) {
    missed = kernels::CopyResident(view, table.format_,
                                   {rows.data(), count, table.first_position_, table.rows_}, clock,
                                   codes, misses->data());
    return Status::Ok();
  };
  (void)Read(table.size_class_, count, {}, launch);
  misses->resize(missed);
  AddCounts(count - missed, missed);
}

Status RowCache::Pool(const CachedTable& table, const PoolQuery& query, Stream stream) {
  if (query.bags.count == 0) return Status::Ok();
  const auto launch = [&](const BlockView& view, uint32_t clock) {
    kernels::ProbePoolArgs args;
    args.blocks = view;
    args.format = query.values == 0 ? table.format_ : Leading(table.format_, query.values);
    args.query = {query.rows, query.count, table.first_position_, table.rows_};
    args.bags = query.bags;
    args.out = query.out;
    args.clock = clock;
    args.incomplete = query.incomplete;
    args.marks = query.marks;
    args.counts = query.counts;
    return backend_->ProbePool(args, stream);
  };
  EDO_RETURN_IF_ERROR(Read(table.size_class_, query.count, stream, launch));
  // Rows of incomplete bags are counted when they are gathered.
  if (backend_->synchronous()) {
    AddCounts(query.count - query.counts->misses - query.counts->absent, 0);
  }
  return Status::Ok();
}

void RowCache::AddCounts(uint64_t hits, uint64_t misses) {
  hits_.fetch_add(hits, std::memory_order_relaxed);
  misses_.fetch_add(misses, std::memory_order_relaxed);
}

// ---- filling
// -------------------------------------------------------------------------------------

FillArgs RowCache::PendingFill::Args() const {
  FillArgs args;
  args.blocks = size_class->blocks.load()->ViewForFills();
  args.format = format;
  args.positions = positions.data();
  args.frequencies = frequencies.data();
  args.segments = segments.data();
  args.segment_count = static_cast<uint32_t>(segments.size() - 1);
  args.count = static_cast<uint32_t>(positions.size());
  args.clock = clock;
  args.next_use = next_use.data();
  args.now = size_class->now;
  args.slots = const_cast<uint32_t*>(slots.data());  // written by ChooseSlots only
  args.rows = codes.data();
  args.row_stride = format.row_bytes();
  args.sources = sources.data();
  return args;
}

// Missed rows as a fill: each once, sorted by block, with what the sketch knows. nullopt when the
// class has no memory.
std::optional<RowCache::PendingFill> RowCache::Sorted(const CachedTable& table,
                                                      std::span<const uint64_t> rows) {
  auto* const blocks = table.size_class_->blocks.load();
  if (blocks == nullptr || rows.empty()) return std::nullopt;
  struct Item {
    uint64_t block;
    uint64_t position;
    uint32_t source;
  };
  std::vector<Item> items;
  items.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= table.rows_) continue;
    const uint64_t position = table.first_position_ + rows[i];
    // A row that waits to be published has a slot, though nobody can see it: it must not get a
    // second one (row_layout.h, I3).
    if (waiting_.contains(position)) {
      rejected_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    const kernels::Place place =
        kernels::PlaceOf(position, blocks->view.blocks, blocks->view.group_shift);
    items.push_back({place.block, position, static_cast<uint32_t>(i)});
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return a.block != b.block ? a.block < b.block : a.position < b.position;
  });
  PendingFill fill;
  fill.size_class = table.size_class_;
  fill.format = table.format_;
  fill.clock = SizeClass::Clock(table.size_class_, *blocks, 0);
  const auto ahead = look_aheads_.find(table.first_position_);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto frequency = static_cast<uint16_t>(blocks->sketch->Observe(items[i].position));
    if (i > 0 && items[i].position == items[i - 1].position) {
      fill.frequencies.back() = frequency;
      continue;
    }
    if (i == 0 || items[i].block != items[i - 1].block) {
      fill.segments.push_back(static_cast<uint32_t>(fill.positions.size()));
    }
    fill.positions.push_back(items[i].position);
    fill.frequencies.push_back(frequency);
    fill.sources.push_back(items[i].source);
    fill.next_use.push_back(ahead == look_aheads_.end()
                                ? kernels::kNoUse
                                : fill.size_class->TimeOf(ahead->second.NextUse(
                                      items[i].position - table.first_position_)));
  }
  if (ahead != look_aheads_.end()) {
    // What is missed is asked for again soon, as a rule; of these rows it is known that they are
    // not, so the miss that brought them does not count.
    for (size_t i = 0; i < fill.positions.size(); ++i) {
      if (fill.next_use[i] == kernels::kNoUse) --fill.frequencies[i];
    }
  }
  fill.segments.push_back(static_cast<uint32_t>(fill.positions.size()));
  fill.slots.assign(fill.positions.size(), kNoSlot);
  return fill;
}

void RowCache::Fill(const CachedTable& table, std::span<const uint64_t> rows,
                    std::vector<std::byte>&& codes) {
  std::unique_lock lock(fill_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) {
    skipped_.fetch_add(rows.size(), std::memory_order_relaxed);
    return;
  }
  (void)RetirePending(false);
  if (pending_bytes_ + codes.size() > options_.pending_bytes && !pending_.empty()) {
    skipped_.fetch_add(rows.size(), std::memory_order_relaxed);
    return;
  }
  std::optional<PendingFill> sorted = Sorted(table, rows);
  if (!sorted || sorted->positions.empty()) return;
  std::vector<uint64_t> evicted(sorted->positions.size());
  sorted->codes = std::move(codes);
  // Laid aside first: a slot that was chosen is lost unless it is published.
  pending_.push_back(std::move(*sorted));
  PendingFill& fill = pending_.back();
  pending_bytes_ += fill.codes.size();
  const auto forget = [&] {
    pending_bytes_ -= fill.codes.size();
    pending_.pop_back();
  };
  FillArgs args = fill.Args();
  args.evicted = evicted.data();
  (void)backend_->ChooseSlots(args, {});
  uint64_t chosen = 0;
  for (const uint32_t slot : fill.slots) chosen += slot != kNoSlot;
  const auto went = static_cast<uint64_t>(
      std::count_if(evicted.begin(), evicted.end(), [](uint64_t p) { return p != kNoPosition; }));
  fills_.fetch_add(chosen, std::memory_order_relaxed);
  evictions_.fetch_add(went, std::memory_order_relaxed);
  rejected_.fetch_add(fill.slots.size() - chosen, std::memory_order_relaxed);
  if (chosen == 0) return forget();
  fill.epoch = gate_.Advance();
  if (gate_.AllPast(fill.epoch)) {
    (void)Write(fill);
    return forget();
  }
  deferred_.fetch_add(chosen, std::memory_order_relaxed);
  for (size_t i = 0; i < fill.slots.size(); ++i) {
    if (fill.slots[i] != kNoSlot) waiting_.emplace(fill.positions[i], &fill.next_use[i]);
  }
}

Status RowCache::Write(const PendingFill& fill) {
  const FillArgs args = fill.Args();
  EDO_RETURN_IF_ERROR(backend_->WriteSlots(args, {}));
  return backend_->PublishSlots(args, {});
}

// Completes fills whose readers are gone. Needs fill_mutex_ (but in the destructor).
Status RowCache::RetirePending(bool wait) {
  while (!pending_.empty()) {
    const PendingFill& fill = pending_.front();
    if (wait) {
      gate_.WaitUntilPast(fill.epoch);
    } else if (!gate_.AllPast(fill.epoch)) {
      return Status::Ok();
    }
    EDO_RETURN_IF_ERROR(Write(fill));
    for (size_t i = 0; i < fill.slots.size(); ++i) {
      if (fill.slots[i] != kNoSlot) waiting_.erase(fill.positions[i]);
    }
    pending_bytes_ -= fill.codes.size();
    pending_.pop_front();
  }
  return Status::Ok();
}

Status RowCache::Flush() {
  const std::lock_guard lock(fill_mutex_);
  EDO_RETURN_IF_ERROR(RetirePending(true));
  if (backend_->synchronous()) return Status::Ok();
  return backend_->Synchronize(filled_);
}

Status RowCache::FillFromDevice(const CachedTable& table, std::span<const uint64_t> rows,
                                const std::byte* codes, Stream stream) {
  const std::lock_guard lock(fill_mutex_);
  if (!fill_error_.ok()) return fill_error_;
  // The scratch buffers serve one fill at a time: while the last one runs, this one is skipped.
  EDO_ASSIGN_OR_RETURN(const bool idle, backend_->IsDone(filled_));
  if (!idle) {
    skipped_.fetch_add(rows.size(), std::memory_order_relaxed);
    return Status::Ok();
  }
  CountLastFill();
  std::optional<PendingFill> fill = Sorted(table, rows);
  if (!fill || fill->positions.empty()) return Status::Ok();
  EDO_RETURN_IF_ERROR(ReserveScratch(fill->positions.size()));
  // A fill that breaks off leaves slots chosen and its buffers perhaps in use: none follows it.
  fill_error_ = EnqueueFill(*fill, codes, stream);
  return fill_error_;
}

// Buffers for fills of `count` rows; no fill is under way.
Status RowCache::ReserveScratch(uint64_t count) {
  if (count <= scratch_->capacity) return Status::Ok();
  backend_->Free(scratch_->device, DeviceScratch::Bytes(scratch_->capacity));
  backend_->FreePinned(scratch_->pinned, DeviceScratch::Bytes(scratch_->capacity));
  *scratch_ = {};
  const uint64_t capacity = std::max<uint64_t>(4096, count);
  EDO_ASSIGN_OR_RETURN(void* const device, backend_->Allocate(DeviceScratch::Bytes(capacity)));
  auto pinned = backend_->AllocatePinned(DeviceScratch::Bytes(capacity));
  if (!pinned.ok()) {
    backend_->Free(device, DeviceScratch::Bytes(capacity));
    return pinned.status();
  }
  scratch_->capacity = capacity;
  scratch_->device = static_cast<std::byte*>(device);
  scratch_->pinned = static_cast<std::byte*>(*pinned);
  return Status::Ok();
}

Status RowCache::EnqueueFill(const PendingFill& fill, const std::byte* codes, Stream stream) {
  const uint64_t count = fill.positions.size();
  const DeviceScratch::Arrays host = scratch_->At(scratch_->pinned);
  const DeviceScratch::Arrays device = scratch_->At(scratch_->device);
  const auto upload = [&](const auto& from, auto* to_host, auto* to_device) {
    const uint64_t bytes = from.size() * sizeof(from[0]);
    std::memcpy(to_host, from.data(), bytes);
    return backend_->CopyToDevice(to_device, to_host, bytes, stream);
  };
  EDO_RETURN_IF_ERROR(upload(fill.positions, host.positions, device.positions));
  EDO_RETURN_IF_ERROR(upload(fill.segments, host.segments, device.segments));
  EDO_RETURN_IF_ERROR(upload(fill.sources, host.sources, device.sources));
  EDO_RETURN_IF_ERROR(upload(fill.frequencies, host.frequencies, device.frequencies));
  FillArgs args = fill.Args();
  if (args.blocks.next_use != nullptr) {
    EDO_RETURN_IF_ERROR(upload(fill.next_use, host.next_use, device.next_use));
    args.next_use = device.next_use;
  } else {
    args.next_use = nullptr;
  }
  args.positions = device.positions;
  args.evicted = device.evicted;
  args.segments = device.segments;
  args.slots = device.slots;
  args.sources = device.sources;
  args.frequencies = device.frequencies;
  args.rows = codes;
  EDO_RETURN_IF_ERROR(backend_->WaitFor(stream, filled_));
  EDO_RETURN_IF_ERROR(backend_->WaitFor(stream, foreseen_));
  {
    // From the choice on, readers wait for it; those before it are waited for.
    const std::lock_guard streams(streams_mutex_);
    EDO_RETURN_IF_ERROR(backend_->ChooseSlots(args, stream));
    EDO_RETURN_IF_ERROR(backend_->Record(choice_, stream));
    for (const auto& [handle, event] : streams_) {
      EDO_RETURN_IF_ERROR(backend_->WaitFor(stream, event));
    }
  }
  EDO_RETURN_IF_ERROR(backend_->WriteSlots(args, stream));
  EDO_RETURN_IF_ERROR(backend_->PublishSlots(args, stream));
  EDO_RETURN_IF_ERROR(backend_->CopyToHost(host.slots, device.slots, count * 4, stream));
  EDO_RETURN_IF_ERROR(backend_->CopyToHost(host.evicted, device.evicted, count * 8, stream));
  EDO_RETURN_IF_ERROR(backend_->Record(filled_, stream));
  scratch_->uncounted = count;
  return Status::Ok();
}

// Adds the outcome of the last device fill, which is done, to the counters. Needs fill_mutex_.
void RowCache::CountLastFill() {
  if (scratch_->uncounted == 0) return;
  const DeviceScratch::Arrays host = scratch_->At(scratch_->pinned);
  for (uint64_t i = 0; i < scratch_->uncounted; ++i) {
    (host.slots[i] == kNoSlot ? rejected_ : fills_).fetch_add(1, std::memory_order_relaxed);
    if (host.evicted[i] != kNoPosition) evictions_.fetch_add(1, std::memory_order_relaxed);
  }
  scratch_->uncounted = 0;
}

// ---- looking ahead
// --------------------------------------------------------------------------------

Status RowCache::BeginLookAhead(const CachedTable& table) {
  const std::lock_guard lock(fill_mutex_);
  if (look_aheads_.contains(table.first_position_)) {
    return Status::Busy("the next reads of the table are foreseen by another loop");
  }
  SizeClass* const c = table.size_class_;
  if (c->look_aheads == 0) EDO_RETURN_IF_ERROR(AllocateNextUses(c));
  ++c->look_aheads;
  look_aheads_[table.first_position_];
  return Status::Ok();
}

Status RowCache::AppendBatch(const CachedTable& table, std::span<const uint64_t> rows) {
  std::vector<uint64_t> known;
  known.reserve(rows.size());
  for (const uint64_t row : rows) {
    if (row < table.rows_) known.push_back(row);
  }
  const std::lock_guard lock(fill_mutex_);
  const auto ahead = look_aheads_.find(table.first_position_);
  if (ahead == look_aheads_.end()) return Status::InvalidArgument("a look-ahead that has ended");
  std::vector<LookAhead::Use> changed;
  ahead->second.Append(known, &changed);
  return Tell(table, changed);
}

Status RowCache::AdvanceBatch(const CachedTable& table) {
  const std::lock_guard lock(fill_mutex_);
  const auto ahead = look_aheads_.find(table.first_position_);
  if (ahead == look_aheads_.end()) return Status::InvalidArgument("a look-ahead that has ended");
  std::vector<LookAhead::Use> changed;
  ahead->second.Advance(&changed);
  ++table.size_class_->now;
  return Tell(table, changed);
}

void RowCache::EndLookAhead(const CachedTable& table) {
  const std::lock_guard lock(fill_mutex_);
  const auto ahead = look_aheads_.find(table.first_position_);
  if (ahead == look_aheads_.end()) return;
  if (table.size_class_->look_aheads > 1) {
    // Slots that are not told keep a use until it has passed: an error is harmless.
    std::vector<LookAhead::Use> gone;
    for (const uint64_t row : ahead->second.KnownRows()) gone.push_back({row, 0});
    (void)Tell(table, gone);
  }
  look_aheads_.erase(ahead);
  DropLookAhead(table.size_class_);
}

// Memory for the next uses of a class's slots; none is known. Needs fill_mutex_.
Status RowCache::AllocateNextUses(SizeClass* size_class) {
  auto* const blocks = size_class->blocks.load();
  if (blocks == nullptr || blocks->next_use != nullptr) return Status::Ok();
  EDO_ASSIGN_OR_RETURN(void* const memory,
                       backend_->Allocate(blocks->view.blocks * kSlots * sizeof(uint32_t)));
  blocks->next_use = static_cast<uint32_t*>(memory);
  return Status::Ok();
}

// One table of the class looks ahead no more. Needs fill_mutex_.
void RowCache::DropLookAhead(SizeClass* size_class) {
  auto* const blocks = size_class->blocks.load();
  if (--size_class->look_aheads > 0 || blocks == nullptr) return;
  backend_->Free(blocks->next_use, blocks->view.blocks * kSlots * sizeof(uint32_t));
  blocks->next_use = nullptr;
}

// Tells the slots of rows, and fills that wait, when the rows are used next. Needs fill_mutex_.
Status RowCache::Tell(const CachedTable& table, std::span<const LookAhead::Use> uses) {
  const auto* const blocks = table.size_class_->blocks.load();
  if (blocks == nullptr || blocks->next_use == nullptr || uses.empty()) return Status::Ok();
  std::vector<uint64_t> positions;
  std::vector<uint32_t> next_use;
  positions.reserve(uses.size());
  next_use.reserve(uses.size());
  for (const LookAhead::Use& use : uses) {
    positions.push_back(table.first_position_ + use.row);
    next_use.push_back(table.size_class_->TimeOf(use.ahead));
    if (waiting_.empty()) continue;
    const auto waiting = waiting_.find(positions.back());
    if (waiting != waiting_.end()) *waiting->second = next_use.back();
  }
  const BlockView view = blocks->ViewForFills();
  if (!backend_->synchronous()) return TellDevice(view, positions, next_use);
  return backend_->Foresee(view, positions.data(), next_use.data(),
                           static_cast<uint32_t>(positions.size()), {});
}

// The device is told on the default stream, after the last fill and before the next.
Status RowCache::TellDevice(const BlockView& view, std::span<const uint64_t> positions,
                            std::span<const uint32_t> next_use) {
  DeviceScratch::Uses& scratch = scratch_->uses;
  EDO_RETURN_IF_ERROR(backend_->Synchronize(foreseen_));  // its buffers are used again
  const uint64_t count = positions.size();
  if (count > scratch.capacity) {
    backend_->Free(scratch.device, scratch.capacity * DeviceScratch::Uses::kBytes);
    backend_->FreePinned(scratch.pinned, scratch.capacity * DeviceScratch::Uses::kBytes);
    scratch = {};
    const uint64_t capacity = std::max<uint64_t>(4096, count + count / 2);
    const uint64_t bytes = capacity * DeviceScratch::Uses::kBytes;
    EDO_ASSIGN_OR_RETURN(void* const device, backend_->Allocate(bytes));
    auto pinned = backend_->AllocatePinned(bytes);
    if (!pinned.ok()) {
      backend_->Free(device, bytes);
      return pinned.status();
    }
    scratch = {capacity, static_cast<std::byte*>(device), static_cast<std::byte*>(*pinned)};
  }
  const uint64_t uses_at = count * sizeof(uint64_t);
  std::memcpy(scratch.pinned, positions.data(), uses_at);
  std::memcpy(scratch.pinned + uses_at, next_use.data(), count * sizeof(uint32_t));
  const Stream stream{};
  EDO_RETURN_IF_ERROR(backend_->WaitFor(stream, filled_));
  EDO_RETURN_IF_ERROR(backend_->CopyToDevice(scratch.device, scratch.pinned,
                                             count * DeviceScratch::Uses::kBytes, stream));
  EDO_RETURN_IF_ERROR(backend_->Foresee(view, reinterpret_cast<const uint64_t*>(scratch.device),
                                        reinterpret_cast<const uint32_t*>(scratch.device + uses_at),
                                        static_cast<uint32_t>(count), stream));
  return backend_->Record(foreseen_, stream);
}

// ---- invalidating, pinning
// -----------------------------------------------------------------------

// Runs call(view, positions, count, bytes of done) with the rows' positions where the backend can
// read them. Needs fill_mutex_.
template <typename Call>
Status RowCache::OnPositions(const CachedTable& table, std::span<const uint64_t> rows,
                             std::vector<uint8_t>* done, Call call) {
  done->assign(rows.size(), 0);
  EDO_RETURN_IF_ERROR(RetirePending(true));
  const auto* const blocks = table.size_class_->blocks.load();
  if (blocks == nullptr || rows.empty()) return Status::Ok();
  std::vector<uint64_t> positions;
  positions.reserve(rows.size());
  for (const uint64_t row : rows) {
    if (row >= table.rows_) {
      return Status::InvalidArgument("row " + std::to_string(row) + " of a table of " +
                                     std::to_string(table.rows_) + " rows");
    }
    positions.push_back(table.first_position_ + row);
  }
  const auto count = static_cast<uint32_t>(positions.size());
  if (backend_->synchronous()) {
    return call(blocks->view, positions.data(), count, done->data(), Stream{});
  }
  const uint64_t bytes = uint64_t{count} * 9;
  EDO_ASSIGN_OR_RETURN(void* const memory, backend_->Allocate(bytes));
  auto* const device = static_cast<uint64_t*>(memory);
  auto* const device_done = reinterpret_cast<uint8_t*>(device + count);
  const Stream stream{};
  Status s = backend_->Synchronize(filled_);
  if (s.ok()) s = backend_->CopyToDevice(device, positions.data(), uint64_t{count} * 8, stream);
  if (s.ok()) s = call(blocks->view, device, count, device_done, stream);
  if (s.ok()) s = backend_->CopyToHost(done->data(), device_done, count, stream);
  if (s.ok()) s = backend_->Synchronize(stream);
  backend_->Free(memory, bytes);
  return s;
}

Status RowCache::Invalidate(const CachedTable& table, std::span<const uint64_t> rows) {
  const std::lock_guard lock(fill_mutex_);
  std::vector<uint8_t> done;
  return OnPositions(
      table, rows, &done,
      [&](const BlockView& view, const uint64_t* positions, uint32_t count, uint8_t*,
          Stream stream) { return backend_->Invalidate(view, positions, count, stream); });
}

Status RowCache::Pin(const CachedTable& table, std::span<const uint64_t> rows,
                     std::vector<uint8_t>* pinned) {
  const std::lock_guard lock(fill_mutex_);
  return OnPositions(
      table, rows, pinned,
      [&](const BlockView& view, const uint64_t* positions, uint32_t count, uint8_t* done,
          Stream stream) { return backend_->Pin(view, positions, count, +1, done, stream); });
}

Status RowCache::Unpin(const CachedTable& table, std::span<const uint64_t> rows) {
  const std::lock_guard lock(fill_mutex_);
  std::vector<uint8_t> done;
  return OnPositions(
      table, rows, &done,
      [&](const BlockView& view, const uint64_t* positions, uint32_t count, uint8_t* unpinned,
          Stream stream) { return backend_->Pin(view, positions, count, -1, unpinned, stream); });
}

// ---- counters
// ------------------------------------------------------------------------------------

RowCacheCounters RowCache::counters() {
  if (!backend_->synchronous()) {
    const std::unique_lock lock(fill_mutex_, std::try_to_lock);
    if (lock.owns_lock()) {
      const Result<bool> done = backend_->IsDone(filled_);
      if (done.ok() && *done) CountLastFill();
    }
  }
  RowCacheCounters counters;
  counters.hits = hits_.load(std::memory_order_relaxed);
  counters.misses = misses_.load(std::memory_order_relaxed);
  counters.fills = fills_.load(std::memory_order_relaxed);
  counters.evictions = evictions_.load(std::memory_order_relaxed);
  counters.rejected = rejected_.load(std::memory_order_relaxed);
  counters.skipped = skipped_.load(std::memory_order_relaxed);
  counters.deferred = deferred_.load(std::memory_order_relaxed);
  counters.bytes = bytes_.load(std::memory_order_relaxed);
  return counters;
}

uint64_t RowCache::slots_of(const CachedTable& table) const {
  const std::lock_guard lock(tables_mutex_);
  const auto* const blocks = table.size_class_->blocks.load();
  return blocks ? blocks->view.blocks * kSlots : 0;
}

}  // namespace edo::gpucache
