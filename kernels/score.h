// The score of a cache slot and the rules by which a missed row takes a slot: 16 bits, ageing by
// itself, on the host and on the device alike. Where somebody knows when rows are read next, that
// knowledge goes before scores: see the end.
//
// A score is {8 bits: when it was last touched, 8 bits: how much it was worth then}. The worth is
// an exponentially aged count of hits in eighths: a hit adds kHitValue, every step of the cache's
// clock halves it. It stops at kMostValue (just under eight hits): a hot row reaches that within a
// few hits and needs no store until the clock moves, and a row that was hot and is so no longer is
// worth nothing after six steps, however hot it was. The cap is what makes the cache follow drift;
// exact counts above it would not tell apart rows that are near the margin, which are worth about
// one hit.
//
// Scores are read and written with plain relaxed loads and stores: a lost touch costs a hit's
// worth. The clock moves once every kLookupsPerSlotAndStep lookups a slot. Its low 8 bits are the
// stamp, so a slot untouched for 252 to 261 steps looks freshly touched. That is harmless where
// nobody fills the set (no row competes for the slot) and does not happen where somebody does: a
// fill looks at every score of its set and stores Normalised() where that differs.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace edo::kernels {

inline constexpr uint32_t kHitValue = 8;
inline constexpr uint32_t kMostValue = 63;
// Longer follows drift worse, shorter tells rows of similar popularity apart worse. Against 32, 16
// costs 0.5 to 2 points of hit rate where popularity is steady; 64 wins half a point there and
// loses 1.6 under heavy drift.
inline constexpr uint32_t kLookupsPerSlotAndStep = 32;

EDO_HD constexpr uint16_t MakeScore(uint32_t value, uint32_t now) {
  return static_cast<uint16_t>((now & 0xff) << 8 | (value < kMostValue ? value : kMostValue));
}

// What the slot is worth at `now`, 0..kMostValue. A thread may have read the clock before others
// that have touched the slot since: a stamp up to four steps ahead of `now` counts as `now`.
EDO_HD constexpr uint32_t AgedValue(uint16_t score, uint32_t now) {
  const uint32_t steps = (now - (uint32_t{score} >> 8)) & 0xff;
  if (steps >= 252) return score & 0xffu;
  return steps < 8 ? (score & 0xffu) >> steps : 0;
}

// The score after a hit at `now`. Equal to `score` for a hot row: then store nothing.
EDO_HD constexpr uint16_t Touch(uint16_t score, uint32_t now) {
  return MakeScore(AgedValue(score, now) + kHitValue, now);
}

// What a missed row is worth whose recent misses the sketch puts at `frequency`, this one included.
EDO_HD constexpr uint32_t CandidateValue(uint32_t frequency) {
  return frequency < kMostValue / kHitValue + 1 ? frequency * kHitValue : kMostValue;
}

// The score of a row admitted at `now`: it starts with what its misses made it worth.
EDO_HD constexpr uint16_t AdmittedScore(uint32_t frequency, uint32_t now) {
  return MakeScore(CandidateValue(frequency), now);
}

// Whether a missed row takes the slot of the least valuable row of its set. Ties go to the
// newcomer: among rows of equal worth the recently asked-for one is the better guess.
EDO_HD constexpr bool MayReplace(uint32_t candidate_value, uint32_t victim_value) {
  return candidate_value >= victim_value;
}

// `score` with a stamp that the clock does not catch up with by wrapping around: a worthless score
// is stamped `now`. Any other is younger than 8 steps and stays as it is.
EDO_HD constexpr uint16_t Normalised(uint16_t score, uint32_t now) {
  return AgedValue(score, now) == 0 ? MakeScore(0, now) : score;
}

// ---- known next uses ---------------------------------------------------------------------------

// When a row is used next, by a clock that moves with the batches of a loop: a number modulo 2^32,
// of which the next 2^31 - 1 after `now` are the future and all others have passed. 0 is no use, so
// that new memory knows of none; a use at that time is given as one later.
inline constexpr uint32_t kNoUse = 0;

// How far ahead of `now` a use is; 0: none is known, or it has passed.
EDO_HD constexpr uint32_t UseAhead(uint32_t next_use, uint32_t now) {
  const uint32_t ahead = next_use - now;
  return next_use == kNoUse || ahead > 0x7fffffffu ? 0 : ahead;
}

// Whether a row that is used `candidate` ahead takes the slot of the row of its set that is used
// last of all, `victim` ahead. Both known; of rows used at the same time the resident one stays.
EDO_HD constexpr bool IsSooner(uint32_t candidate, uint32_t victim) {
  return candidate != 0 && candidate < victim;
}

}  // namespace edo::kernels
