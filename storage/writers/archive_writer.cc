// Writer of edo archives: a table's codes and keys bit for bit. Layout: docs/archive_format.md.
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>

#include "storage/readers/archive_format.h"
#include "storage/writers/writer_base.h"
#include "storage/writers/writers.h"

namespace edo::storage {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 20;

class ArchiveWriter final : public WriterBase {
 public:
  explicit ArchiveWriter(const TargetInfo& target)
      : WriterBase(target), stream_(ZSTD_createCCtx()) {}
  ~ArchiveWriter() override { ZSTD_freeCCtx(stream_); }
  bool wants_codes() const override { return true; }

 protected:
  Status WriteHead() override {
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_compressionLevel, 1);  // codes hardly shrink
    ZSTD_CCtx_setParameter(stream_, ZSTD_c_checksumFlag, 1);
    std::string start(kArchiveMagic);
    AppendUnsigned(target_.learned.empty() ? kArchiveVersion : kLearnedArchiveVersion, 4, &start);
    EDO_RETURN_IF_ERROR(output_->Append(start));
    std::string header;
    AppendUnsigned(static_cast<uint64_t>(target_.key_kind), 1, &header);
    AppendUnsigned(target_.dim, 4, &header);
    AppendUnsigned(target_.rows, 8, &header);
    AppendUnsigned(target_.row_bytes, 8, &header);
    AppendSized(target_.codec.ToString(), 2, &header);
    AppendSized(target_.table, 2, &header);
    AppendUnsigned(target_.metadata.size(), 4, &header);
    for (const auto& [key, value] : target_.metadata) {
      AppendSized(key, 4, &header);
      AppendSized(value, 4, &header);
    }
    EDO_RETURN_IF_ERROR(WriteRecord(ArchiveRecord::kHeader, header));
    for (size_t at = 0; at < target_.learned.size(); at += kBlockBytes) {
      const auto piece =
          target_.learned.subspan(at, std::min(size_t{kBlockBytes}, target_.learned.size() - at));
      EDO_RETURN_IF_ERROR(WriteRecord(ArchiveRecord::kLearned,
                                      {reinterpret_cast<const char*>(piece.data()), piece.size()}));
    }
    return Status::Ok();
  }

  // One batch is one block, or several when its keys are long.
  Status WriteRows(const RowBatch& batch) override {
    uint64_t begin = 0;
    while (begin < batch.row_count) {
      uint64_t end = begin, bytes = 0;
      while (end < batch.row_count && (end == begin || bytes < kBlockBytes)) {
        bytes += target_.row_bytes + 8;
        if (target_.key_kind == KeyKind::kText) bytes += batch.text_key(end).size();
        ++end;
      }
      EDO_RETURN_IF_ERROR(WriteBlock(batch, begin, end));
      begin = end;
    }
    return Status::Ok();
  }

  Status WriteTail() override {
    std::string end;
    AppendUnsigned(target_.rows, 8, &end);
    AppendUnsigned(blocks_, 8, &end);
    EDO_RETURN_IF_ERROR(WriteRecord(ArchiveRecord::kEnd, end));
    return Compress({}, ZSTD_e_end);
  }

 private:
  static void AppendSized(std::string_view bytes, uint32_t length_bytes, std::string* to) {
    AppendUnsigned(bytes.size(), length_bytes, to);
    to->append(bytes);
  }

  Status WriteBlock(const RowBatch& batch, uint64_t begin, uint64_t end) {
    block_.clear();
    AppendUnsigned(end - begin, 4, &block_);
    block_.append(reinterpret_cast<const char*>(batch.codes.data()) + begin * target_.row_bytes,
                  (end - begin) * target_.row_bytes);
    if (target_.key_kind == KeyKind::kInt64) {
      for (uint64_t i = begin; i < end; ++i) {
        AppendUnsigned(static_cast<uint64_t>(batch.int_keys[i]), 8, &block_);
      }
    } else if (target_.key_kind == KeyKind::kText) {
      for (uint64_t i = begin; i < end; ++i) AppendUnsigned(batch.text_key(i).size(), 4, &block_);
      for (uint64_t i = begin; i < end; ++i) block_.append(batch.text_key(i));
    }
    ++blocks_;
    return WriteRecord(ArchiveRecord::kBlock, block_);
  }

  Status WriteRecord(ArchiveRecord kind, std::string_view payload) {
    std::string head(1, static_cast<char>(kind));
    AppendUnsigned(payload.size(), 4, &head);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, head.data(), head.size());
    XXH3_64bits_update(&state, payload.data(), payload.size());
    std::string checksum;
    AppendUnsigned(XXH3_64bits_digest(&state), 8, &checksum);
    EDO_RETURN_IF_ERROR(Compress(head, ZSTD_e_continue));
    EDO_RETURN_IF_ERROR(Compress(payload, ZSTD_e_continue));
    return Compress(checksum, ZSTD_e_continue);
  }

  Status Compress(std::string_view bytes, ZSTD_EndDirective directive) {
    if (stream_ == nullptr) return Status::IoError(target_.path + ": no memory to compress");
    std::string block(ZSTD_CStreamOutSize(), '\0');
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{block.data(), block.size(), 0};
      const size_t left = ZSTD_compressStream2(stream_, &out, &in, directive);
      if (ZSTD_isError(left)) {
        return Status::IoError(target_.path + ": cannot compress: " + ZSTD_getErrorName(left));
      }
      EDO_RETURN_IF_ERROR(output_->Append(block.data(), out.pos));
      if (directive == ZSTD_e_end ? left == 0 : in.pos == in.size) return Status::Ok();
    }
  }

  ZSTD_CCtx* const stream_;
  uint64_t blocks_ = 0;
  std::string block_;
};

}  // namespace

std::unique_ptr<RowWriter> MakeArchiveWriter(const TargetInfo& target) {
  return std::make_unique<ArchiveWriter>(target);
}

}  // namespace edo::storage
