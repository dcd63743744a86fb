#include "engine/row_gather.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/lookup.h"
#include "kernels/codec_kernels.h"

namespace edo::engine {
namespace {

using kernels::RowMark;

constexpr size_t kRowsALook = size_t{1} << 20;  // of one pass over cache and chunks
constexpr size_t kFillBytes = size_t{2} << 20;  // rows read that are offered to the cache together
constexpr size_t kScratchBytes = size_t{8} << 20;  // decoded rows of bags, before they are summed
constexpr size_t kScratchRows = 4096;
constexpr int kMostCopies = 4;  // of one row in a fill: more say nothing new about how hot it is

// Row `first` of a target and those behind it.
kernels::OutputRows At(const storage::DecodeTarget& target, uint64_t first) {
  const uint64_t stride = target.stride;
  return {static_cast<std::byte*>(target.out) + first * stride * FloatTypeBytes(target.type),
          target.type, stride};
}

// Rows that were missed and have been read, on their way to the cache. A few hundred KiB to MiB.
class FillBuffer {
 public:
  FillBuffer(gpucache::RowCache* cache, const gpucache::CachedTable* table)
      : cache_(cache), table_(table) {}

  void Take(uint64_t row, const std::byte* codes) {
    copies_ = !rows_.empty() && rows_.back() == row ? copies_ + 1 : 1;
    if (copies_ > kMostCopies) return;
    rows_.push_back(row);
    codes_.insert(codes_.end(), codes, codes + table_->format().row_bytes());
    if (codes_.size() >= kFillBytes) Flush();
  }
  void Flush() {
    if (rows_.empty()) return;
    cache_->Fill(*table_, rows_, std::move(codes_));
    rows_.clear();
    codes_ = {};
  }

 private:
  gpucache::RowCache* const cache_;
  const gpucache::CachedTable* const table_;
  std::vector<uint64_t> rows_;
  std::vector<std::byte> codes_;
  int copies_ = 0;
};

}  // namespace

void GatherOutcome::Add(GatherOutcome&& other) {
  absent += other.absent;
  unread += other.unread;
  chunks += other.chunks;
  failures.insert(failures.end(), std::make_move_iterator(other.failures.begin()),
                  std::make_move_iterator(other.failures.end()));
}

GatherOutcome RowGather::Gather(std::span<const uint64_t> rows, const storage::DecodeTarget& target,
                                const Options& options, RowMark* marks) const {
  GatherOutcome outcome;
  std::vector<uint32_t> misses(std::min(rows.size(), kRowsALook));
  for (size_t begin = 0; begin < rows.size(); begin += kRowsALook) {
    const std::span<const uint64_t> window =
        rows.subspan(begin, std::min(kRowsALook, rows.size() - begin));
    const auto count = static_cast<uint32_t>(window.size());
    const kernels::OutputRows out = At(target, begin);
    RowMark* const window_marks = marks ? marks + begin : nullptr;
    for (const Tier& tier : tiers_) {
      kernels::QueryCounts counts;
      if (tier.places.host != nullptr) {
        (void)context_->cache->Gather(
            *tier.places.host, {window.data(), count, out, target.values, options.zero_absent,
                                misses.data(), window_marks, &counts, tier.first_row(), rows_});
      } else {
        kernels::ProbeGatherArgs args;  // of no blocks: sorts out what is absent
        args.format = Leading(tier.codec->row_format(), target.values);
        args.query = {window.data(), count, 0, rows_, tier.first_row(), tier.rows()};
        args.out = out;
        args.zero_absent = options.zero_absent;
        args.misses = misses.data();
        args.marks = window_marks;
        args.counts = &counts;
        (void)context_->cpu->ProbeGather(args, {});
      }
      outcome.absent += counts.absent;
      if (counts.misses == 0) continue;
      outcome.Add(ReadMisses(tier, window, std::span(misses).first(counts.misses),
                             {out.values, out.type, out.stride, target.values}, options.deadline,
                             window_marks));
    }
  }
  return outcome;
}

// Reads the rows at the places `misses` of `rows`, which are the tier's, from disk, decodes them to
// their places, offers them to the cache, and marks those that were found.
GatherOutcome RowGather::ReadMisses(const Tier& tier, std::span<const uint64_t> rows,
                                    std::span<const uint32_t> misses,
                                    const storage::DecodeTarget& target,
                                    const storage::Deadline& deadline, RowMark* marks) const {
  GatherOutcome outcome;
  std::vector<uint64_t> wanted(misses.size());  // as the tier numbers them
  for (size_t i = 0; i < misses.size(); ++i) wanted[i] = rows[misses[i]] - tier.first_row();
  std::optional<FillBuffer> fill;
  if (tier.places.host != nullptr) fill.emplace(context_->cache.get(), tier.places.host.get());
  std::vector<uint64_t> out_rows;
  ChunkRead read;
  read.rows = [&](std::span<const uint32_t> places, std::span<const std::byte* const> codes) {
    out_rows.clear();
    for (const uint32_t p : places) out_rows.push_back(misses[p]);
    tier.codec->DecodeGather(codes.data(), out_rows.data(), codes.size(), target);
    for (size_t i = 0; i < places.size(); ++i) {
      if (marks != nullptr) marks[misses[places[i]]] = RowMark::kFound;
      if (fill) fill->Take(wanted[places[i]], codes[i]);
    }
  };
  read.failed = [&](std::span<const uint32_t> places, ReadFailure failure) {
    outcome.unread += places.size();
    outcome.failures.push_back(std::move(failure));
  };
  outcome.chunks = ReadRowsByChunk(*context_->rows, context_->reads_ahead(), *tier.record, wanted,
                                   deadline, read);
  if (fill) fill->Flush();
  return outcome;
}

namespace {

// Reads encoded rows of a tier by chunk: row wanted[i], as the tier numbers them, to codes + (its
// place) * row_bytes, unread[its place] = 1 where it could not be read; its place is places[i], or
// i without `places`. Offers them to `fill`, if there is one.
GatherOutcome ReadCodesByChunk(const StoreContext& context, const Tier& tier,
                               std::span<const uint64_t> wanted, const uint32_t* places,
                               const storage::Deadline& deadline, std::byte* codes, uint8_t* unread,
                               FillBuffer* fill) {
  GatherOutcome outcome;
  const uint64_t row_bytes = tier.row_bytes();
  const auto place_of = [&](uint32_t i) { return places != nullptr ? places[i] : i; };
  ChunkRead read;
  read.rows = [&](std::span<const uint32_t> read_now, std::span<const std::byte* const> found) {
    for (size_t i = 0; i < read_now.size(); ++i) {
      std::memcpy(codes + place_of(read_now[i]) * row_bytes, found[i], row_bytes);
      if (fill != nullptr) fill->Take(wanted[read_now[i]], found[i]);
    }
  };
  read.failed = [&](std::span<const uint32_t> lost, ReadFailure failure) {
    for (const uint32_t i : lost) unread[place_of(i)] = 1;
    outcome.unread += lost.size();
    outcome.failures.push_back(std::move(failure));
  };
  outcome.chunks =
      ReadRowsByChunk(*context.rows, context.reads_ahead(), *tier.record, wanted, deadline, read);
  if (fill != nullptr) fill->Flush();
  return outcome;
}

}  // namespace

GatherOutcome RowGather::ReadEncoded(const Tier& tier, std::span<const uint64_t> rows,
                                     const storage::Deadline& deadline, std::byte* codes,
                                     uint8_t* unread) const {
  std::fill_n(unread, rows.size(), uint8_t{0});
  std::vector<uint64_t> kept;
  return ReadCodesByChunk(*context_, tier, NumbersIn(tier, rows, &kept), nullptr, deadline, codes,
                          unread, nullptr);
}

GatherOutcome RowGather::ReadEncodedCached(const Tier& tier, std::span<const uint64_t> rows,
                                           const storage::Deadline& deadline, std::byte* codes,
                                           uint8_t* unread) const {
  const gpucache::CachedTable* const cached = tier.places.host.get();
  if (cached == nullptr) return ReadEncoded(tier, rows, deadline, codes, unread);
  GatherOutcome outcome;
  std::fill_n(unread, rows.size(), uint8_t{0});
  std::vector<uint32_t> misses;
  std::vector<uint64_t> kept, wanted;
  rows = NumbersIn(tier, rows, &kept);
  for (size_t begin = 0; begin < rows.size(); begin += kRowsALook) {
    const auto window = rows.subspan(begin, std::min(kRowsALook, rows.size() - begin));
    std::byte* const to = codes + begin * tier.row_bytes();
    context_->cache->CopyRows(*cached, window, to, &misses);
    if (misses.empty()) continue;
    wanted.clear();
    for (const uint32_t place : misses) wanted.push_back(window[place]);
    FillBuffer fill(context_->cache.get(), cached);
    outcome.Add(ReadCodesByChunk(*context_, tier, wanted, misses.data(), deadline, to,
                                 unread + begin, &fill));
  }
  return outcome;
}

// ---- bags
// ----------------------------------------------------------------------------------------

GatherOutcome RowGather::Pool(std::span<const uint64_t> rows, std::span<const uint64_t> offsets,
                              const storage::DecodeTarget& target, const BagOptions& options,
                              RowMark* marks) const {
  GatherOutcome outcome;
  const size_t bag_count = offsets.size() - 1;
  const auto is_absent = [&](uint64_t i) { return rows[i] >= rows_; };
  // Rows that keep their bag from being written.
  const auto blocks = [&](uint64_t i) {
    if (options.lost != nullptr && options.lost[i]) return true;
    return options.whole_bags_only && is_absent(i) && !(options.padding && options.padding[i]);
  };
  bool any_blocked = false;
  if (options.lost != nullptr || options.whole_bags_only) {
    for (uint64_t i = 0; i < rows.size() && !any_blocked; ++i) any_blocked = blocks(i);
  }
  std::vector<uint32_t> rest;  // bags that the cache cannot serve alone
  for (size_t first = 0; first < bag_count;) {
    // A window of bags; a bag is never cut here.
    size_t last = first + 1;
    while (last < bag_count && offsets[last + 1] - offsets[first] <= kRowsALook) ++last;
    const auto bags = static_cast<uint32_t>(last - first);
    const uint64_t ids = offsets[last] - offsets[first];
    rest.clear();
    // Bags that the cache might leave half written are gathered instead: a bag that cannot be read
    // keeps its place as it was.
    bool too_long = false;
    for (size_t b = first; b < last && target.values > kernels::kPoolPanelValues; ++b) {
      too_long |= offsets[b + 1] - offsets[b] > kernels::kPoolKeptIds;
    }
    const gpucache::CachedTable* const cached =
        tiers_.size() == 1 ? tiers_.front().places.host.get() : nullptr;
    if (cached != nullptr && !any_blocked && !too_long && ids <= UINT32_MAX) {
      rest.resize(bags);
      kernels::QueryCounts counts;
      gpucache::PoolQuery query;
      query.rows = rows.data();
      query.count = static_cast<uint32_t>(ids);
      query.bags = {offsets.data() + first, bags, options.weights, options.mode};
      query.out = At(target, first);
      query.values = target.values;
      query.incomplete = rest.data();
      query.marks = marks;
      query.counts = &counts;
      (void)context_->cache->Pool(*cached, query);
      rest.resize(counts.bags);
      for (uint32_t& bag : rest) bag += static_cast<uint32_t>(first);
      outcome.absent += counts.absent;
    } else {
      for (size_t b = first; b < last; ++b) {
        bool blocked = false;
        for (uint64_t i = offsets[b]; i < offsets[b + 1]; ++i) {
          outcome.absent += is_absent(i);
          blocked |= any_blocked && blocks(i);
          if (marks) marks[i] = is_absent(i) ? RowMark::kAbsent : RowMark::kFound;
        }
        if (!blocked) rest.push_back(static_cast<uint32_t>(b));
      }
    }
    if (!rest.empty()) outcome.Add(PoolBags(rows, offsets, rest, target, options, marks));
    first = last;
  }
  return outcome;
}

// Decoded rows of a few bags, and where their sums go.
struct RowGather::Scratch {
  std::vector<uint64_t> rows;
  std::vector<float> values;
  std::vector<RowMark> marks;
  std::vector<uint64_t> offsets{0};
  std::vector<uint32_t> bags;
};

// Pools the bags named, rows read where they are not cached. Absent ids have been counted.
GatherOutcome RowGather::PoolBags(std::span<const uint64_t> rows, std::span<const uint64_t> offsets,
                                  std::span<const uint32_t> bags,
                                  const storage::DecodeTarget& target, const BagOptions& options,
                                  RowMark* marks) const {
  GatherOutcome outcome;
  const uint32_t dim = target.values;
  const size_t most = std::clamp<size_t>(kScratchBytes / (size_t{dim} * 4), 64, kScratchRows);
  Scratch scratch;
  const auto pool = [&] {
    scratch.values.resize(scratch.rows.size() * dim);
    scratch.marks.resize(scratch.rows.size());
    GatherOutcome part =
        Gather(scratch.rows, {scratch.values.data(), FloatType::kF32, dim, dim},
               {.zero_absent = false, .deadline = options.deadline}, scratch.marks.data());
    part.absent = 0;
    outcome.Add(std::move(part));
    for (size_t b = 0; b < scratch.bags.size(); ++b) {
      const uint64_t begin = scratch.offsets[b];
      const uint64_t end = scratch.offsets[b + 1];
      const uint64_t from = offsets[scratch.bags[b]];
      bool unread = false;
      for (uint64_t i = begin; i < end; ++i) {
        unread |= scratch.marks[i] == RowMark::kMissed;
        if (marks) marks[from + i - begin] = scratch.marks[i];
      }
      if (unread) continue;
      kernels::PoolArgs args;
      args.rows = scratch.values.data() + begin * dim;
      args.marks = scratch.marks.data() + begin;
      args.dim = dim;
      const uint64_t one[2] = {0, end - begin};
      args.bags = {one, 1, options.weights ? options.weights + from : nullptr, options.mode};
      args.out_bags = &scratch.bags[b];
      args.out = At(target, 0);
      (void)context_->cpu->Pool(args, {});
    }
    scratch.rows.clear();
    scratch.bags.clear();
    scratch.offsets.assign(1, 0);
  };
  for (const uint32_t bag : bags) {
    const uint64_t ids = offsets[bag + 1] - offsets[bag];
    if (ids > most) {
      outcome.Add(PoolLongBag(rows, offsets, bag, target, options, marks));
      continue;
    }
    if (scratch.rows.size() + ids > most) pool();
    scratch.rows.insert(scratch.rows.end(), rows.begin() + static_cast<ptrdiff_t>(offsets[bag]),
                        rows.begin() + static_cast<ptrdiff_t>(offsets[bag + 1]));
    scratch.bags.push_back(bag);
    scratch.offsets.push_back(scratch.rows.size());
  }
  if (!scratch.bags.empty()) pool();
  return outcome;
}

// A bag of any length in constant memory: the sum so far goes first into the next piece, which
// changes no bit of it (0 + s = s, and a sum that starts at +0 is never -0).
GatherOutcome RowGather::PoolLongBag(std::span<const uint64_t> rows,
                                     std::span<const uint64_t> offsets, uint32_t bag,
                                     const storage::DecodeTarget& target, const BagOptions& options,
                                     RowMark* marks) const {
  GatherOutcome outcome;
  const uint32_t dim = target.values;
  const size_t most = std::clamp<size_t>(kScratchBytes / (size_t{dim} * 4), 64, kScratchRows);
  std::vector<float> values((most + 1) * dim, 0.0f);  // row 0: the sum so far
  std::vector<RowMark> found(most + 1, RowMark::kFound);
  std::vector<float> weights(most + 1, 1.0f);
  uint64_t present = 0;
  for (uint64_t first = offsets[bag]; first < offsets[bag + 1]; first += most) {
    const uint64_t count = std::min<uint64_t>(most, offsets[bag + 1] - first);
    GatherOutcome part =
        Gather(rows.subspan(first, count), {values.data() + dim, FloatType::kF32, dim, dim},
               {.zero_absent = false, .deadline = options.deadline}, found.data() + 1);
    part.absent = 0;
    outcome.Add(std::move(part));
    for (uint64_t i = 0; i < count; ++i) {
      present += found[i + 1] == RowMark::kFound;
      if (marks) marks[first + i] = found[i + 1];
    }
    if (outcome.unread > 0) continue;  // only the marks of the rest matter
    if (options.weights) std::copy_n(options.weights + first, count, weights.data() + 1);
    kernels::PoolArgs args;
    args.rows = values.data();
    args.marks = found.data();
    args.dim = dim;
    const uint64_t one[2] = {0, count + 1};
    args.bags = {one, 1, options.weights ? weights.data() : nullptr, kernels::PoolMode::kSum};
    std::vector<float> sum(dim);
    args.out = {sum.data(), FloatType::kF32, dim};
    (void)context_->cpu->Pool(args, {});
    std::copy(sum.begin(), sum.end(), values.begin());
  }
  if (outcome.unread > 0) return outcome;
  if (options.mode == kernels::PoolMode::kMean && present > 0) {
    for (uint32_t c = 0; c < dim; ++c) values[c] = values[c] / static_cast<float>(present);
  }
  const kernels::OutputRows out = At(target, bag);
  kernels::StoreFloats(values.data(), dim, target.type, static_cast<std::byte*>(out.values));
  return outcome;
}

}  // namespace edo::engine
