// The generator behind every choice of the executor: xorshift64, cheap and the same on every
// machine. Not safe from several threads.
#pragma once

#include <cstdint>

namespace edo::simt {

class Random {
 public:
  // Neighbouring seeds and streams give unrelated sequences.
  explicit Random(uint64_t seed = 1, uint64_t stream = 0)
      : state_(seed * 0x9E3779B97F4A7C15u + stream * 0xBF58476D1CE4E5B9u) {
    if (state_ == 0) state_ = 1;
    for (int i = 0; i < 8; ++i) Bits();
  }
  uint64_t Bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  // 0 .. n - 1.
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(((Bits() >> 32) * n) >> 32); }
  // True once in n, by chance; never for 0.
  bool OneIn(uint32_t n) { return n != 0 && Below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace edo::simt
