// A look at an SST file before RocksDB opens it. RocksDB 7.8 parses a file's properties block
// before it proves the block's checksum, and one flipped bit there - the one that says "this block
// has a hash index" - ends the process in builds whose assertions are live, as the distribution's
// are.
#pragma once

#include <string>

#include "edo/status.h"

namespace edo::storage {

// kCorruption when the properties block of the file claims a hash index, which no properties block
// has. Anything that cannot be read or understood here is left to RocksDB, which says what is wrong
// with it. Two small reads.
Status CheckSstProperties(const std::string& path);

}  // namespace edo::storage
