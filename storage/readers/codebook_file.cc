// ReadCodebook of edo/codebook.h: arrays of any number of dimensions from .npy files.
#include <algorithm>
#include <optional>

#include "edo/codebook.h"
#include "edo/options.h"
#include "storage/readers/element_type.h"
#include "storage/readers/messages.h"
#include "storage/readers/npy_header.h"

namespace edo {
namespace {

using storage::BadByte;
using storage::ElementType;
using storage::Input;
using storage::NpyHeader;

std::optional<ElementType> TypeOf(const NpyHeader& header) {
  if (header.structured) return {};
  if (header.kind() == "f2") return ElementType::kF16;
  if (header.kind() == "f4") return ElementType::kF32;
  if (header.kind() == "f8") return ElementType::kF64;
  return {};
}

// Element i of an array in Fortran order is where in C order?
size_t PlaceInCOrder(size_t i, const std::vector<uint64_t>& shape) {
  size_t place = 0, stride = 1;
  std::vector<size_t> strides(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    place += i % shape[axis] * strides[axis];
    i /= shape[axis];
  }
  return place;
}

// The whole array, in C order. `check` looks at its shape before anything else is read.
template <typename Check>
Result<std::vector<float>> ReadArray(const std::string& path, const Check& check) {
  EDO_ASSIGN_OR_RETURN(const auto input, Input::Open(path));
  EDO_ASSIGN_OR_RETURN(const NpyHeader header, storage::ReadNpyHeader(input.get()));
  const auto type = TypeOf(header);
  if (!type) {
    return BadByte(path, 10, "element type " + header.descr + "; f2, f4 and f8 are taken");
  }
  EDO_RETURN_IF_ERROR(check(header));
  size_t count = 1;
  for (const uint64_t extent : header.shape) count *= extent;
  const size_t bytes = storage::ElementBytes(*type);
  constexpr size_t kPiece = size_t{1} << 16;  // a file that is shorter than it says takes no memory
  std::vector<float> values;
  std::vector<std::byte> raw(kPiece * bytes);
  while (values.size() < count) {
    const size_t n = std::min(kPiece, count - values.size());
    EDO_ASSIGN_OR_RETURN(const size_t got, input->Read(raw.data(), n * bytes));
    if (got < n * bytes) {
      return BadByte(path, input->offset(),
                     "the file is truncated: shape " + header.ShapeText() + " has " +
                         storage::Count(count, "value") + ", here the data ends in value " +
                         std::to_string(values.size() + got / bytes));
    }
    values.resize(values.size() + n);
    storage::DecodeElements(*type, header.big_endian(), raw.data(), n, &values[values.size() - n]);
  }
  EDO_ASSIGN_OR_RETURN(const std::string_view rest, input->Peek(1));
  if (!rest.empty()) return BadByte(path, input->offset(), "bytes follow the array");
  if (!header.fortran_order) return values;
  std::vector<float> turned(count);
  for (size_t i = 0; i < count; ++i) turned[PlaceInCOrder(i, header.shape)] = values[i];
  return turned;
}

}  // namespace

Result<Codebook> ReadCodebook(const CodecSpec& codec, const std::string& centroids,
                              const std::string& rotation) {
  const std::string name = codec.ToString();
  if (codec.kind != CodecKind::kPQ) {
    return Status::InvalidArgument("codec " + name +
                                   " takes no codebook; PQ{m}x{b} and OPQ{m},PQ{m}x{b} do");
  }
  if (codec.rotated && rotation.empty()) {
    return Status::InvalidArgument("codec " + name + " needs a rotation beside the codebook");
  }
  if (!codec.rotated && !rotation.empty()) {
    return Status::InvalidArgument("codec " + name + " has no rotation; OPQ" +
                                   std::to_string(codec.parts) + "," + name + " has");
  }
  Codebook book;
  book.parts = codec.parts;
  book.ksub = 1u << codec.bits;
  const auto check_centroids = [&](const NpyHeader& header) -> Status {
    const std::vector<uint64_t>& shape = header.shape;
    if (shape.size() != 3 || shape[0] != book.parts || shape[1] != book.ksub || shape[2] == 0 ||
        shape[2] > kMaxDim || shape[0] * shape[2] > 2 * uint64_t{kMaxDim}) {
      return BadByte(centroids, 10,
                     "shape " + header.ShapeText() + "; a codebook of " + name + " has (" +
                         std::to_string(book.parts) + ", " + std::to_string(book.ksub) +
                         ", values of a part)");
    }
    book.width = static_cast<uint32_t>(shape[2]);
    return Status::Ok();
  };
  EDO_ASSIGN_OR_RETURN(book.centroids, ReadArray(centroids, check_centroids));
  if (rotation.empty()) return book;
  const auto check_rotation = [&](const NpyHeader& header) -> Status {
    const std::vector<uint64_t>& shape = header.shape;
    const uint64_t most = uint64_t{book.parts} * book.width;
    if (shape.size() != 2 || shape[0] != shape[1] || shape[0] == 0 || shape[0] > most ||
        most - shape[0] >= book.width) {
      return BadByte(
          rotation, 10,
          "shape " + header.ShapeText() + "; the rotation of rows of " +
              std::to_string(book.parts) + " parts of " + std::to_string(book.width) + " has (" +
              std::to_string(most) + ", " + std::to_string(most) + ")" +
              (book.width > 1 ? ", or less by up to " + std::to_string(book.width - 1) : ""));
    }
    book.rotation_dim = static_cast<uint32_t>(shape[0]);
    return Status::Ok();
  };
  EDO_ASSIGN_OR_RETURN(book.rotation, ReadArray(rotation, check_rotation));
  return book;
}

}  // namespace edo
