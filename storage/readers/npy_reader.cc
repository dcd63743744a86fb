// Reader of .npy, and of one array of a .npz: a 2-D array of floats or small integers; row numbers
// are the keys.
#include <map>

#include "storage/readers/coded_reader.h"
#include "storage/readers/matrix_reader.h"
#include "storage/readers/messages.h"
#include "storage/readers/npy_header.h"
#include "storage/readers/readers.h"

namespace edo::storage {
namespace {

Status RefuseType(const std::string& name, const NpyHeader& header) {
  const std::string at = name + " byte 10: ";
  if (header.structured) {
    return Status::Unsupported(at + "a structured array, " + header.descr +
                               ": save the field with the values as an array of its own");
  }
  const std::string kind = header.kind();
  if (kind.starts_with('O')) {
    return Status::Unsupported(at + "an array of Python objects (" + header.descr +
                               "): it holds a pickle, which can run programs, so it is refused");
  }
  if (kind == "V2") {
    return Status::Unsupported(at + "element type " + header.descr +
                               " may be bfloat16: give dtype bf16 if it is");
  }
  return Status::Unsupported(at + "element type " + header.descr +
                             " is no float or small integer (f2 f4 f8 i1 u1 are read)");
}

Result<ElementType> TypeOf(const std::string& name, const NpyHeader& header,
                           const SourceOptions& options) {
  static const std::map<std::string, ElementType> kTypes{{"f2", ElementType::kF16},
                                                         {"f4", ElementType::kF32},
                                                         {"f8", ElementType::kF64},
                                                         {"i1", ElementType::kI8},
                                                         {"u1", ElementType::kU8}};
  if (header.structured) return RefuseType(name, header);
  if (header.kind() == "V2" && options.dtype == "bf16") return ElementType::kBF16;
  const auto known = kTypes.find(header.kind());
  if (known == kTypes.end()) return RefuseType(name, header);
  if (!options.dtype.empty() && options.dtype != ElementName(known->second)) {
    return Status::InvalidArgument(name + ": the array holds " +
                                   std::string(ElementName(known->second)) + " (" + header.descr +
                                   "), dtype says " + Quote(options.dtype));
  }
  return known->second;
}

}  // namespace

OpenedReader OpenNpyReader(std::unique_ptr<Input> input, const SourceOptions& options) {
  SourceInfo info;
  info.format = "npy";
  return OpenNpyArray(std::move(input), options, std::move(info));
}

OpenedReader OpenNpyArray(std::unique_ptr<Input> input, const SourceOptions& options,
                          SourceInfo info) {
  EDO_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(input.get()));
  const std::string& name = input->name();
  EDO_ASSIGN_OR_RETURN(const ElementType type, TypeOf(name, header, options));
  if (header.shape.size() != 2) {
    return BadByte(name, 10,
                   "a " + std::to_string(header.shape.size()) + "-D array of shape " +
                       header.ShapeText() + "; a table is 2-D");
  }
  if (header.shape[1] == 0) {
    return BadByte(name, 10, "dimension 0: the shape is " + header.ShapeText());
  }
  if (header.shape[1] > kMaxDim) {
    return BadByte(name, 10,
                   "shape " + header.ShapeText() + ": rows of more than " +
                       std::to_string(kMaxDim) + " values");
  }
  if (header.shape[0] > kMaxRows) {
    return BadByte(
        name, 10,
        "shape " + header.ShapeText() + ": more than " + std::to_string(kMaxRows) + " rows");
  }
  MatrixLayout layout;
  layout.type = type;
  layout.big_endian = header.big_endian();
  layout.fortran_order = header.fortran_order;
  layout.rows = header.shape[0];
  layout.dim = static_cast<uint32_t>(header.shape[1]);
  layout.data_offset = header.data_offset;
  if (!options.codes) {
    return MatrixReader::Open(std::move(input), options, std::move(info), layout);
  }
  SourceOptions of_codes = options;
  of_codes.dim = 0;  // the array has a column a code
  const std::string file = name;
  EDO_ASSIGN_OR_RETURN(auto codes,
                       MatrixReader::Open(std::move(input), of_codes, std::move(info), layout));
  return MakeCodedReader(std::move(codes), *options.codes, options.dim, file);
}

}  // namespace edo::storage
