// main() of every test program. EDO_TEST_SEED=N replays the random tests with that seed.
#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
