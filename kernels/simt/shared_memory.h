// Shared memory of a block: variables are placed in the block's window when the first lane reaches
// their declaration, with red zones between them. Filled with 0xCB. What device code calls is in
// device_calls.h.
#pragma once

#include <cstddef>
#include <string>

namespace edo::simt {

struct Block;

// Empties the window and forgets its variables, for a block that starts in it.
void ResetShared(Block* block);
// "shared `s` (512 bytes) +516", or empty when `p` is in no resident block's window.
std::string DescribeShared(const char* p);

}  // namespace edo::simt
