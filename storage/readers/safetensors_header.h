// The header of a safetensors file: names, types, shapes and places of its tensors, checked whole
// (no holes, no overlap, nothing past the end) before any of it is used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "edo/status.h"
#include "edo/table.h"
#include "storage/readers/input.h"

namespace edo::storage {

struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // "F32", as written
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0;    // bytes of the data part
  std::string ShapeText() const;  // "[5, 4]"
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // in the order of their data
  Metadata metadata;                       // __metadata__
  uint64_t data_offset = 0;                // where the data part begins

  const SafetensorsTensor* Find(std::string_view name) const;
};

Result<SafetensorsHeader> ReadSafetensorsHeader(const Input& input);

}  // namespace edo::storage
