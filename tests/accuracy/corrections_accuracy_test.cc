// What corrections leave of faults that a detector plants, in Hounsfield units: against the same
// scan without the fault. The cpu backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/phantom/phantom.h"
#include "kernels/physics/readout.h"
#include "kernels/physics/tungsten.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

constexpr double kMuWater = 0.02;  // 1/mm
constexpr int kViews = 240;

using Volume = std::vector<float>;

const Detector kDetector{.columns = 272, .rows = 48, .pitch_u_mm = 1.5, .pitch_v_mm = 1.5};
const VolumeGrid kGrid = CenteredGrid(128, 128, 8, {1.7, 1.7, 1.7});

recon::Acquisition AcquisitionWith(std::shared_ptr<const ops::Calibration> calibration) {
  recon::Acquisition acquisition{.detector = kDetector, .i0_counts = 50000};
  acquisition.calibration = std::move(calibration);
  acquisition.trajectory = *MakeCircularOrbit({.views = kViews,
                                               .source_to_isocenter_mm = 750,
                                               .source_to_detector_mm = 1200,
                                               .start_angle = 0.3,
                                               .arc = DegreesToRadians(360.0 * 239 / 240)},
                                              kDetector);
  return acquisition;
}

// The head's transmission, frame by frame.
const std::vector<std::vector<physics::Reading>>& HeadReadings() {
  static const auto readings = [] {
    const auto head = *phantom::MakePhantom("head", 95, kMuWater);
    const recon::Acquisition acquisition = AcquisitionWith(nullptr);
    ThreadPool pool(UsableCores());
    std::vector<std::vector<physics::Reading>> all;
    std::vector<float> line(int64_t{kDetector.rows} * kDetector.columns);
    for (const ProjectionMatrix& matrix : acquisition.trajectory) {
      phantom::ProjectView(*head, matrix, kDetector, 1, pool,
                           {line.data(), {1, kDetector.rows, kDetector.columns}});
      auto& frame = all.emplace_back();
      for (const float p : line) frame.push_back({.signal = std::exp(-p), .variance = 0});
    }
    return all;
  }();
  return readings;
}

std::vector<uint16_t> Exposed(const physics::DetectorModel& model) {
  auto readout = physics::Readout::Make(model, kDetector);
  EXPECT_TRUE(readout.ok()) << readout.status();
  ThreadPool pool(UsableCores());
  const std::vector<double> doses = physics::FrameDoses(model, kViews);
  const size_t pixels = size_t(kDetector.rows) * kDetector.columns;
  std::vector<uint16_t> counts(kViews * pixels);
  for (int view = 0; view < kViews; ++view) {
    readout->Expose(HeadReadings()[view], doses[view], pool,
                    std::span(counts).subspan(view * pixels, pixels));
  }
  return counts;
}

Volume Reconstructed(const std::vector<uint16_t>& counts,
                     std::shared_ptr<const ops::Calibration> calibration) {
  const recon::Acquisition acquisition = AcquisitionWith(std::move(calibration));
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan =
      recon::MakePlan(acquisition, kGrid, {.mu_water_per_mm = kMuWater}, Backends(), *device);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const auto seconds = recon::ReconstructAll(
      *plan, Backends(), *device,
      {.counts = {counts.data(), {kViews, kDetector.rows, kDetector.columns}}},
      {volume.data(), kGrid.shape()});
  EXPECT_TRUE(seconds.ok()) << seconds.status();
  return volume;
}

// What the detector's maps are, as a perfect calibration would find them.
ops::Calibration Perfect(const physics::DetectorModel& model) {
  const physics::DetectorMaps maps = physics::MakeDetectorMaps(model, kDetector);
  ops::Calibration calibration{.name = "perfect", .detector = kDetector};
  ops::PixelResponse& response = calibration.response.emplace();
  for (size_t i = 0; i < maps.gain.size(); ++i) {
    response.offset_counts.push_back(static_cast<float>(maps.offset_counts[i]));
    response.air_counts.push_back(static_cast<float>(model.signal_counts * maps.gain[i]));
    if (maps.states[i] != physics::PixelState::kGood) {
      calibration.defects.pixels.push_back(static_cast<int32_t>(i));
    }
  }
  for (const auto& term : model.lag) calibration.lag.push_back({term.share, term.release});
  return calibration;
}

std::shared_ptr<const ops::Calibration> Shared(const ops::Calibration& calibration) {
  EXPECT_TRUE(ops::CheckCalibration(calibration).ok()) << ops::CheckCalibration(calibration);
  return std::make_shared<const ops::Calibration>(calibration);
}

struct Error {
  double rms = 0, mean = 0;
  double ring = 0;  // largest mean over a ring around the axis, against its neighbours
};

// Of voxels of the head, 85 mm around the axis.
Error Compare(const Volume& got, const Volume& expected) {
  Error error;
  std::vector<double> ring_sum(60), ring_count(60);
  double sum = 0, square = 0, count = 0;
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = kGrid.VoxelToWorld(double(i % kGrid.nx), double(i / kGrid.nx % kGrid.ny),
                                       double(i / (int64_t{kGrid.nx} * kGrid.ny)));
    const double radius = std::hypot(at.x, at.y);
    if (radius > 85) continue;
    const double difference = double(got[i]) - expected[i];
    sum += difference;
    square += difference * difference;
    ++count;
    ring_sum[size_t(radius / 1.7)] += difference;
    ++ring_count[size_t(radius / 1.7)];
  }
  error.mean = sum / count;
  error.rms = std::sqrt(square / count);
  // Rings of many voxels, from 10 mm on.
  for (size_t r = 6; r + 1 < 50; ++r) {
    const auto mean = [&](size_t k) { return ring_sum[k] / ring_count[k]; };
    error.ring = std::max(error.ring, std::abs(mean(r) - (mean(r - 1) + mean(r + 1)) / 2));
  }
  return error;
}

const Volume& Ideal() {
  static const Volume ideal = Reconstructed(Exposed({}), nullptr);
  return ideal;
}

void Print(const char* what, const Error& without, const Error& with) {
  std::printf("%s: rms %.2f HU -> %.2f, mean %.2f -> %.2f, rings %.2f -> %.2f\n", what, without.rms,
              with.rms, without.mean, with.mean, without.ring, with.ring);
}

TEST(Corrections, OffsetGainAndDefectsLeaveNoRings) {
  const physics::DetectorModel model{.offset_counts = 1200,
                                     .offset_spread_counts = 40,
                                     .gain_spread = 0.05,
                                     .defective_pixels = 0.001,
                                     .dead_lines = 2,
                                     .seed = 77};
  const std::vector<uint16_t> counts = Exposed(model);
  const Error without = Compare(Reconstructed(counts, nullptr), Ideal());
  const Error with = Compare(Reconstructed(counts, Shared(Perfect(model))), Ideal());
  Print("offset, gain and defects", without, with);
  EXPECT_GT(without.ring, 20);
  EXPECT_LT(with.ring, 2);
  EXPECT_LT(with.rms, 5);
  EXPECT_LT(std::abs(with.mean), 0.2);
}

TEST(Corrections, LagIsTakenOff) {
  const physics::DetectorModel model{
      .lag = {{0.02, 0.7}, {0.015, 0.2}, {0.01, 0.05}, {0.005, 0.005}}, .seed = 78};
  const std::vector<uint16_t> counts = Exposed(model);
  const Error without = Compare(Reconstructed(counts, nullptr), Ideal());
  const Error with = Compare(Reconstructed(counts, Shared(Perfect(model))), Ideal());
  Print("lag", without, with);
  EXPECT_GT(without.rms, 5);
  EXPECT_LT(with.rms, 0.05 * without.rms);
}

TEST(Corrections, DosesAreFoundInTheAir) {
  const physics::DetectorModel model{.dose_flicker = 0.2, .seed = 79};
  const std::vector<uint16_t> counts = Exposed(model);
  ops::Calibration calibration = Perfect(model);
  calibration.air.columns = 24;
  const Error without = Compare(Reconstructed(counts, nullptr), Ideal());
  const Error with = Compare(Reconstructed(counts, Shared(calibration)), Ideal());
  Print("doses", without, with);
  // A frame's dose shifts its line integrals by a constant, of which the ramp filter leaves little.
  EXPECT_GT(without.rms, 2 * with.rms);
  EXPECT_LT(with.rms, 0.5);
  EXPECT_LT(std::abs(with.mean), 0.2);
}

}  // namespace
}  // namespace isocenter
