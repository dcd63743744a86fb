// The second file of formats that hold values only (npy, raw): text keys one a line, or int64 ids.
#pragma once

#include <string>
#include <string_view>

#include "storage/row_batch.h"
#include "storage/writers/output_file.h"

namespace edo::storage {

// Why a text key would not read back from a file of keys one a line; empty when it would.
std::string WhyNotAKeyLine(std::string_view key, uint64_t row);

Status WriteKeyLines(const RowBatch& batch, OutputFile* keys);
Status WriteKeyIds(const RowBatch& batch, OutputFile* keys);  // 8 bytes each, little-endian

// The head of a .npy file: version 1.0, C order, data from a multiple of 64 on.
std::string NpyHead(std::string_view descr, const std::string& shape);

}  // namespace edo::storage
