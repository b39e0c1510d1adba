// Fan-beam slices that devices share, and rows that fall to zero beside the detector.
#include "kernels/recon/fan_beam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/base/units.h"
#include "kernels/ops/session.h"
#include "kernels/recon/shared_fan_beam.h"
#include "kernels/reference/register.h"

namespace isocenter::recon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ops::Registry& Registry() {
  static const ops::Registry* const registry = [] {
    auto* all = new ops::Registry;
    reference::Register(*all);
    return all;
  }();
  return *registry;
}

FanBeamGeometry Scan(double arc, int views) {
  return {.detector = FanBeamGeometry::Detector::kArc,
          .source_to_axis_mm = 500,
          .channels = 31,
          .channel_angle = 0.01,
          .central_channel = 15.25,
          .views = views,
          .first_angle = 0.3,
          .arc = arc};
}

std::vector<float> Noise(const FanBeamGeometry& geometry) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> lines(static_cast<size_t>(geometry.views) * geometry.channels);
  for (float& value : lines) value = normal(random);
  return lines;
}

const VolumeGrid kGrid = CenteredGrid(14, 14, 1, {6, 6, 6});

absl::StatusOr<std::vector<float>> Shared(const FanBeamGeometry& geometry, int count,
                                          FanBeamShare share) {
  std::vector<std::unique_ptr<ops::Device>> opened;
  std::vector<ops::Device*> devices;
  for (int i = 0; i < count; ++i) {
    opened.push_back(*Registry().OpenDevice("reference", {}));
    devices.push_back(opened.back().get());
  }
  const auto slice = SharedFanBeam::Create(geometry, kGrid, {}, Registry(), devices, share);
  if (!slice.ok()) return slice.status();
  const std::vector<float> lines = Noise(geometry);
  std::vector<float> image(static_cast<size_t>(kGrid.voxels()));
  for (int i = 0; i < 2; ++i) {  // the second scan knows nothing of the first
    EXPECT_TRUE((*slice)->Upload({lines.data(), {geometry.views, 1, geometry.channels}}).ok());
    EXPECT_TRUE((*slice)->Run().ok());
  }
  EXPECT_TRUE((*slice)->Download({image.data(), kGrid.shape()}).ok());
  return image;
}

double Largest(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) largest = std::max<double>(largest, std::abs(value));
  return largest;
}

TEST(SharedFanBeam, DevicesGiveTheImageOfOne) {
  // Full scans whose views are dealt out (36 and 2, 3), and those that they are not (36 and 5, 38);
  // a short one.
  for (const auto& [arc, views] : {std::pair(2 * kPi, 36), std::pair(-2 * kPi, 36),
                                   std::pair(2 * kPi, 38), std::pair(3.9, 40)}) {
    const FanBeamGeometry geometry = Scan(arc, views);
    const auto alone = Shared(geometry, 1, FanBeamShare::kRows);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_GT(Largest(*alone), 0);
    for (const int count : {1, 2, 3, 5}) {
      for (const FanBeamShare share : {FanBeamShare::kRows, FanBeamShare::kViews}) {
        auto image = Shared(geometry, count, share);
        ASSERT_TRUE(image.ok()) << image.status();
        for (size_t i = 0; i < image->size(); ++i) (*image)[i] -= (*alone)[i];
        // Float32 images of a few are added up.
        EXPECT_LT(Largest(*image), 1e-6 * Largest(*alone)) << views << " " << count;
      }
    }
  }
}

TEST(SharedFanBeam, RefusesWhatCannotBeShared) {
  EXPECT_THAT(std::string(Shared(Scan(2 * kPi, 36), 15, FanBeamShare::kRows).status().message()),
              HasSubstr("15 devices for a fan-beam slice; legal is 1 to 14, its rows"));
  EXPECT_THAT(std::string(Shared(Scan(2 * kPi, 36), 37, FanBeamShare::kViews).status().message()),
              HasSubstr("legal is 1 to 36, its views"));
}

TEST(FanBeamDecrease, RowsFallToZero) {
  const std::vector<float> lines = {4, 5, 6, 8};  // two views of two channels
  std::vector<float> wide(12, -1);
  Decrease({lines.data(), {2, 1, 2}}, {2, 2}, {wide.data(), {2, 1, 6}});
  EXPECT_THAT(wide, ElementsAre(0, 2, 4, 5, 2.5f, 0, 0, 3, 6, 8, 4, 0));
  Decrease({lines.data(), {2, 1, 2}}, {0, 4}, {wide.data(), {2, 1, 6}});
  EXPECT_THAT(wide, ElementsAre(4, 5, 3.75f, 2.5f, 1.25f, 0, 6, 8, 6, 4, 2, 0));
}

TEST(FanBeamDecrease, TheScanHasTheChannelsToo) {
  const FanBeamGeometry geometry = Scan(2 * kPi, 36);
  const auto wide = WithDecrease(geometry, {1, 2});
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ(wide->channels, 34);
  EXPECT_EQ(wide->FanAngle(1), geometry.FanAngle(0));
  EXPECT_THAT(std::string(WithDecrease(geometry, {-1, 0}).status().message()),
              HasSubstr("rows fall over -1 channels before the outer one; legal is 0 to 31"));
  EXPECT_THAT(std::string(WithDecrease(geometry, {0, 32}).status().message()),
              HasSubstr("32 channels after the outer one"));
  // Parker's weights would need the wider fan's arc.
  EXPECT_FALSE(WithDecrease(Scan(kPi + 0.33, 40), {8, 8}).ok());
}

// Where nothing is cut it changes nothing, up to the rounding of rows that are longer.
TEST(FanBeamDecrease, LeavesWholeScansAlone) {
  const FanBeamGeometry geometry = Scan(2 * kPi, 36);
  std::vector<float> lines = Noise(geometry);
  const auto reconstruct = [&](const FanBeamDecrease& decrease) {
    std::vector<float> image(static_cast<size_t>(kGrid.voxels()));
    const auto device = *Registry().OpenDevice("reference", {});
    EXPECT_TRUE(ReconstructFanBeam(geometry, kGrid, {.decrease = decrease}, Registry(), *device,
                                   [&](int64_t, HostView3<float> into) {
                                     std::ranges::copy(lines, into.data());
                                     return absl::OkStatus();
                                   },
                                   {image.data(), kGrid.shape()})
                    .ok());
    return image;
  };
  EXPECT_NE(reconstruct({}), reconstruct({8, 8}));
  for (int view = 0; view < geometry.views; ++view) {
    lines[static_cast<size_t>(view) * 31] = lines[static_cast<size_t>(view) * 31 + 30] = 0;
  }
  EXPECT_EQ(reconstruct({}), reconstruct({8, 8}));
}

}  // namespace
}  // namespace isocenter::recon
