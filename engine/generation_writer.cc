#include "engine/generation_writer.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "storage/page.h"
#include "storage/size_page.h"

namespace edo::engine {

using storage::PageKind;

namespace {

constexpr uint64_t kHoldBytes = 4 << 20;
constexpr uint64_t kLeastBytes = 1 << 20;   // a smaller table is not worth a decision
constexpr uint64_t kFirstWindows = 4;       // of the rows held back
constexpr uint64_t kSampleEvery = 8 << 20;  // bytes of codes, after that

// Floats have no side data; what looks like them by chance is one more form to try.
uint32_t ValueBytes(const GenerationWriter::Shape& shape) {
  return shape.row_bytes == uint64_t{shape.dim} * 4   ? 4
         : shape.row_bytes == uint64_t{shape.dim} * 2 ? 2
                                                      : 1;
}

}  // namespace

GenerationWriter::GenerationWriter(std::unique_ptr<storage::BulkWriter> files, uint64_t generation,
                                   const Shape& shape, Compression wish,
                                   const std::optional<ChunkPlan>& plan)
    : files_(std::move(files)),
      generation_(generation),
      wish_(plan ? Compression::kNone : wish),
      keys_(shape.key_kind, files_.get()) {
  storage::StartPage(&chunk_);
  Start(shape, plan);
}

void GenerationWriter::SetRowBytes(uint64_t row_bytes, uint32_t dim) {
  Start({KeyKind::kDense, row_bytes, dim}, std::nullopt);
}

void GenerationWriter::Start(const Shape& shape, const std::optional<ChunkPlan>& plan) {
  row_bytes_ = shape.row_bytes;
  layout_ = storage::ChooseChunkLayout(shape.row_bytes);
  if (wish_ == Compression::kNone) {
    Begin(plan.value_or(ChunkPlan()));
    return;
  }
  holding_ = true;
  hold_rows_ = std::max<uint64_t>(1, kHoldBytes / row_bytes_);
  sample_ = std::make_unique<CompressionSample>(row_bytes_, ValueBytes(shape));
}

void GenerationWriter::Begin(const ChunkPlan& plan) {
  plan_ = plan;
  if (plan_.packed) {
    files_->PackChunks();
  } else {
    plan_.rows = layout_.rows;
  }
}

std::byte* GenerationWriter::ReserveRows(uint64_t wanted, uint64_t* granted) {
  if (holding_) {
    *granted = std::min(wanted, hold_rows_ - rows_);
    if (held_.empty()) held_.reserve(hold_rows_ * row_bytes_);
    held_.resize((rows_ + *granted) * row_bytes_);
    return reinterpret_cast<std::byte*>(held_.data()) + rows_ * row_bytes_;
  }
  *granted = std::min<uint64_t>(wanted, plan_.rows - chunk_rows_);
  const size_t at = storage::kPageHeaderBytes + chunk_rows_ * row_bytes_;
  chunk_.resize(at + *granted * row_bytes_);
  return reinterpret_cast<std::byte*>(chunk_.data()) + at;
}

Status GenerationWriter::AppendCodes(std::span<const std::byte> codes) {
  for (size_t done = 0; done < codes.size();) {
    uint64_t granted = 0;
    std::byte* const to = ReserveRows((codes.size() - done) / row_bytes_, &granted);
    std::memcpy(to, codes.data() + done, granted * row_bytes_);
    EDO_RETURN_IF_ERROR(CommitRows(granted));
    done += granted * row_bytes_;
  }
  return Status::Ok();
}

Status GenerationWriter::CommitRows(uint64_t count) {
  rows_ += count;
  if (holding_) return rows_ == hold_rows_ ? Settle() : Status::Ok();
  chunk_rows_ += static_cast<uint32_t>(count);
  return chunk_rows_ == plan_.rows ? FlushChunk() : Status::Ok();
}

// Chooses by the rows held back, and writes them.
Status GenerationWriter::Settle() {
  holding_ = false;
  held_.resize(rows_ * row_bytes_);
  const bool decide = rows_ > 0 && (wish_ == Compression::kZstd || held_.size() >= kLeastBytes);
  ChunkPlan plan;
  if (decide) {
    const uint64_t window = std::min(rows_, sample_->window_rows());
    for (uint64_t i = 0; i < kFirstWindows; ++i) {
      const uint64_t first = (rows_ - window) * i / (kFirstWindows - 1);
      sample_->Add(std::string_view(held_).substr(first * row_bytes_, window * row_bytes_),
                   held_.size() / kFirstWindows);
    }
    const CompressionSample::Finding finding = sample_->Decide();
    plan = wish_ == Compression::kZstd ? finding.best : finding.plan;
  }
  if (plan.packed || wish_ == Compression::kZstd || rows_ < hold_rows_) sample_.reset();
  if (wish_ == Compression::kZstd && !decide) plan = {true, layout_.rows, {}};  // no rows
  Begin(plan);
  std::string held;
  held.swap(held_);
  const uint64_t rows = std::exchange(rows_, 0);
  while (rows_ < rows) {
    uint64_t granted = 0;
    const uint64_t first = rows_;
    std::byte* const to = ReserveRows(rows - first, &granted);
    std::memcpy(to, held.data() + first * row_bytes_, granted * row_bytes_);
    EDO_RETURN_IF_ERROR(CommitRows(granted));
  }
  unsampled_bytes_ = 0;  // the windows stood for these rows
  return Status::Ok();
}

Status GenerationWriter::FinishRows() {
  if (holding_) EDO_RETURN_IF_ERROR(Settle());
  EDO_RETURN_IF_ERROR(FlushChunk());
  return FlushSizes();
}

Status GenerationWriter::FlushChunk() {
  if (chunk_rows_ == 0) return Status::Ok();
  const std::string_view codes = std::string_view(chunk_).substr(storage::kPageHeaderBytes);
  std::string* page = &chunk_;
  if (plan_.packed) {
    storage::StartPage(&packed_);
    if (packer_.Pack(codes, chunk_rows_, plan_.form, &packed_)) page = &packed_;
  } else if (sample_) {
    Sample(codes);
  }
  storage::SealPage(next_chunk_, chunk_rows_, page, page == &packed_);
  EDO_RETURN_IF_ERROR(files_->Put(PageKind::kChunk, next_chunk_, *page));
  if (plan_.packed) {
    packed_bytes_ += page->size() - storage::kPageHeaderBytes + kPackedOverheadBytes;
    sizes_.push_back(static_cast<uint32_t>(page->size()));
    if (sizes_.size() == storage::kSizesPerPage) EDO_RETURN_IF_ERROR(FlushSizes());
  }
  ++next_chunk_;
  chunk_rows_ = 0;
  storage::StartPage(&chunk_);
  return Status::Ok();
}

Status GenerationWriter::FlushSizes() {
  if (sizes_.empty()) return Status::Ok();
  std::string page;
  storage::StartPage(&page);
  storage::AppendSizes(sizes_, &page);
  storage::SealPage(next_size_page_, static_cast<uint32_t>(sizes_.size()), &page);
  sizes_.clear();
  return files_->Put(PageKind::kSizes, next_size_page_++, page);
}

// Takes a window of neighbouring chunks every now and then.
void GenerationWriter::Sample(std::string_view codes) {
  unsampled_bytes_ += codes.size();
  if (unsampled_bytes_ < kSampleEvery) return;
  window_.append(codes);
  const uint64_t wanted = sample_->window_rows() * row_bytes_;
  if (window_.size() < wanted) return;
  sample_->Add(std::string_view(window_).substr(0, wanted), unsampled_bytes_);
  window_.clear();
  unsampled_bytes_ = 0;
  sampled_more_ = true;
}

std::optional<ChunkPlan> GenerationWriter::BetterPlan() {
  if (wish_ != Compression::kAuto) return std::nullopt;
  if (plan_.packed) {
    const double most = kMostPacked * static_cast<double>(rows_ * row_bytes_);
    if (static_cast<double>(packed_bytes_) <= most) return std::nullopt;
    return ChunkPlan();
  }
  if (!sampled_more_) return std::nullopt;
  const ChunkPlan plan = sample_->Decide().plan;
  if (!plan.packed) return std::nullopt;
  return plan;
}

uint64_t GenerationWriter::plain_bytes() const {
  return (rows_ + layout_.rows - 1) / layout_.rows * layout_.bytes;
}

void GenerationWriter::Describe(storage::TableRecord* record) const {
  TableInfo& t = record->info;
  t.generation = generation_;
  t.row_bytes = row_bytes_;
  t.chunk_rows = plan_.rows;
  t.chunk_count = next_chunk_;
  t.chunk_file_bytes = files_->file_bytes(PageKind::kChunk);
  t.key_file_bytes = files_->file_bytes(PageKind::kKeys);
  t.compression = plan_.packed ? Compression::kZstd : Compression::kNone;
  t.plain_chunk_bytes = plan_.packed ? plain_bytes() : 0;
  record->chunk_bytes = chunk_bytes();
  record->size_pages = next_size_page_;
  record->sizes_per_page = plan_.packed ? storage::kSizesPerPage : 0;
  record->chunk_files = files_->file_count(PageKind::kChunk);
  record->key_files = files_->file_count(PageKind::kKeys);
}

}  // namespace edo::engine
