#include "engine/row_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace edo::engine {

void SortByRow(uint64_t rows, std::vector<uint64_t>* words) {
  constexpr int kDigitBits = 11;
  constexpr size_t kDigits = size_t{1} << kDigitBits;
  constexpr size_t kFewWords = 512;  // counting digits would take longer
  if (words->size() < kFewWords) {
    std::sort(words->begin(), words->end());
    return;
  }
  std::vector<uint64_t> other(words->size());
  const int row_bits = std::bit_width(rows);
  for (int done = 0; done < row_bits; done += kDigitBits) {
    const int shift = kPlaceBits + done;
    std::array<uint32_t, kDigits> begin{};
    for (const uint64_t word : *words) ++begin[word >> shift & (kDigits - 1)];
    uint32_t sum = 0;
    for (uint32_t& count : begin) sum += std::exchange(count, sum);
    for (const uint64_t word : *words) other[begin[word >> shift & (kDigits - 1)]++] = word;
    words->swap(other);
  }
}

}  // namespace edo::engine
