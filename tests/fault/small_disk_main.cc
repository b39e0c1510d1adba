// The program of tests on small disks: it has mounts of its own before there is a second thread.
#include <gtest/gtest.h>

#include "tests/fault/small_disk.h"

int main(int argc, char** argv) {
  isocenter::testing::EnterOwnMounts();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
