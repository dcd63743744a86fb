#include "storage/readers/coded_reader.h"

#include "storage/codecs/centroids.h"
#include "storage/readers/messages.h"

namespace edo::storage {
namespace {

constexpr std::byte kGainOne[] = {std::byte{0x80}, std::byte{0x3f}};  // as bfloat16

class CodedReader final : public RowReader {
 public:
  CodedReader(std::unique_ptr<RowReader> rows, const CodecSpec& codec, uint32_t dim,
              std::string name)
      : rows_(std::move(rows)),
        codec_(codec),
        name_(std::move(name)),
        columns_(rows_->info().dim),
        row_bytes_(codec.RowBytes(dim)),
        packed_(codec.bits == 4 && columns_ != codec.parts),
        info_(rows_->info()) {
    info_.dim = dim;
    info_.dtype = codec.ToString();
    info_.codec = codec;
  }
  const SourceInfo& info() const override { return info_; }
  const SourceCounts& counts() const override { return rows_->counts(); }
  uint64_t bytes_read() const override { return rows_->bytes_read(); }
  uint64_t bytes_total() const override { return rows_->bytes_total(); }

  Result<bool> Next(RowBatch* batch) override {
    EDO_ASSIGN_OR_RETURN(const bool more, rows_->Next(&raw_));
    batch->Clear();
    batch->dim = info_.dim;
    if (!more) return false;
    batch->codes.resize(raw_.row_count * row_bytes_);
    for (uint64_t i = 0; i < raw_.row_count; ++i) {
      EDO_RETURN_IF_ERROR(TakeRow(raw_.row(i), raw_.positions[i], &batch->codes[i * row_bytes_]));
    }
    batch->row_count = raw_.row_count;
    batch->positions = raw_.positions;
    return true;
  }

 private:
  Status TakeRow(const float* row, uint64_t position, std::byte* out) {
    for (uint32_t i = 0; i < columns_; ++i) {
      const auto value = static_cast<uint32_t>(row[i]);
      if (!packed_) {
        if (value >> codec_.bits != 0) return BadCode(position, i, value);
        WriteCode(codec_.bits, i, value, out);
        continue;
      }
      WriteCode(4, 2 * i, value & 15, out);
      if (2 * i + 1 < codec_.parts) {
        WriteCode(4, 2 * i + 1, value >> 4, out);
      } else if (value >> 4 != 0) {
        return BadRow(name_, position,
                      "the upper half of byte " + std::to_string(i + 1) +
                          " belongs to no code of " + codec_.ToString() + " and is " +
                          std::to_string(value >> 4) + ", not 0");
      }
    }
    std::copy(std::begin(kGainOne), std::end(kGainOne), out + row_bytes_ - sizeof kGainOne);
    return Status::Ok();
  }

  Status BadCode(uint64_t position, uint32_t i, uint32_t value) const {
    return BadRow(name_, position,
                  "code " + std::to_string(i + 1) + " of " + std::to_string(columns_) + " is " +
                      std::to_string(value) + "; those of " + codec_.ToString() + " are 0.." +
                      std::to_string((1u << codec_.bits) - 1));
  }

  std::unique_ptr<RowReader> rows_;
  const CodecSpec codec_;
  const std::string name_;
  const uint32_t columns_;
  const uint64_t row_bytes_;
  const bool packed_;  // two codes of 4 bits a byte
  SourceInfo info_;
  RowBatch raw_;
};

}  // namespace

Result<std::unique_ptr<RowReader>> MakeCodedReader(std::unique_ptr<RowReader> rows,
                                                   const CodecSpec& codec, uint32_t dim,
                                                   std::string name) {
  const SourceInfo& info = rows->info();
  if (info.dtype != "u8") {
    return BadByte(name, 10, "codes are u8, the array holds " + info.dtype);
  }
  const uint32_t packed = (codec.parts + 1) / 2;
  if (info.dim != codec.parts && (codec.bits != 4 || info.dim != packed)) {
    return BadByte(name, 10,
                   "rows of " + Count(info.dim, "byte") + "; " + codec.ToString() + " has " +
                       Count(codec.parts, "code") + " a row" +
                       (codec.bits == 4 ? ", one a byte, or two: " + Count(packed, "byte") : ""));
  }
  return std::unique_ptr<RowReader>(
      std::make_unique<CodedReader>(std::move(rows), codec, dim, std::move(name)));
}

}  // namespace edo::storage
