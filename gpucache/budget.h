// How the bytes of a cache are divided among its size classes.
#pragma once

#include <cstdint>
#include <vector>

namespace edo::gpucache {

struct ClassDemand {
  uint64_t block_bytes = 0;  // of one block
  uint64_t blocks = 0;       // that all rows of its tables would fill; >= 1
};

// Blocks for each class, in the order given; together at most `bytes`. Max-min fair: a class that
// wants less than an equal share gets what it wants, the others share the rest equally. Every class
// gets at least one block while that is possible, the first ones first; 0 where it is not.
std::vector<uint64_t> DivideBudget(uint64_t bytes, const std::vector<ClassDemand>& demands);

}  // namespace edo::gpucache
