// Planted defects are found in a scan of a head with metal, and nothing else is.
#include "kernels/calibrate/new_defects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/physics/readout.h"

namespace isocenter::calibrate {
namespace {

using Shape = phantom::Body::Shape;
using testing::HasSubstr;

constexpr Detector kDetector{.columns = 220, .rows = 90, .pitch_u_mm = 1.6, .pitch_v_mm = 1.6};
constexpr int kPixels = 220 * 90;
constexpr int kViews = 72;
constexpr double kMu = 0.02;

/// A skull with a filling of gold, a wire of a pixel's width and a rod that ends in the beam.
phantom::CompositePhantom Head() {
  std::vector<phantom::Part> parts;
  const auto add = [&](Shape shape, Vec3 center, Vec3 half_axes, double relative, double tilt = 0) {
    parts.push_back({phantom::Body(shape, center, half_axes, 0.3, tilt), relative * kMu});
  };
  add(Shape::kEllipsoid, {0, 0, 0}, {76, 92, 100}, 2);
  add(Shape::kEllipsoid, {0, 0, 0}, {69, 85, 94}, 1.03);
  add(Shape::kBox, {30, -50, 10}, {4, 3, 5}, 80);
  add(Shape::kCylinder, {-20, 10, 0}, {0.5, 0.5, 60}, 40, 0.05);
  add(Shape::kCylinder, {12, 40, -20}, {3, 3, 25}, 15, 0.8);
  return {parts, phantom::CompositePhantom::Overlap::kReplace};
}

physics::DetectorModel Model() {
  return {.photons = 4000,
          .electronic_counts = 8,
          .offset_counts = 900,
          .offset_spread_counts = 30,
          .gain_spread = 0.05,
          .defective_pixels = 0.002,
          .dead_lines = 1,
          .seed = 19};
}

ops::Calibration Perfect() {
  const physics::DetectorModel model = Model();
  const physics::DetectorMaps maps = physics::MakeDetectorMaps(model, kDetector);
  ops::Calibration known{.name = "perfect", .detector = kDetector};
  ops::PixelResponse& response = known.response.emplace();
  for (int i = 0; i < kPixels; ++i) {
    response.offset_counts.push_back(static_cast<float>(maps.offset_counts[i]));
    response.air_counts.push_back(static_cast<float>(model.signal_counts * maps.gain[i]));
    if (maps.states[i] != physics::PixelState::kGood) known.defects.pixels.push_back(i);
  }
  return known;
}

const std::vector<uint16_t>& Counts() {
  static const auto counts = [] {
    const phantom::CompositePhantom head = Head();
    ThreadPool pool(2);
    auto readout = *physics::Readout::Make(Model(), kDetector);
    std::vector<float> line(kPixels);
    std::vector<physics::Reading> readings(kPixels);
    std::vector<uint16_t> all(size_t(kViews) * kPixels);
    const Trajectory circle = *MakeCircularOrbit({.views = kViews,
                                                  .source_to_isocenter_mm = 750,
                                                  .source_to_detector_mm = 1200,
                                                  .start_angle = 0.1,
                                                  .arc = DegreesToRadians(355)},
                                                 kDetector);
    for (int view = 0; view < kViews; ++view) {
      phantom::ProjectView(head, circle[view], kDetector, 2, pool,
                           {line.data(), {1, kDetector.rows, kDetector.columns}});
      for (int i = 0; i < kPixels; ++i) {
        const double transmitted = std::exp(-line[i]);
        readings[i] = {.signal = transmitted, .variance = transmitted};
      }
      readout.Expose(readings, 1, pool, std::span(all).subspan(size_t(view) * kPixels, kPixels));
    }
    return all;
  }();
  return counts;
}

using Fault = std::function<uint16_t(int view, uint16_t count)>;

/// Pixels to plant faults in, ascending: single ones, a pair, a column at the border and one
/// within.
std::vector<std::pair<int32_t, Fault>> Faults() {
  const Fault dead = [](int, uint16_t) { return uint16_t{900}; };
  const Fault stuck = [](int, uint16_t) { return uint16_t{21000}; };
  const Fault flickering = [](int view, uint16_t count) {
    return static_cast<uint16_t>(view % 2 == 0 ? count : count / 3 + 2000);
  };
  const Fault insensitive = [](int, uint16_t count) {
    return static_cast<uint16_t>(900 + (count - 900) * 2 / 5);
  };
  std::vector<std::pair<int32_t, Fault>> faults;
  for (int v = 0; v < kDetector.rows; ++v) {
    const auto add = [&](int u, const Fault& fault) { faults.push_back({v * 220 + u, fault}); };
    if (v == 12) add(60, dead);
    if (v == 44) add(110, stuck);
    if (v == 44) add(111, dead);
    if (v == 71) add(30, insensitive);
    add(150, dead);
    if (v == 70) add(180, flickering);
  }
  return faults;
}

StridedView3<const uint16_t> ViewOf(const std::vector<uint16_t>& counts, int views = kViews) {
  return {counts.data(), {views, kDetector.rows, kDetector.columns}};
}

TEST(NewDefects, ThereAreNoneInAHeadWithMetal) {
  ThreadPool pool(2);
  const auto found = FindNewDefects(ViewOf(Counts()), Perfect(), pool);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, testing::IsEmpty());
}

TEST(NewDefects, PlantedOnesAreFoundAndNoOthers) {
  ThreadPool pool(2);
  const ops::Calibration known = Perfect();
  std::vector<uint16_t> counts = Counts();
  std::vector<int32_t> planted;
  for (const auto& [pixel, fault] : Faults()) {
    for (int view = 0; view < kViews; ++view) {
      uint16_t& count = counts[size_t(view) * kPixels + pixel];
      count = fault(view, count);
    }
    if (!std::binary_search(known.defects.pixels.begin(), known.defects.pixels.end(), pixel)) {
      planted.push_back(pixel);
    }
  }
  const auto found = FindNewDefects(ViewOf(counts), known, pool);
  ASSERT_TRUE(found.ok()) << found.status();
  std::vector<int32_t> missed, false_ones;
  std::set_difference(planted.begin(), planted.end(), found->begin(), found->end(),
                      std::back_inserter(missed));
  std::set_difference(found->begin(), found->end(), planted.begin(), planted.end(),
                      std::back_inserter(false_ones));
  EXPECT_THAT(missed, testing::IsEmpty());
  EXPECT_THAT(false_ones, testing::IsEmpty());
}

TEST(NewDefects, RefusesWhatTellsNothing) {
  ThreadPool pool(2);
  const auto few = FindNewDefects(ViewOf(Counts(), 19), Perfect(), pool);
  EXPECT_EQ(few.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(few.status().message(), HasSubstr("in 19 frames; legal is 20 or more"));
  // Gains of another detector.
  ops::Calibration other = Perfect();
  for (int i = 0; i < kPixels; i += 11) other.response->air_counts[i] *= 4;
  const auto foreign = FindNewDefects(ViewOf(Counts()), other, pool);
  EXPECT_EQ(foreign.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(foreign.status().message(), HasSubstr("the share of pixels that are new defects is"));
}

}  // namespace
}  // namespace isocenter::calibrate
