// Reader of raw arrays: rows of dim elements and nothing else; the options say dim and type.
#include "storage/readers/matrix_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/readers.h"

namespace edo::storage {

OpenedReader OpenRawReader(std::unique_ptr<Input> input, const SourceOptions& options) {
  if (options.dim == 0 || options.dim > kMaxDim) {
    return Status::InvalidArgument(input->name() +
                                   ": a raw file needs the dimension of its rows, 1 "
                                   "to " +
                                   std::to_string(kMaxDim) + " (dim " +
                                   std::to_string(options.dim) + " given)");
  }
  const auto type = ParseRawType(options.dtype);
  if (!type) {
    return Status::InvalidArgument(
        input->name() +
        ": a raw file needs its element type: f32 f16 bf16 f64 i8 u8, or be-f32 ... "
        "for big-endian (" +
        (options.dtype.empty() ? "none given" : Quote(options.dtype)) + ")");
  }
  MatrixLayout layout;
  layout.type = type->type;
  layout.big_endian = type->big_endian;
  layout.dim = options.dim;
  SourceInfo info;
  info.format = "raw";
  return MatrixReader::Open(std::move(input), options, std::move(info), layout);
}

}  // namespace edo::storage
