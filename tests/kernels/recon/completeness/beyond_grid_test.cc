#include "kernels/recon/completeness/beyond_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::recon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kViews = 40;

Acquisition Scan(PixelType type) {
  Acquisition scan{.detector = {.columns = 96, .rows = 16, .pitch_u_mm = 3, .pitch_v_mm = 6},
                   .pixel_type = type,
                   .i0_counts = 50000};
  scan.trajectory = *MakeCircularOrbit({.views = kViews,
                                        .source_to_isocenter_mm = 750,
                                        .source_to_detector_mm = 1200,
                                        .arc = 2 * kPi * (kViews - 1) / kViews},
                                       scan.detector);
  return scan;
}

/// A cylinder of water along the axis, endless, seen at such a dose; what BeyondGrid says of it.
std::vector<std::string> Told(
    const Acquisition& scan, const VolumeGrid& grid, double radius, double dose = 0,
    const std::optional<BeyondGrid::Surrounded>& surrounded = std::nullopt) {
  const Shape3 shape{kViews, scan.detector.rows, scan.detector.columns};
  std::vector<float> lines(shape.count());
  std::vector<uint16_t> counts(shape.count());
  size_t at = 0;
  for (const ProjectionMatrix& matrix : scan.trajectory) {
    const auto inverse = InverseLeft(matrix);
    const Vec3 source = Decompose(matrix)->source;
    for (int v = 0; v < scan.detector.rows; ++v) {
      for (int u = 0; u < scan.detector.columns; ++u, ++at) {
        const double x = inverse[0] * u + inverse[1] * v + inverse[2],
                     y = inverse[3] * u + inverse[4] * v + inverse[5],
                     z = inverse[6] * u + inverse[7] * v + inverse[8];
        const double flat = std::hypot(x, y);
        const double away = (source.x * y - source.y * x) / flat;
        const double inside = radius * radius - away * away;
        const double chord = inside > 0 ? 2 * std::sqrt(inside) * std::hypot(flat, z) / flat : 0;
        lines[at] = static_cast<float>(0.02 * chord);
        counts[at] = static_cast<uint16_t>(
            std::lround(scan.i0_counts * (dose > 0 ? dose : 1) * std::exp(-lines[at])));
      }
    }
  }
  const bool counted = scan.pixel_type == PixelType::kUint16Counts;
  ops::RawFrames frames;
  if (counted) {
    frames.counts = {counts.data(), shape};
  } else {
    frames.line_integrals = {lines.data(), shape};
  }
  BeyondGrid beyond(scan, grid, surrounded);
  for (int view = 0; view < kViews; ++view) beyond.Add(scan.trajectory[view], frames, view, dose);
  return beyond.Texts();
}

const VolumeGrid kSmall = CenteredGrid(24, 24, 24, {3.3, 3.3, 3.3});  // 79 mm

TEST(BeyondGrid, AnObjectThatIsWiderIsTold) {
  for (const PixelType type : {PixelType::kUint16Counts, PixelType::kFloat32LineIntegrals}) {
    const Acquisition scan = Scan(type);
    EXPECT_THAT(Told(scan, kSmall, 50), ElementsAre(HasSubstr("wider than the grid")));
    EXPECT_THAT(Told(scan, kSmall, 38), IsEmpty());
    EXPECT_THAT(Told(scan, CenteredGrid(32, 32, 24, {3.3, 3.3, 3.3}), 50), IsEmpty());
  }
}

TEST(BeyondGrid, AnObjectThatIsLongerIsTold) {
  // Rows reach 30 mm up and down at the axis; those that are looked at 26.
  for (const PixelType type : {PixelType::kUint16Counts, PixelType::kFloat32LineIntegrals}) {
    const Acquisition scan = Scan(type);
    EXPECT_THAT(Told(scan, CenteredGrid(32, 32, 2, {3.3, 3.3, 3.3}), 50),
                ElementsAre(HasSubstr("longer than the grid")));
    EXPECT_THAT(Told(scan, CenteredGrid(32, 32, 12, {3.3, 3.3, 3.3}), 50),
                ElementsAre(HasSubstr("longer than the grid")));
    EXPECT_THAT(Told(scan, CenteredGrid(32, 32, 18, {3.3, 3.3, 3.3}), 50), IsEmpty());
  }
}

TEST(BeyondGrid, OneEndIsEnoughButNotItsLastRows) {
  VolumeGrid low = CenteredGrid(32, 32, 18, {3.3, 3.3, 3.3});
  low.origin.z -= 8;
  EXPECT_THAT(Told(Scan(PixelType::kUint16Counts), low, 50), IsEmpty());
  low.origin.z -= 12;
  EXPECT_THAT(Told(Scan(PixelType::kUint16Counts), low, 50),
              ElementsAre(HasSubstr("longer than the grid")));
}

TEST(BeyondGrid, AGridOfFewCoarseVoxelsAmongThemIsTold) {
  const Acquisition scan = Scan(PixelType::kUint16Counts);
  const VolumeGrid all = CenteredGrid(40, 40, 40, {13.2, 13.2, 13.2});
  const auto told = [&](int slices, int factor, double radius = 50) {
    return Told(scan, all, radius, 0,
                BeyondGrid::Surrounded{CenteredGrid(96, 96, slices, {1.1, 1.1, 1.1}), factor});
  };
  EXPECT_THAT(told(8, 4), ElementsAre(testing::AllOf(HasSubstr("the grid has 8 slices"),
                                                     HasSubstr("or 24 slices and more"),
                                                     HasSubstr("4 times as coarse"))));
  EXPECT_THAT(told(8, 2), ElementsAre(HasSubstr("or 12 slices and more")));
  EXPECT_THAT(told(24, 4), IsEmpty());
  EXPECT_THAT(told(12, 2), IsEmpty());
  EXPECT_THAT(told(8, 4, 10), IsEmpty()) << "thin above and below";
}

TEST(BeyondGrid, WhatIsThinAboveAndBelowIsNot) {
  EXPECT_THAT(Told(Scan(PixelType::kUint16Counts), CenteredGrid(32, 32, 2, {3.3, 3.3, 3.3}), 10),
              IsEmpty());
}

TEST(BeyondGrid, OnlyOneSideIsEnough) {
  VolumeGrid aside = CenteredGrid(32, 32, 24, {3.3, 3.3, 3.3});
  aside.origin.x += 30;
  EXPECT_THAT(Told(Scan(PixelType::kUint16Counts), aside, 50),
              ElementsAre(HasSubstr("wider than the grid")));
}

TEST(BeyondGrid, ADoseThatIsToldIsNoObject) {
  const Acquisition scan = Scan(PixelType::kUint16Counts);
  EXPECT_THAT(Told(scan, kSmall, 38, 0.4), IsEmpty());
  EXPECT_THAT(Told(scan, kSmall, 50, 0.4), ElementsAre(HasSubstr("wider than the grid")));
}

TEST(BeyondGrid, ATurnedGridIsLookedAtAlongItsOwnSides) {
  // 100 mm across: at 45 degrees its corners are where the sides were.
  VolumeGrid turned = CenteredGrid(31, 31, 24, {3.3, 3.3, 3.3});
  const double c = std::sqrt(0.5);
  turned.direction = {c, c, 0, -c, c, 0, 0, 0, 1};
  const double to_first = -15 * 3.3;
  turned.origin = {to_first * (c + c), 0, turned.origin.z};
  EXPECT_THAT(Told(Scan(PixelType::kUint16Counts), turned, 50), IsEmpty());
  turned.origin.x += 30;
  EXPECT_THAT(Told(Scan(PixelType::kUint16Counts), turned, 50),
              ElementsAre(HasSubstr("wider than the grid")));
}

}  // namespace
}  // namespace isocenter::recon
