#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "client/formats/png_image.h"
#include "client/imaging/contact_sheet.h"
#include "client/imaging/difference.h"
#include "client/imaging/label.h"
#include "client/imaging/planes.h"
#include "client/imaging/preview_image.h"
#include "client/imaging/resample.h"
#include "client/imaging/sheet_marks.h"
#include "kernels/geometry/patient_position.h"
#include "proto/wire/geometry.h"
#include "tests/client/test_files.h"

namespace isocenter::imaging {
namespace {

using formats::GrayImage;
using formats::Volume;

/// Voxel values that are linear in the world coordinates, which trilinear interpolation keeps.
Volume Ramp(const VolumeGrid& grid) {
  Volume volume{.grid = grid};
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const Vec3 p = grid.VoxelToWorld(i, j, k);
        volume.voxels.push_back(static_cast<float>(p.x + 10 * p.y + 100 * p.z));
      }
    }
  }
  return volume;
}

TEST(Resample, KeepsALinearFunctionAndMarksTheOutside) {
  VolumeGrid turned = CenteredGrid(9, 8, 7, {2, 3, 4});
  turned.direction = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  turned.origin = {12, -9, -11};
  const VolumeGrid grid = CenteredGrid(5, 6, 4, {1.5, 1.1, 2.3});
  const Volume resampled = Resample(Ramp(turned), grid, std::numeric_limits<float>::quiet_NaN());
  const Volume expected = Ramp(grid);
  int inside = 0;
  for (int k = 0; k < grid.nz; ++k) {
    for (int j = 0; j < grid.ny; ++j) {
      for (int i = 0; i < grid.nx; ++i) {
        const Vec3 at = turned.WorldToVoxel(grid.VoxelToWorld(i, j, k));
        const bool is_inside =
            at.x >= 0 && at.x <= 8 && at.y >= 0 && at.y <= 7 && at.z >= 0 && at.z <= 6;
        const float value = resampled.view()(k, j, i);
        EXPECT_EQ(std::isnan(value), !is_inside);
        // float32 rounding of values up to 1500.
        if (is_inside) {
          EXPECT_NEAR(value, expected.view()(k, j, i), 1e-3);
        }
        inside += is_inside;
      }
    }
  }
  EXPECT_GT(inside, 50);
}

TEST(Difference, RegionsCountWhatTheyHold) {
  const VolumeGrid grid = CenteredGrid(41, 41, 41, {5, 5, 5});
  Volume volume{.grid = grid, .voxels = std::vector<float>(grid.voxels(), 0)};
  Volume truth = volume;
  // One voxel 20 mm from the isocentre along z differs: in the spheres, not in the slab.
  volume.voxels[(24 * 41 + 20) * 41 + 20] = -8;
  truth.voxels[0] = std::numeric_limits<float>::quiet_NaN();
  DifferenceMeter meter(grid);
  meter.Add(0, volume.view().slices(0, 20), truth.view().slices(0, 20));
  meter.Add(20, volume.view().slices(20, 21), truth.view().slices(20, 21));
  const auto& regions = meter.regions();
  ASSERT_EQ(regions.size(), 4u);
  EXPECT_EQ(regions[0].name, "central slab");
  // Lattice points: 5 slices of those with i² + j² <= 144 (441), i² + j² + k² <= 36 (925).
  EXPECT_EQ(regions[0].voxels, 5 * 441);
  EXPECT_EQ(regions[0].largest, 0);
  EXPECT_EQ(regions[1].voxels, 925);
  EXPECT_DOUBLE_EQ(regions[1].bias(), -8.0 / 925);
  EXPECT_DOUBLE_EQ(regions[1].rmse(), 8 / std::sqrt(925.0));
  EXPECT_EQ(regions[2].largest, 8);
  EXPECT_EQ(regions[3].voxels, 41 * 41 * 41 - 1);
  for (int region = 0; region < 3; ++region) EXPECT_EQ(regions[region].covered(), 1) << region;
  EXPECT_NEAR(regions[3].covered(), 1, 1e-4);
}

TEST(Difference, RegionsKnowWhatTheVolumeHasOfThem) {
  const auto covered = [](const VolumeGrid& grid) {
    const std::vector<float> voxels(grid.voxels(), 0);
    DifferenceMeter meter(grid);
    meter.Add(0, {voxels.data(), grid.shape()}, {voxels.data(), grid.shape()});
    std::vector<double> shares;
    for (const RegionDifference& region : meter.regions()) shares.push_back(region.covered());
    return shares;
  };
  // The half above x = 0, of all regions.
  VolumeGrid half = CenteredGrid(30, 60, 60, {4, 4, 4});
  half.origin.x = 2;
  EXPECT_THAT(covered(half), testing::ElementsAre(0.5, 0.5, 0.5, 1));
  // A cube of 20 mm, 8000 mm³: of the slab of 226195 mm³, of the spheres of 113097 and 904779 mm³.
  EXPECT_THAT(covered(CenteredGrid(40, 40, 40, {0.5, 0.5, 0.5})),
              testing::ElementsAre(testing::DoubleNear(8000. / 226195, 1e-3),
                                   testing::DoubleNear(8000. / 113097, 1e-3),
                                   testing::DoubleNear(8000. / 904779, 1e-4), 1));
  VolumeGrid beside = CenteredGrid(8, 8, 8, {1, 1, 1});
  beside.origin.x = 100;
  EXPECT_THAT(covered(beside), testing::ElementsAre(0, 0, 0, 1));
}

TEST(Window, MapsItsEdgesToBlackAndWhite) {
  const Window window{.center = 40, .width = 400};
  EXPECT_EQ(window.Gray(-160), 0);
  EXPECT_EQ(window.Gray(240), 255);
  EXPECT_EQ(window.Gray(40), 128);
  EXPECT_EQ(window.Gray(-5000), 0);
  EXPECT_EQ(window.Gray(5000), 255);
  EXPECT_EQ(window.Gray(std::nanf("")), 0);
}

TEST(Planes, PhysicalAspectRatioAndPatientsHeadAbove) {
  // 4 x 6 x 5 voxels of 1 x 2 x 3 mm. One bright voxel: right, front (low y), head (high z).
  VolumeGrid grid = CenteredGrid(4, 6, 5, {1, 2, 3});
  Volume volume{.grid = grid, .voxels = std::vector<float>(grid.voxels(), -1000)};
  volume.voxels[(4 * 6 + 0) * 4 + 3] = 1000;
  const SliceIndex at{3, 0, 4};
  const Window window;
  const GrayImage axial = RenderPlane(volume, Plane::kAxial, at, window, 1);
  EXPECT_EQ(axial.width, 4);
  EXPECT_EQ(axial.height, 12);
  EXPECT_EQ(axial.at(3, 0), 255);
  EXPECT_EQ(axial.at(3, 11), 0);
  EXPECT_EQ(axial.at(0, 0), 0);
  const GrayImage coronal = RenderPlane(volume, Plane::kCoronal, at, window, 1);
  EXPECT_EQ(coronal.width, 4);
  EXPECT_EQ(coronal.height, 15);
  EXPECT_EQ(coronal.at(3, 0), 255);
  EXPECT_EQ(coronal.at(3, 14), 0);
  const GrayImage sagittal = RenderPlane(volume, Plane::kSagittal, at, window, 1);
  EXPECT_EQ(sagittal.width, 12);
  EXPECT_EQ(sagittal.height, 15);
  EXPECT_EQ(sagittal.at(0, 0), 255);
  EXPECT_EQ(sagittal.at(11, 0), 0);
}

TEST(Label, DrawsAndClips) {
  GrayImage image(20, 40, 0);
  DrawLabel(image, 2, 2, "L", 200, 24);  // a column and a foot
  for (int y = 3; y < 25; ++y) EXPECT_EQ(image.at(2, y), 200) << y;
  for (int x = 3; x < 15; ++x) EXPECT_EQ(image.at(x, 26), 200) << x;
  EXPECT_EQ(image.at(8, 10), 0);
  DrawLabel(image, 15, 30, "XYZ", 100, 30);
  DrawLabel(image, -30, -30, "XYZ", 100, 30);
  EXPECT_EQ(LabelWidth("abc", 24), 2 * LabelWidth("abc", 12));
}

TEST(Label, HasAGlyphForAllThatIsWrittenInPictures) {
  const std::string used =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,:;-+=_|/()[]<>^*'?%";
  for (const char character : used) {
    GrayImage image(60, 60, 0);
    DrawLabel(image, 8, 8, std::string(1, character), 255, 30);
    const auto inked = std::ranges::count_if(image.pixels, [](uint8_t p) { return p > 128; });
    EXPECT_GE(inked, 10) << character;
    EXPECT_LE(inked, 700) << character;
    // Nothing of it is beside its place.
    for (int y = 0; y < 60; ++y) {
      EXPECT_EQ(image.at(3, y), 0) << character;
      EXPECT_LT(image.at(8 + LabelWidth(std::string(1, character), 30), y), 128) << character;
    }
  }
}

TEST(Label, IsTheSameInAnySize) {
  // The share of ink in the box does not depend on the size.
  const auto share = [](int height) {
    GrayImage image(LabelWidth("Sag8", height), height * 3 / 2, 0);
    DrawLabel(image, 0, 0, "Sag8", 255, height);
    double sum = 0;
    for (const uint8_t pixel : image.pixels) sum += pixel;
    return sum / (255.0 * image.width * image.height);
  };
  EXPECT_NEAR(share(12) / share(96), 1, 0.1);  // edges are smooth, not whole pixels
  EXPECT_NEAR(share(48) / share(96), 1, 0.05);
}

TEST(Planes, SayWhichSideOfThePatientIsWhere) {
  const auto sides = [](const VolumeGrid& grid, Plane plane) {
    const PlaneSides at = SidesOf(grid, plane);
    return at.left + " " + at.right + " " + at.top + " " + at.bottom;
  };
  VolumeGrid grid = CenteredGrid(2, 2, 2, {1, 1, 1});
  EXPECT_EQ(sides(grid, Plane::kAxial), "R L A P");
  EXPECT_EQ(sides(grid, Plane::kCoronal), "R L H F");
  EXPECT_EQ(sides(grid, Plane::kSagittal), "A P H F");
  // Prone: turned by 180 degrees around the body.
  grid.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  EXPECT_EQ(sides(grid, Plane::kAxial), "L R P A");
  // Turned by 30 degrees: the rows go to the left and, less, to the back.
  const double s = 0.5, c = std::sqrt(0.75);
  grid.direction = {c, -s, 0, s, c, 0, 0, 0, 1};
  EXPECT_EQ(sides(grid, Plane::kAxial), "RA LP AL PR");
}

TEST(SheetMarks, ABarIsAsLongAsItSays) {
  EXPECT_EQ(ScaleBarMm(57.5), 50);
  EXPECT_EQ(ScaleBarMm(49), 20);
  EXPECT_EQ(ScaleBarMm(10), 10);
  EXPECT_NEAR(ScaleBarMm(0.064), 0.05, 1e-12);
  GrayImage image(300, 20, 0);
  const int end = DrawScaleBar(image, 10, 2, 50, 0.5, 255, 12);
  const auto row = image.pixels.begin() + 8 * image.width;  // the bar's
  EXPECT_EQ(std::count(row, row + 112, 255), 100);
  EXPECT_EQ(row[9], 0);
  EXPECT_EQ(row[10], 255);
  EXPECT_EQ(end, 110 + 6 + LabelWidth("50 mm", 12));
}

TEST(SheetMarks, GreysGoFromBlackToWhite) {
  const Window window{.center = 0, .width = 100};
  GrayImage image(300, 12, 77);
  EXPECT_EQ(DrawGrayBar(image, 0, 0, window, 255, 12), GrayBarWidth(window, 12));
  const auto first = image.pixels.begin() + LabelWidth("-50", 12) + 6;
  EXPECT_TRUE(std::is_sorted(first, first + 96));
  EXPECT_LT(first[0], 3);
  EXPECT_GT(first[95], 252);
}

TEST(ContactSheet, HasOneRowPerVolume) {
  const Volume volume = Ramp(CenteredGrid(8, 8, 8, {1, 1, 1}));
  const SliceIndex at = MiddleSlices(volume.grid);
  const GrayImage one = RenderSheet({{"A", &volume, {}}}, at);
  const GrayImage three =
      RenderSheet({{"A", &volume, {}}, {"B", &volume, {}}, {"C", &volume, {}}}, at);
  EXPECT_EQ(one.width, three.width);
  EXPECT_GT(three.height, 2 * one.height);
  EXPECT_GT(one.width, 3 * 400);
  // Where a row is from is told: else the caption is shorter.
  EXPECT_NE(RenderSheet({{"A", &volume, {}, "a.mha"}}, at).pixels, one.pixels);
  EXPECT_GT(RenderSheet({{"A", &volume, {}, std::string(200, 'a')}}, at).width, one.width);
}

v1::PreviewPlane PlaneOf(v1::PlaneOrientation orientation, uint32_t columns,
                         const std::vector<int16_t>& hounsfield, double column_mm, double row_mm) {
  v1::PreviewPlane plane;
  plane.set_orientation(orientation);
  plane.set_columns(columns);
  plane.set_rows(hounsfield.size() / columns);
  plane.set_column_spacing_mm(column_mm);
  plane.set_row_spacing_mm(row_mm);
  plane.set_hounsfield(hounsfield.data(), 2 * hounsfield.size());
  return plane;
}

/// Pixels brighter than half within [left, right) x [top, bottom).
int Ink(const formats::GrayImage& image, int left, int top, int right, int bottom) {
  int pixels = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) pixels += image.at(x, y) > 128;
  }
  return pixels;
}

// Of the picture of a preview.
constexpr int kPreviewText = 12, kPreviewGap = 8, kPreviewBetween = 24;
constexpr int kPreviewTop = 2 * kPreviewGap + 2 * kPreviewText + kPreviewText / 3;

TEST(Preview, PlanesStandSideBySideInSquarePixels) {
  v1::Preview preview;
  *preview.add_plane() = PlaneOf(v1::PLANE_ORIENTATION_AXIAL, 2, {-1000, 0, 1000, 3000}, 1, 1);
  *preview.add_plane() = PlaneOf(v1::PLANE_ORIENTATION_CORONAL, 1, {-1000, 1000}, 1, 2);
  const auto image = PreviewImage(preview, {.center = 0, .width = 2000});
  ASSERT_TRUE(image.ok()) << image.status();
  const int coronal = kPreviewGap + LabelWidth("axial", kPreviewText) + kPreviewBetween;
  ASSERT_EQ(image->width, coronal + LabelWidth("coronal", kPreviewText) + kPreviewGap);
  const auto rows = [&](int left, int width) {
    std::vector<std::vector<int>> all;
    for (int y = kPreviewTop; y < kPreviewTop + 4; ++y) {
      const auto begin = image->pixels.begin() + y * image->width + left + kPreviewText / 3;
      all.emplace_back(begin, begin + width);
    }
    return all;
  };
  EXPECT_THAT(
      rows(kPreviewGap, 3),
      testing::ElementsAre(testing::ElementsAre(0, 128, 0), testing::ElementsAre(255, 255, 0),
                           testing::ElementsAre(0, 0, 0), testing::ElementsAre(0, 0, 0)));
  // The coronal plane's rows are twice as high, and its last one is above.
  EXPECT_THAT(rows(coronal, 1),
              testing::ElementsAre(testing::ElementsAre(255), testing::ElementsAre(255),
                                   testing::ElementsAre(0), testing::ElementsAre(0)));
  // Ink above each plane: its name, and none at the image's edges, which would cut it.
  const int names = kPreviewGap + kPreviewText + kPreviewGap;
  EXPECT_GT(Ink(*image, kPreviewGap, 0, coronal, names), 20);
  EXPECT_GT(Ink(*image, coronal, 0, image->width - kPreviewGap, names), 30);
  EXPECT_EQ(Ink(*image, 0, 0, kPreviewGap / 2, image->height), 0);
  EXPECT_EQ(Ink(*image, image->width - kPreviewGap / 2, 0, image->width, image->height), 0);
}

TEST(Preview, HasLettersOfThePatientWhereItsGridIsKnown) {
  constexpr int kSide = 64;
  v1::Preview preview;
  *preview.add_plane() = PlaneOf(v1::PLANE_ORIENTATION_CORONAL, kSide,
                                 std::vector<int16_t>(kSide * kSide, -1000), 1, 1);
  const auto without = PreviewImage(preview, {.center = 0, .width = 2000});
  ASSERT_TRUE(without.ok()) << without.status();
  const VolumeGrid grid{.nx = kSide, .ny = kSide, .nz = kSide, .spacing = {1, 1, 1}};
  const auto with = [&](PatientPosition position) {
    *preview.mutable_grid() = wire::ToProto(PatientGrid(grid, position));
    return PreviewImage(preview, {.center = 0, .width = 2000}).value();
  };
  const formats::GrayImage head_first = with(PatientPosition::kHfs);
  EXPECT_GT(head_first.width, without->width);
  // An L of HFS is at the right: a stem at its left, nothing at its upper right.
  const int letter = LabelWidth("R", kPreviewText), top = kPreviewTop + (kSide - kPreviewText) / 2;
  const int right = head_first.width - kPreviewGap - letter;
  const auto upper_right = [&](const formats::GrayImage& image) {
    return Ink(image, right + letter / 2, top, image.width, top + kPreviewText / 2);
  };
  EXPECT_EQ(upper_right(head_first), 0);
  // Feet first the R is there.
  EXPECT_GT(upper_right(with(PatientPosition::kFfs)), 3);
}

TEST(Preview, PlanesThatAreNotWhatTheySayAreRefused) {
  const auto code = [](const v1::PreviewPlane& plane) {
    v1::Preview preview;
    *preview.add_plane() = plane;
    return PreviewImage(preview, {}).status().code();
  };
  v1::PreviewPlane plane = PlaneOf(v1::PLANE_ORIENTATION_AXIAL, 2, {1, 2, 3, 4}, 1, 1);
  EXPECT_EQ(code(plane), absl::StatusCode::kOk);
  plane.set_rows(3);
  EXPECT_EQ(code(plane), absl::StatusCode::kDataLoss);
  plane.set_rows(0x80000000);
  EXPECT_EQ(code(plane), absl::StatusCode::kDataLoss);
  plane.set_rows(2);
  plane.set_row_spacing_mm(0);
  EXPECT_EQ(code(plane), absl::StatusCode::kDataLoss);
  EXPECT_EQ(PreviewImage({}, {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST(Png, IsReadBackByLibpng) {
  client_test::TemporaryDirectory directory;
  GrayImage image(3, 2, 7);
  image.at(2, 1) = 255;
  ASSERT_TRUE(formats::WritePng(directory / "a.png", image).ok());
  png_image png;
  std::memset(&png, 0, sizeof(png));
  png.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&png, (directory / "a.png").c_str()));
  ASSERT_EQ(png.width, 3u);
  ASSERT_EQ(png.height, 2u);
  png.format = PNG_FORMAT_GRAY;
  std::vector<uint8_t> pixels(6);
  ASSERT_TRUE(png_image_finish_read(&png, nullptr, pixels.data(), 0, nullptr));
  EXPECT_EQ(pixels, image.pixels);
  EXPECT_EQ(formats::WritePng("/nonexistent/a.png", image).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace isocenter::imaging
