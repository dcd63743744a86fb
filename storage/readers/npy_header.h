// The header of a NumPy .npy file, versions 1.0, 2.0 and 3.0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edo/status.h"
#include "storage/readers/input.h"

namespace edo::storage {

struct NpyHeader {
  std::string descr;  // "<f4"; of a structured type the text of the whole list
  bool structured = false;
  bool fortran_order = false;
  std::vector<uint64_t> shape;
  uint64_t data_offset = 0;

  bool big_endian() const { return descr.starts_with('>'); }
  std::string kind() const;       // "f4", without the byte order
  std::string ShapeText() const;  // "(5, 4)"
};

// Reads and consumes the header at the beginning of `input`.
Result<NpyHeader> ReadNpyHeader(Input* input);

}  // namespace edo::storage
