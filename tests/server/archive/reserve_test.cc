#include "server/archive/reserve.h"

#include <sys/stat.h>

#include "gtest/gtest.h"
#include "tests/server/archive/temporary_directory.h"

namespace isocenter::archive {
namespace {

/// Bytes that the reserve of a directory takes on the disk; -1: there is none.
int64_t TakenBytes(const std::filesystem::path& directory) {
  struct stat about {};
  if (stat((directory / "reserve").c_str(), &about) != 0) return -1;
  return int64_t{about.st_blocks} * 512;
}

TEST(Reserve, IsGivenBackInQuartersAndTakenAgain) {
  TemporaryDirectory directory;
  EXPECT_FALSE(ReleaseReserve(directory.path())) << "nothing was taken yet";
  const auto whole = static_cast<int64_t>(ReserveBytes(directory.path()));
  ASSERT_GT(whole, 0);
  FillReserve(directory.path());
  EXPECT_GE(TakenBytes(directory.path()), whole) << "it takes room, and not only a name";

  ASSERT_TRUE(ReleaseReserve(directory.path()));
  EXPECT_EQ(std::filesystem::file_size(directory.path() / "reserve"), whole - whole / 4);
  int quarters = 1;
  while (quarters < 10 && ReleaseReserve(directory.path())) ++quarters;
  EXPECT_EQ(quarters, 4);
  EXPECT_EQ(TakenBytes(directory.path()), 0);

  FillReserve(directory.path());
  EXPECT_GE(TakenBytes(directory.path()), whole);
}

}  // namespace
}  // namespace isocenter::archive
