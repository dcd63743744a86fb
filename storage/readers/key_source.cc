#include "storage/readers/key_source.h"

#include <algorithm>
#include <bit>
#include <map>

#include "storage/readers/element_type.h"
#include "storage/readers/line_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/npy_header.h"
#include "storage/readers/number.h"
#include "storage/readers/sniff.h"
#include "storage/readers/zip_archive.h"

namespace edo::storage {
namespace {

// One key a line.
class LineKeys final : public KeySource {
 public:
  LineKeys(std::unique_ptr<Input> input, KeyKind kind)
      : input_(std::move(input)), lines_(input_.get()), kind_(kind) {}
  Status Start() { return SkipByteOrderMark(input_.get()); }
  const std::string& name() const override { return input_->name(); }
  KeyKind kind() const override { return kind_; }
  std::optional<uint64_t> count() const override { return std::nullopt; }
  Result<uint64_t> Next(uint64_t wanted, RowBatch* batch) override {
    for (uint64_t i = 0; i < wanted; ++i) {
      std::string_view line;
      EDO_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
      if (!more) return i;
      line = StripCr(line);
      if (kind_ == KeyKind::kText) {
        batch->AddTextKey(line);
        continue;
      }
      const auto id = ParseInt64(line);
      if (!id) {
        return BadLine(name(), lines_.number(),
                       Quote(line) + " is not a signed 64-bit integer (the keys are int64)");
      }
      batch->int_keys.push_back(*id);
    }
    return wanted;
  }

 private:
  std::unique_ptr<Input> input_;
  LineReader lines_;
  const KeyKind kind_;
};

struct IdType {
  uint32_t bytes = 8;
  bool is_signed = true;
  bool big_endian = false;
};

Result<int64_t> ToInt64(const std::string& name, const std::byte* from, const IdType& type,
                        uint64_t row) {
  const uint64_t bits = LoadUnsigned(from, type.bytes, type.big_endian);
  if (type.is_signed) {
    const uint32_t unused = 64 - 8 * type.bytes;
    return static_cast<int64_t>(bits << unused) >> unused;
  }
  if (bits > INT64_MAX) {
    return BadRow(name, row, "id " + std::to_string(bits) + " does not fit a signed 64-bit key");
  }
  return static_cast<int64_t>(bits);
}

// An array of integers at the input's present place.
class IdKeys final : public KeySource {
 public:
  IdKeys(std::unique_ptr<Input> input, const IdType& type, std::optional<uint64_t> count)
      : input_(std::move(input)), type_(type), count_(count) {}
  const std::string& name() const override { return input_->name(); }
  KeyKind kind() const override { return KeyKind::kInt64; }
  std::optional<uint64_t> count() const override { return count_; }
  Result<uint64_t> Next(uint64_t wanted, RowBatch* batch) override {
    std::vector<std::byte> block;
    uint64_t done = 0;
    const uint64_t left = count_ ? *count_ - row_ : UINT64_MAX;
    wanted = std::min(wanted, left);
    while (done < wanted) {
      const uint64_t step = std::min<uint64_t>(wanted - done, 65536);
      block.resize(step * type_.bytes);
      EDO_ASSIGN_OR_RETURN(const size_t got, input_->Read(block.data(), block.size()));
      const uint64_t ids = got / type_.bytes;
      for (uint64_t i = 0; i < ids; ++i, ++row_) {
        EDO_ASSIGN_OR_RETURN(const int64_t id,
                             ToInt64(name(), block.data() + i * type_.bytes, type_, row_));
        batch->int_keys.push_back(id);
      }
      done += ids;
      if (got < block.size()) {
        if (got % type_.bytes == 0 && !count_) return done;
        return BadByte(name(), input_->offset(), "the file is truncated: it ends inside its ids");
      }
    }
    return done;
  }

 private:
  std::unique_ptr<Input> input_;
  const IdType type_;
  const std::optional<uint64_t> count_;
  uint64_t row_ = 0;
};

Result<std::unique_ptr<KeySource>> OpenRawKeys(std::unique_ptr<Input> input,
                                               const std::string& dtype) {
  static const std::map<std::string, IdType> kTypes{
      {"i32", {4, true}}, {"i64", {8, true}}, {"u32", {4, false}}, {"u64", {8, false}}};
  const auto known = kTypes.find(dtype);
  if (known == kTypes.end()) {
    return Status::InvalidArgument("keys dtype " + Quote(dtype) + " is not one of i32 i64 u32 u64");
  }
  std::optional<uint64_t> count;
  if (const auto size = input->size()) {
    if (*size % known->second.bytes != 0) {
      return BadByte(input->name(), *size - *size % known->second.bytes,
                     std::to_string(*size) + " bytes are no whole number of " + dtype + " keys");
    }
    count = *size / known->second.bytes;
  }
  return std::unique_ptr<KeySource>(
      std::make_unique<IdKeys>(std::move(input), known->second, count));
}

// Keys in tensors of the file that also holds the rows.
class TensorKeys final : public KeySource {
 public:
  TensorKeys(const Input* input, KeyKind kind, uint64_t count, uint64_t ids_at, uint64_t bytes_at,
             uint64_t bytes)
      : input_(input),
        kind_(kind),
        count_(count),
        ids_at_(ids_at),
        bytes_at_(bytes_at),
        bytes_(bytes) {}
  const std::string& name() const override { return input_->name(); }
  KeyKind kind() const override { return kind_; }
  std::optional<uint64_t> count() const override { return count_; }

  Result<uint64_t> Next(uint64_t wanted, RowBatch* batch) override {
    wanted = std::min(wanted, count_ - next_);
    uint64_t done = 0;
    while (done < wanted) {
      const uint64_t step = std::min<uint64_t>(wanted - done, 8192);
      const bool text = kind_ == KeyKind::kText;
      std::vector<int64_t> numbers(step + text);  // text: one more offset than keys
      const uint64_t at = ids_at_ + 8 * next_;
      EDO_ASSIGN_OR_RETURN(const size_t got,
                           input_->ReadAt(at, numbers.data(), 8 * numbers.size()));
      if (got < 8 * numbers.size())
        return BadByte(name(), at + got, "the file ends inside the keys");
      if (text) {
        EDO_RETURN_IF_ERROR(AddText(numbers, batch));
      } else {
        batch->int_keys.insert(batch->int_keys.end(), numbers.begin(), numbers.end());
      }
      next_ += step;
      done += step;
    }
    return wanted;
  }

 private:
  Status AddText(const std::vector<int64_t>& offsets, RowBatch* batch) {
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      const int64_t begin = offsets[i], end = offsets[i + 1];
      if (begin < 0 || end < begin || static_cast<uint64_t>(end) > bytes_ ||
          end - begin > int64_t{kMaxKeyBytes}) {
        return BadRow(name(), next_ + i,
                      "tensor 'keys_offsets': a key from " + std::to_string(begin) + " to " +
                          std::to_string(end) + " of " + std::to_string(bytes_) +
                          " bytes in 'keys_bytes'");
      }
      key_.resize(static_cast<size_t>(end - begin));
      const uint64_t at = bytes_at_ + static_cast<uint64_t>(begin);
      EDO_ASSIGN_OR_RETURN(const size_t got, input_->ReadAt(at, key_.data(), key_.size()));
      if (got < key_.size()) return BadByte(name(), at + got, "the file ends inside the keys");
      batch->AddTextKey(key_);
    }
    return Status::Ok();
  }

  const Input* const input_;
  const KeyKind kind_;
  const uint64_t count_, ids_at_, bytes_at_, bytes_;
  uint64_t next_ = 0;
  std::string key_;
};

}  // namespace

Status CheckNpyKeysSize(const Input& input, uint64_t count, uint64_t key_bytes) {
  if (!input.size()) return Status::Ok();
  const uint64_t left = *input.size() - input.offset();
  if (left / key_bytes < count) {
    return BadByte(input.name(), *input.size(),
                   "the file is truncated: it holds " + Count(left / key_bytes, "key") + " of " +
                       std::to_string(count));
  }
  if (left == count * key_bytes) return Status::Ok();
  return BadByte(input.name(), input.offset() + count * key_bytes,
                 std::to_string(left - count * key_bytes) + " bytes follow the last of " +
                     Count(count, "key"));
}

Result<std::unique_ptr<KeySource>> OpenNpyKeys(std::unique_ptr<Input> input) {
  EDO_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(input.get()));
  static const std::map<std::string, IdType> kTypes{
      {"i1", {1, true}},  {"i2", {2, true}},  {"i4", {4, true}},  {"i8", {8, true}},
      {"u1", {1, false}}, {"u2", {2, false}}, {"u4", {4, false}}, {"u8", {8, false}}};
  const std::string kind = header.kind();
  const bool strings = !header.structured && (kind.starts_with('U') || kind.starts_with('S'));
  if (!header.structured && kind.starts_with('O')) {
    return Status::Unsupported(input->name() + " byte 10: keys in an array of Python objects (" +
                               header.descr +
                               "): it holds a pickle, which can run programs, so it is refused; "
                               "save them as strings (<U12, |S8) or integers");
  }
  const auto known = kTypes.find(kind);
  if (header.structured || (known == kTypes.end() && !strings)) {
    return Status::Unsupported(input->name() + " byte 10: keys of type " + header.descr +
                               " cannot be read; integers (i4 i8 u8 ...) and strings (U S) can");
  }
  const bool column = header.shape.size() == 2 && header.shape[1] == 1;
  if (header.shape.size() != 1 && !column) {
    return BadByte(input->name(), 10, "keys of shape " + header.ShapeText() + "; they are 1-D");
  }
  if (strings) return OpenNpyStrings(std::move(input), header);
  IdType type = known->second;
  type.big_endian = header.big_endian();
  EDO_RETURN_IF_ERROR(CheckNpyKeysSize(*input, header.shape[0], type.bytes));
  return std::unique_ptr<KeySource>(
      std::make_unique<IdKeys>(std::move(input), type, header.shape[0]));
}

Result<std::unique_ptr<KeySource>> OpenTensorKeys(const Input* input,
                                                  const SafetensorsHeader& header) {
  const auto is_list = [](const SafetensorsTensor* t, std::string_view dtype) {
    return t != nullptr && t->dtype == dtype && t->shape.size() == 1;
  };
  const uint64_t data = header.data_offset;
  const SafetensorsTensor* ids = header.Find("keys");
  if (is_list(ids, "I64")) {
    return std::unique_ptr<KeySource>(std::make_unique<TensorKeys>(
        input, KeyKind::kInt64, ids->shape[0], data + ids->begin, 0, 0));
  }
  const SafetensorsTensor* bytes = header.Find("keys_bytes");
  const SafetensorsTensor* offsets = header.Find("keys_offsets");
  if (is_list(bytes, "U8") && is_list(offsets, "I64") && offsets->shape[0] > 0) {
    return std::unique_ptr<KeySource>(std::make_unique<TensorKeys>(
        input, KeyKind::kText, offsets->shape[0] - 1, data + offsets->begin, data + bytes->begin,
        bytes->end - bytes->begin));
  }
  return std::unique_ptr<KeySource>();
}

Result<std::unique_ptr<KeySource>> OpenKeySource(const SourceOptions& options) {
  if (options.keys == "dense") return std::unique_ptr<KeySource>();
  EDO_ASSIGN_OR_RETURN(std::unique_ptr<Input> input, Input::Open(options.keys, options.cancelled));
  const std::string extension = ExtensionOf(options.keys);
  if (!options.keys_dtype.empty()) return OpenRawKeys(std::move(input), options.keys_dtype);
  EDO_ASSIGN_OR_RETURN(std::string_view start, input->Peek(4096));
  start = start.substr(0, 4096);
  if (start.starts_with("\x93NUMPY")) return OpenNpyKeys(std::move(input));
  if (extension == "json") return OpenVocabulary(std::move(input));
  for (const std::string_view raw : {"i32", "i64", "u32", "u64"}) {
    if (extension == raw) return OpenRawKeys(std::move(input), std::string(raw));
  }
  const bool blank_first =
      !start.empty() && std::string_view(" \t\r\n").find(start[0]) != start.npos;
  if (IsZip(start)) {
    return Status::Unsupported(input->name() +
                               " byte 0: this is a zip archive; keys from a .npz can only go with "
                               "rows from the same .npz (keys npz:NAME)");
  }
  if (const std::string foreign = NameForeignBytes(start); !foreign.empty() && !blank_first) {
    return Status::Unsupported(input->name() + " byte 0: " + foreign);
  }
  if (start.find('\0') != std::string_view::npos && extension != "txt") {
    return Status::BadInput(input->name() + " byte " + std::to_string(start.find('\0')) +
                            ": the keys file is not text; for raw ids give their type (i32 i64 u32 "
                            "u64)");
  }
  auto lines =
      std::make_unique<LineKeys>(std::move(input), options.key_kind.value_or(KeyKind::kText));
  EDO_RETURN_IF_ERROR(lines->Start());
  return std::unique_ptr<KeySource>(std::move(lines));
}

}  // namespace edo::storage
