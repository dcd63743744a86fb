// The score of a cache slot: ageing over every stamp and value, the cap, the wrap of the stamp, and
// what the constants promise (eight hits make a row hot, six steps make it worthless).
#include "kernels/score.h"

#include <gtest/gtest.h>

namespace edo::kernels {
namespace {

TEST(Score, ValueHalvesEveryStepFromAnyClock) {
  for (uint32_t now : {0u, 1u, 200u, 255u, 256u, 0xfffffff0u, 0xffffffffu}) {
    for (uint32_t value = 0; value <= kMostValue; ++value) {
      const uint16_t score = MakeScore(value, now);
      for (uint32_t steps = 0; steps < 252; ++steps) {
        ASSERT_EQ(AgedValue(score, now + steps), steps < 32 ? value >> steps : 0)
            << now << " " << steps;
      }
    }
  }
}

TEST(Score, HitAddsItsValueToWhatIsLeft) {
  EXPECT_EQ(AgedValue(Touch(MakeScore(0, 9), 9), 9), kHitValue);
  EXPECT_EQ(AgedValue(Touch(MakeScore(20, 9), 9), 9), 20 + kHitValue);
  EXPECT_EQ(AgedValue(Touch(MakeScore(20, 9), 11), 11), 5 + kHitValue);
  EXPECT_EQ(AgedValue(Touch(MakeScore(kMostValue, 9), 100), 100), kHitValue);
}

TEST(Score, EightHitsMakeARowHotAndAHotRowNeedsNoStore) {
  uint16_t score = MakeScore(0, 77);
  for (int i = 0; i < 8; ++i) score = Touch(score, 77);
  EXPECT_EQ(AgedValue(score, 77), kMostValue);
  EXPECT_EQ(Touch(score, 77), score);
  EXPECT_NE(Touch(score, 78), score);
}

TEST(Score, HotRowIsWorthlessAfterSixSteps) {
  const uint16_t score = MakeScore(kMostValue, 250);
  EXPECT_EQ(AgedValue(score, 255), 1u);
  EXPECT_EQ(AgedValue(score, 256), 0u);
}

TEST(Score, RowHitEveryStepStaysAheadOfARowMissedOnce) {
  uint16_t score = MakeScore(0, 0);
  for (uint32_t now = 0; now < 1000; ++now) score = Touch(score, now);
  EXPECT_FALSE(MayReplace(CandidateValue(1), AgedValue(score, 999)));
  EXPECT_TRUE(MayReplace(CandidateValue(1), AgedValue(score, 1000)));
}

TEST(Score, StampFromAClockReadLaterCountsAsNow) {
  const uint16_t score = MakeScore(40, 256);
  for (uint32_t late = 1; late <= 4; ++late) {
    EXPECT_EQ(AgedValue(score, 256 - late), 40u);
    EXPECT_EQ(AgedValue(Touch(score, 256 - late), 256 - late), 40 + kHitValue);
  }
  EXPECT_EQ(AgedValue(score, 251), 0u);
}

// The one defect of an 8-bit stamp, and what defeats it.
TEST(Score, WrappedStampLooksFreshUnlessNormalised) {
  const uint16_t score = MakeScore(40, 3);
  EXPECT_EQ(AgedValue(score, 3 + 256), 40u);
  EXPECT_EQ(AgedValue(score, 3 + 256 + 6), 0u);
  uint16_t kept = score;
  for (uint32_t now = 3; now < 3000; now += 97) {  // a fill now and then
    kept = Normalised(kept, now);
    if (now >= 3 + 97) {
      ASSERT_EQ(AgedValue(kept, now), 0u) << now;
    }
  }
}

TEST(Score, NormalisedNeverChangesTheValue) {
  for (uint32_t score = 0; score < 65536; ++score) {
    if ((score & 0xff) > kMostValue) continue;
    for (uint32_t now : {0u, 3u, 255u}) {
      const uint16_t code = static_cast<uint16_t>(score);
      ASSERT_EQ(AgedValue(Normalised(code, now), now), AgedValue(code, now));
    }
  }
}

TEST(Score, NewRowStartsWithItsMissesUpToTheCap) {
  EXPECT_EQ(AgedValue(AdmittedScore(0, 5), 5), 0u);
  EXPECT_EQ(AgedValue(AdmittedScore(1, 5), 5), kHitValue);
  EXPECT_EQ(AgedValue(AdmittedScore(7, 5), 5), 7 * kHitValue);
  EXPECT_EQ(AgedValue(AdmittedScore(8, 5), 5), kMostValue);
  EXPECT_EQ(CandidateValue(0xffffffffu), kMostValue);
}

TEST(Score, TieGoesToTheNewcomer) {
  EXPECT_TRUE(MayReplace(0, 0));
  EXPECT_TRUE(MayReplace(kMostValue, kMostValue));
  EXPECT_FALSE(MayReplace(7, 8));
}

TEST(NextUse, IsAheadForHalfOfTheClockAndGoneForTheOtherHalf) {
  for (const uint32_t now : {1u, 1000u, 0x7fffffffu, 0x80000000u, 0xfffffff0u, 0xffffffffu}) {
    for (const uint32_t ahead : {1u, 5u, 0x7ffffffeu, 0x7fffffffu}) {
      if (now + ahead != kNoUse) {
        EXPECT_EQ(UseAhead(now + ahead, now), ahead) << now;
      }
      if (now - ahead != kNoUse) {
        EXPECT_EQ(UseAhead(now - ahead, now), 0u) << now;
      }
    }
    EXPECT_EQ(UseAhead(now, now), 0u) << "it is used now";
    EXPECT_EQ(UseAhead(kNoUse, now), 0u);
  }
}

TEST(NextUse, OnlyAKnownAndEarlierOneDisplaces) {
  EXPECT_TRUE(IsSooner(1, 2));
  EXPECT_FALSE(IsSooner(2, 2));
  EXPECT_FALSE(IsSooner(3, 2));
  EXPECT_FALSE(IsSooner(0, 2));
}

}  // namespace
}  // namespace edo::kernels
