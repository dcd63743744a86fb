// Keys from a .npy array of fixed-width strings: <U (UTF-32) and |S (bytes). NumPy pads with NULs,
// so that NULs at a key's end cannot be told from padding and are taken off.
#include <algorithm>
#include <charconv>

#include "storage/readers/element_type.h"
#include "storage/readers/key_source.h"
#include "storage/readers/messages.h"
#include "storage/readers/npy_header.h"
#include "storage/readers/utf8.h"

namespace edo::storage {
namespace {

class NpyStrings final : public KeySource {
 public:
  NpyStrings(std::unique_ptr<Input> input, const NpyHeader& header, uint64_t characters)
      : input_(std::move(input)),
        count_(header.shape[0]),
        unicode_(header.kind()[0] == 'U'),
        big_endian_(header.big_endian()),
        key_bytes_(characters * (unicode_ ? 4 : 1)),
        raw_(key_bytes_) {}
  const std::string& name() const override { return input_->name(); }
  KeyKind kind() const override { return KeyKind::kText; }
  std::optional<uint64_t> count() const override { return count_; }

  Result<uint64_t> Next(uint64_t wanted, RowBatch* batch) override {
    wanted = std::min(wanted, count_ - row_);
    for (uint64_t i = 0; i < wanted; ++i, ++row_) {
      EDO_ASSIGN_OR_RETURN(const size_t got, input_->Read(raw_.data(), raw_.size()));
      if (got < raw_.size()) {
        return BadByte(name(), input_->offset(), "the file is truncated: it ends inside its keys");
      }
      EDO_RETURN_IF_ERROR(Decode());
      batch->AddTextKey(key_);
    }
    return wanted;
  }

 private:
  Status Decode() {
    key_.clear();
    if (!unicode_) {
      key_.assign(reinterpret_cast<const char*>(raw_.data()), raw_.size());
      key_.resize(key_.find_last_not_of('\0') + 1);
      return Status::Ok();
    }
    size_t end = raw_.size() / 4;
    const auto code_at = [this](size_t i) {
      return static_cast<uint32_t>(LoadUnsigned(raw_.data() + 4 * i, 4, big_endian_));
    };
    while (end > 0 && code_at(end - 1) == 0) --end;
    for (size_t i = 0; i < end; ++i) {
      const uint32_t code = code_at(i);
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return BadRow(name(), row_, std::to_string(code) + " is no Unicode character");
      }
      AppendUtf8(code, &key_);
    }
    return Status::Ok();
  }

  std::unique_ptr<Input> input_;
  const uint64_t count_;
  const bool unicode_, big_endian_;
  const uint64_t key_bytes_;
  std::vector<std::byte> raw_;
  std::string key_;
  uint64_t row_ = 0;
};

}  // namespace

Result<std::unique_ptr<KeySource>> OpenNpyStrings(std::unique_ptr<Input> input,
                                                  const NpyHeader& header) {
  const std::string kind = header.kind();
  uint64_t characters = 0;
  const auto parsed = std::from_chars(kind.data() + 1, kind.data() + kind.size(), characters);
  if (parsed.ec != std::errc() || parsed.ptr != kind.data() + kind.size() || characters == 0 ||
      characters > kMaxKeyBytes) {
    return Status::Unsupported(input->name() + " byte 10: keys of type " + header.descr +
                               "; strings of 1 to 65535 characters can be read");
  }
  EDO_RETURN_IF_ERROR(
      CheckNpyKeysSize(*input, header.shape[0], characters * (kind[0] == 'U' ? 4 : 1)));
  return std::unique_ptr<KeySource>(
      std::make_unique<NpyStrings>(std::move(input), header, characters));
}

}  // namespace edo::storage
