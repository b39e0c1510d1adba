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
      for (const float p : line) {
        frame.push_back({.signal = std::exp(-p), .variance = std::exp(-p)});
      }
    }
    return all;
  }();
  return readings;
}

std::vector<uint16_t> Exposed(const physics::DetectorModel& model, double dose = 1) {
  auto readout = physics::Readout::Make(model, kDetector);
  EXPECT_TRUE(readout.ok()) << readout.status();
  ThreadPool pool(UsableCores());
  const std::vector<double> doses = physics::FrameDoses(model, kViews);
  const size_t pixels = size_t(kDetector.rows) * kDetector.columns;
  std::vector<uint16_t> counts(kViews * pixels);
  for (int view = 0; view < kViews; ++view) {
    readout->Expose(HeadReadings()[view], dose * doses[view], pool,
                    std::span(counts).subspan(view * pixels, pixels));
  }
  return counts;
}

/// `dose`: what each frame tells; 0: nothing.
Volume Reconstructed(const std::vector<uint16_t>& counts,
                     std::shared_ptr<const ops::Calibration> calibration, float dose = 0) {
  const recon::Acquisition acquisition = AcquisitionWith(std::move(calibration));
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan =
      recon::MakePlan(acquisition, kGrid, {.mu_water_per_mm = kMuWater}, Backends(), *device);
  EXPECT_TRUE(plan.ok()) << plan.status();
  Volume volume(kGrid.voxels());
  const ops::RawFrames frames{
      .counts = {counts.data(), {kViews, kDetector.rows, kDetector.columns}}};
  const auto reconstructor = *recon::Reconstructor::Create(*plan, Backends(), *device);
  for (const recon::Chunk& chunk : plan->chunks) {
    const std::vector<float> doses(dose == 0 ? 0 : chunk.views, dose);
    const absl::Status pushed =
        reconstructor->Push(frames.views(chunk.first_view, chunk.views), {}, doses);
    EXPECT_TRUE(pushed.ok()) << pushed;
  }
  const absl::Status finished = reconstructor->Finish({volume.data(), kGrid.shape()});
  EXPECT_TRUE(finished.ok()) << finished;
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

/// Errors of the head's outermost 6 mm and the 6 mm around it, and within.
struct SkinError {
  double skin = 0, inside = 0, mean_inside = 0;  // root mean squares, HU
};

SkinError CompareSkin(const Volume& got, const Volume& expected) {
  constexpr int kReach = 3;  // voxels of 1.7 mm
  const auto is_head = [&](int64_t x, int64_t y, int64_t z) {
    return expected[(z * kGrid.ny + y) * kGrid.nx + x] > -500;
  };
  double skin = 0, skin_count = 0, inside = 0, sum = 0, inside_count = 0;
  for (int64_t z = 0; z < kGrid.nz; ++z) {
    for (int64_t y = kReach; y + kReach < kGrid.ny; ++y) {
      for (int64_t x = kReach; x + kReach < kGrid.nx; ++x) {
        int around = 0;
        for (int dy = -kReach; dy <= kReach; ++dy) {
          for (int dx = -kReach; dx <= kReach; ++dx) around += is_head(x + dx, y + dy, z);
        }
        const int64_t voxel = (z * kGrid.ny + y) * kGrid.nx + x;
        const double error = double(got[voxel]) - expected[voxel];
        constexpr int kAll = (2 * kReach + 1) * (2 * kReach + 1);
        if (around > 0 && around < kAll) {
          skin += error * error;
          ++skin_count;
        } else if (around == kAll) {
          inside += error * error;
          sum += error;
          ++inside_count;
        }
      }
    }
  }
  return {std::sqrt(skin / skin_count), std::sqrt(inside / inside_count), sum / inside_count};
}

// A detector that ends at 1.2 of the calibrated dose, in brighter frames that tell their dose.
TEST(Corrections, OverexposedSkinIsRecovered) {
  for (const double dose : {1.5, 2.5, 4.0}) {
    const physics::DetectorModel model{.saturation_counts = 60000, .seed = 80};
    const std::vector<uint16_t> counts = Exposed(model, dose);
    ops::Calibration calibration = Perfect(model);
    const auto told = static_cast<float>(dose);
    const SkinError without =
        CompareSkin(Reconstructed(counts, Shared(calibration), told), Ideal());
    calibration.air.columns = 24;
    const SkinError untold = CompareSkin(Reconstructed(counts, Shared(calibration)), Ideal());
    calibration.response->full_scale_counts = 60000;
    const SkinError with = CompareSkin(Reconstructed(counts, Shared(calibration), told), Ideal());
    std::printf(
        "overexposed by %.1f: skin %.1f HU (dose not told %.1f) -> %.1f, inside %.2f (%.2f) -> "
        "%.2f, its mean %.2f (%.2f) -> %.2f\n",
        dose / 1.2, without.skin, untold.skin, with.skin, without.inside, untold.inside,
        with.inside, without.mean_inside, untold.mean_inside, with.mean_inside);
    if (dose > 3) continue;  // more is hidden than a detector's fit can tell of
    EXPECT_GT(without.skin, 10 * with.skin) << dose;
    EXPECT_GT(without.inside, 50 * with.inside) << dose;
  }
}

// The same with the noise of 20,000 photons at dose 1: it must not become structure.
TEST(Corrections, OverexposedSkinIsRecoveredFromNoise) {
  constexpr double kDose = 2.5;
  const physics::DetectorModel model{.photons = 20000, .seed = 81};
  physics::DetectorModel bounded = model;
  bounded.saturation_counts = 60000;
  ops::Calibration calibration = Perfect(model);
  // As it would be on a detector without an end, of half the counts.
  physics::DetectorModel endless = model;
  endless.signal_counts = 25000;
  ops::Calibration of_endless = Perfect(endless);
  const SkinError noise =
      CompareSkin(Reconstructed(Exposed(endless, kDose), Shared(of_endless), kDose), Ideal());
  calibration.response->full_scale_counts = 60000;
  const SkinError with =
      CompareSkin(Reconstructed(Exposed(bounded, kDose), Shared(calibration), kDose), Ideal());
  std::printf(
      "overexposed by %.1f, with noise: skin %.1f HU, without an end %.1f; inside %.2f, %.2f\n",
      kDose / 1.2, with.skin, noise.skin, with.inside, noise.inside);
  EXPECT_LT(with.inside, 1.1 * noise.inside);
  EXPECT_LT(with.skin, 2 * noise.skin);
}

}  // namespace
}  // namespace isocenter
