// Reader of edo archives: a table's codes and keys bit for bit. Layout: docs/archive_format.md.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "storage/readers/archive_format.h"
#include "storage/readers/element_type.h"
#include "storage/readers/messages.h"
#include "storage/readers/reader_base.h"
#include "storage/readers/readers.h"

namespace edo::storage {
namespace {

// Takes fields from a payload; a field that does not fit leaves ok() false and reads as zero.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  uint64_t Unsigned(uint32_t size) {
    const std::string_view field = Bytes(size);
    return field.size() < size
               ? 0
               : LoadUnsigned(reinterpret_cast<const std::byte*>(field.data()), size, false);
  }
  std::string_view Bytes(uint64_t size) {
    if (size > bytes_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view field = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return field;
  }
  std::string_view Sized(uint32_t length_bytes) { return Bytes(Unsigned(length_bytes)); }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

class ArchiveReader final : public ReaderBase {
 public:
  ArchiveReader(std::unique_ptr<Input> input, const SourceOptions& options)
      : ReaderBase(std::move(input), options) {}
  Status Start();

 protected:
  Result<bool> Fill(RowBatch* batch, uint64_t max_rows) override;

 private:
  Status ReadRecord(ArchiveRecord* kind);
  Status TakeHeader();
  Status TakeLearned(bool has_learned);
  Status TakeBlock();
  Status TakeEnd();
  void AppendRow(RowBatch* batch);
  std::string Where() const {
    return block_ == 0 ? "the header" : "block " + std::to_string(block_ - 1);
  }
  Status Bad(const std::string& what) const {
    return BadByte(name(), record_at_, "archive, " + Where() + ": " + what);
  }

  uint64_t row_bytes_ = 0;
  std::string payload_;
  uint64_t record_at_ = 0;  // byte of the record in the decompressed archive
  uint64_t block_ = 0;      // records read: 1 after the header
  uint64_t rows_read_ = 0;  // of the blocks taken so far
  // The block being handed out: views into payload_.
  uint64_t block_rows_ = 0, next_in_block_ = 0, next_row_ = 0;
  const char* codes_ = nullptr;
  std::vector<int64_t> int_keys_;
  std::vector<uint64_t> key_ends_;
  std::string_view key_bytes_;
};

// Reads one record into payload_ and proves its checksum.
Status ArchiveReader::ReadRecord(ArchiveRecord* kind) {
  record_at_ = input_->offset();
  std::byte head[kRecordHeadBytes];
  EDO_ASSIGN_OR_RETURN(const size_t got, input_->Read(head, sizeof head));
  if (got < sizeof head)
    return Bad("the archive is truncated: it ends here without its end record");
  const uint64_t length = LoadUnsigned(head + 1, 4, false);
  if (length > kMaxArchiveRecordBytes)
    return Bad("a record of " + std::to_string(length) + " bytes");
  payload_.clear();
  while (payload_.size() < length) {  // grows by what was really read
    const size_t step = std::min<size_t>(length - payload_.size(), size_t{1} << 20);
    const size_t before = payload_.size();
    payload_.resize(before + step);
    EDO_ASSIGN_OR_RETURN(const size_t read, input_->Read(payload_.data() + before, step));
    if (read < step) return Bad("the archive is truncated inside a record");
  }
  std::byte stored[8];
  EDO_ASSIGN_OR_RETURN(const size_t tail, input_->Read(stored, sizeof stored));
  if (tail < sizeof stored) return Bad("the archive is truncated inside a record");
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, head, sizeof head);
  XXH3_64bits_update(&state, payload_.data(), payload_.size());
  if (XXH3_64bits_digest(&state) != LoadUnsigned(stored, 8, false)) {
    return Bad("the checksum does not match: the bytes are damaged");
  }
  *kind = static_cast<ArchiveRecord>(head[0]);
  return Status::Ok();
}

Status ArchiveReader::Start() {
  EDO_ASSIGN_OR_RETURN(const std::string_view start, input_->Peek(kArchiveMagic.size() + 4));
  if (!start.starts_with(kArchiveMagic.substr(0, start.size()))) {
    return BadByte(name(), 0,
                   "this is not an edo archive: it begins with " + Quote(start.substr(0, 8)));
  }
  if (start.size() < kArchiveMagic.size() + 4) {
    return BadByte(name(), start.size(), "the archive is truncated inside its first 12 bytes");
  }
  const auto* version_at = reinterpret_cast<const std::byte*>(start.data()) + kArchiveMagic.size();
  const uint64_t version = LoadUnsigned(version_at, 4, false);
  if (version != kArchiveVersion && version != kLearnedArchiveVersion) {
    return Status::Unsupported(name() + " byte 8: archive version " + std::to_string(version) +
                               "; this build reads versions " + std::to_string(kArchiveVersion) +
                               " and " + std::to_string(kLearnedArchiveVersion));
  }
  input_->Consume(kArchiveMagic.size() + 4);
  EDO_ASSIGN_OR_RETURN(input_, Input::Decompress(std::move(input_)));
  ArchiveRecord kind;
  EDO_RETURN_IF_ERROR(ReadRecord(&kind));
  if (kind != ArchiveRecord::kHeader) return Bad("the first record is not a header");
  EDO_RETURN_IF_ERROR(TakeHeader());
  return TakeLearned(version == kLearnedArchiveVersion);
}

// The records between header and first block; there are none when the codec learns nothing.
Status ArchiveReader::TakeLearned(bool has_learned) {
  const uint64_t bytes = info_.codec->LearnedBytes(info_.dim);
  if (has_learned != (bytes != 0)) {
    return Bad("an archive of " + info_.dtype + " must be of version " +
               std::to_string(bytes != 0 ? kLearnedArchiveVersion : kArchiveVersion));
  }
  while (info_.learned.size() < bytes) {
    ArchiveRecord kind;
    EDO_RETURN_IF_ERROR(ReadRecord(&kind));
    if (kind != ArchiveRecord::kLearned || payload_.empty() ||
        payload_.size() > bytes - info_.learned.size()) {
      return Bad("a record that is not the rest of the " + std::to_string(bytes) + " bytes that " +
                 info_.dtype + " has learned");
    }
    const auto* const from = reinterpret_cast<const std::byte*>(payload_.data());
    info_.learned.insert(info_.learned.end(), from, from + payload_.size());
  }
  block_ = 1;
  return Status::Ok();
}

Status ArchiveReader::TakeHeader() {
  Cursor cursor(payload_);
  info_.format = "edo";
  const uint64_t kind = cursor.Unsigned(1);
  info_.dim = static_cast<uint32_t>(cursor.Unsigned(4));
  info_.rows = cursor.Unsigned(8);
  row_bytes_ = cursor.Unsigned(8);
  info_.dtype = cursor.Sized(2);
  cursor.Sized(2);  // the table's name, for people
  const uint64_t pairs = cursor.Unsigned(4);
  for (uint64_t i = 0; i < pairs && cursor.ok(); ++i) {
    const std::string key(cursor.Sized(4));
    info_.metadata[key] = cursor.Sized(4);
  }
  if (!cursor.at_end() || kind > 2) return Bad("a field does not fit");
  info_.key_kind = static_cast<KeyKind>(kind);
  if (info_.dim == 0 || info_.dim > kMaxDim) return Bad("dimension " + std::to_string(info_.dim));
  const auto codec = CodecSpec::Parse(info_.dtype);
  if (!codec.ok()) {
    return Status::Unsupported(name() + ": archive: " + std::string(codec.status().message()));
  }
  info_.codec = *codec;
  if (const Status s = codec->Check(info_.dim); !s.ok()) return Bad(std::string(s.message()));
  if (codec->RowBytes(info_.dim) != row_bytes_) {
    return Bad("rows of " + std::to_string(row_bytes_) + " bytes; " + info_.dtype + " of dim " +
               std::to_string(info_.dim) + " has " + std::to_string(codec->RowBytes(info_.dim)));
  }
  info_.estimated_rows = *info_.rows;
  if (options_.key_kind && *options_.key_kind != info_.key_kind) {
    return Status::InvalidArgument(name() + ": the archive's keys are " +
                                   std::string(KeyKindName(info_.key_kind)));
  }
  return Status::Ok();
}

Status ArchiveReader::TakeBlock() {
  Cursor cursor(payload_);
  block_rows_ = cursor.Unsigned(4);
  codes_ = cursor.Bytes(block_rows_ * row_bytes_).data();
  int_keys_.clear();
  key_ends_.clear();
  if (info_.key_kind == KeyKind::kInt64) {
    const std::string_view keys = cursor.Bytes(8 * block_rows_);
    int_keys_.resize(keys.size() / 8);
    if (!keys.empty()) memcpy(int_keys_.data(), keys.data(), keys.size());
  } else if (info_.key_kind == KeyKind::kText) {
    uint64_t end = 0;
    for (uint64_t i = 0; i < block_rows_ && cursor.ok(); ++i) {
      end += cursor.Unsigned(4);
      key_ends_.push_back(end);
    }
    key_bytes_ = cursor.Bytes(end);
  }
  if (!cursor.at_end() || block_rows_ == 0) return Bad("a field does not fit");
  next_in_block_ = 0;
  rows_read_ += block_rows_;
  ++block_;
  return Status::Ok();
}

Status ArchiveReader::TakeEnd() {
  Cursor cursor(payload_);
  const uint64_t rows = cursor.Unsigned(8), blocks = cursor.Unsigned(8);
  if (!cursor.at_end()) return Bad("the end record does not fit");
  if (rows != rows_read_ || rows != *info_.rows || blocks != block_ - 1) {
    return Bad("the end record says " + Count(rows, "row") + " in " + Count(blocks, "block") +
               ", the header " + Count(*info_.rows, "row") + "; found " +
               std::to_string(rows_read_) + " in " + std::to_string(block_ - 1));
  }
  EDO_ASSIGN_OR_RETURN(const std::string_view rest, input_->Peek(1));
  if (!rest.empty()) return Bad("bytes follow the end record");
  return Status::Ok();
}

void ArchiveReader::AppendRow(RowBatch* batch) {
  const uint64_t i = next_in_block_++;
  const auto* code = reinterpret_cast<const std::byte*>(codes_) + i * row_bytes_;
  batch->codes.insert(batch->codes.end(), code, code + row_bytes_);
  if (info_.key_kind == KeyKind::kInt64) batch->int_keys.push_back(int_keys_[i]);
  if (info_.key_kind == KeyKind::kText) {
    const uint64_t begin = i == 0 ? 0 : key_ends_[i - 1];
    batch->AddTextKey(key_bytes_.substr(begin, key_ends_[i] - begin));
  }
  batch->positions.push_back(next_row_++);
  ++batch->row_count;
}

Result<bool> ArchiveReader::Fill(RowBatch* batch, uint64_t max_rows) {
  while (batch->row_count < max_rows) {
    if (next_in_block_ < block_rows_) {
      AppendRow(batch);
      continue;
    }
    ArchiveRecord kind;
    EDO_RETURN_IF_ERROR(ReadRecord(&kind));
    if (kind == ArchiveRecord::kEnd) {
      EDO_RETURN_IF_ERROR(TakeEnd());
      return false;
    }
    if (kind != ArchiveRecord::kBlock) return Bad("a record of an unknown kind");
    EDO_RETURN_IF_ERROR(TakeBlock());
  }
  return true;
}

}  // namespace

OpenedReader OpenArchiveReader(std::unique_ptr<Input> input, const SourceOptions& options) {
  auto reader = std::make_unique<ArchiveReader>(std::move(input), options);
  EDO_RETURN_IF_ERROR(reader->Start());
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace edo::storage
