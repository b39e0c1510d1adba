#include "kernels/recon/completeness/grid_coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

/// Sees 118 mm around the isocentre and 7 mm along the axis.
const Acquisition& Arc() {
  static const EllipseScan scan(40, 200, {}, 0);
  return scan.acquisition;
}

VolumeGrid At(VolumeGrid grid, Vec3 shift) {
  grid.origin = grid.origin + shift;
  return grid;
}

TEST(GridCoverage, WhatIsAroundTheIsocentreIsSeen) {
  for (const VolumeGrid& grid :
       {CenteredGrid(64, 64, 4, {3, 3, 3}), CenteredGrid(1, 1, 1, {1, 1, 1}),
        At(CenteredGrid(8, 8, 4, {1, 1, 1}), {100, 0, 0})}) {
    EXPECT_TRUE(CheckGridIsSeen(Arc(), grid).ok());
    EXPECT_EQ(LittleSeenText(Arc(), grid), std::nullopt);
  }
}

TEST(GridCoverage, WhatNoViewSeesIsRefused) {
  const absl::Status above =
      CheckGridIsSeen(Arc(), At(CenteredGrid(64, 64, 4, {1, 1, 1}), {0, 0, 60}));
  EXPECT_EQ(above.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(above.message()),
              HasSubstr("around (0, 0, 60) mm) lies beside the detector in all 40 views"));
  EXPECT_THAT(std::string(above.message()), HasSubstr("118 mm radius and, on the axis, 7 mm"));
  // The source is between it and the isocentre in some views, beside it in others.
  EXPECT_TRUE(CheckGridIsSeen(Arc(), At(CenteredGrid(8, 8, 4, {1, 1, 1}), {2000, 0, 0})).ok());
}

TEST(GridCoverage, WhatHardlyAnyViewSeesIsToldOf) {
  EXPECT_THAT(LittleSeenText(Arc(), CenteredGrid(512, 512, 512, {1, 1, 1})).value_or(""),
              HasSubstr("half of the views or more see only"));
  EXPECT_THAT(
      LittleSeenText(Arc(), At(CenteredGrid(8, 8, 4, {1, 1, 1}), {2000, 0, 0})).value_or(""),
      HasSubstr("see only 0 %"));
}

}  // namespace
}  // namespace isocenter::recon
