// What a bow-tie filter does to Hounsfield units, with water's polynomial for all columns and with
// one that knows how hard each column's beam is. Both are fitted to scans of cylinders of water
// behind the same filter. The cpu backend computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/calibrate/transmission.h"
#include "kernels/calibrate/water/hardness_fit.h"
#include "kernels/phantom/catalogue.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/physics/bow_tie.h"
#include "kernels/physics/readout.h"
#include "kernels/physics/row_beams.h"
#include "kernels/physics/tissue.h"
#include "kernels/physics/tungsten.h"
#include "kernels/physics/view.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

using Volume = std::vector<float>;

constexpr double kMu = 0.02;  // what phantoms are described with
constexpr int kViews = 180;
const Detector kDetector{.columns = 352, .rows = 32, .pitch_u_mm = 1.6, .pitch_v_mm = 1.6};
const VolumeGrid kGrid = CenteredGrid(144, 144, 4, {1.6, 1.6, 1.6});

Trajectory Turn(int views) {
  return *MakeCircularOrbit({.views = views,
                             .source_to_isocenter_mm = 750,
                             .source_to_detector_mm = 1200,
                             .start_angle = 0.3,
                             .arc = DegreesToRadians(360.0 * (views - 1) / views)},
                            kDetector);
}

// As much as 13 mm of aluminium at 9 degrees of the fan and beyond.
physics::BowTieProfile Profile() {
  physics::BowTieProfile profile{.material = "aluminium", .points = {}};
  for (int degrees = -9; degrees <= 9; ++degrees) {
    profile.points.push_back({double(degrees), 1 + 12 * degrees * degrees / 81.0});
  }
  return profile;
}

/// A room: a tube of 100 kV, with the filter or without it.
class Room {
 public:
  explicit Room(bool filtered) {
    std::vector<physics::Material> materials = physics::TissueMaterials();
    physics::Spectrum spectrum = *physics::TungstenSpectrum({.kv = 100, .copper_mm = 0.1});
    if (filtered) {
      bow_tie_ = *physics::BowTie::Make(Profile());
      bow_tie_->FilterByMiddle(spectrum.kev, spectrum.photons);
      spectrum = *physics::MakeSpectrum(spectrum.kev, spectrum.photons);
      materials.push_back(bow_tie_->material());
    }
    beams_ = std::make_unique<physics::RowBeams>(
        *physics::Beam::Make(spectrum, 0.6, std::move(materials)));
    kev_ = physics::EffectiveKev(beams_->Of(0));
    known_.name = "measured";
    known_.detector = kDetector;
    const size_t pixels = size_t(kDetector.columns) * kDetector.rows;
    known_.response = ops::PixelResponse{.offset_counts = std::vector<float>(pixels, 0.f)};
    const auto air = Counts(nullptr, Turn(2));
    known_.response->air_counts.assign(air[0].begin(), air[0].end());
  }

  double mu_water() const {
    return physics::LinearAttenuation(physics::KnownMaterial("water"), kev_);
  }

  std::vector<std::vector<uint16_t>> Counts(const phantom::Phantom* object,
                                            const Trajectory& trajectory) const {
    std::optional<physics::TissueObject> tissue;
    if (object != nullptr) tissue.emplace(*object, kMu, physics::TissueMap(kev_, false));
    ThreadPool pool(UsableCores());
    std::vector<physics::Reading> readings(size_t(kDetector.columns) * kDetector.rows);
    std::vector<std::vector<uint16_t>> frames;
    for (const ProjectionMatrix& matrix : trajectory) {
      physics::ReadView(tissue ? &*tissue : nullptr, *beams_, bow_tie_ ? &*bow_tie_ : nullptr,
                        {&matrix, 1}, kDetector, 1, pool, readings);
      auto& frame = frames.emplace_back();
      for (const physics::Reading& reading : readings) {
        frame.push_back(static_cast<uint16_t>(std::lround(60000 * reading.signal)));
      }
    }
    return frames;
  }

  calibrate::CylinderScan Water(double diameter_mm, Vec3 center) const {
    const phantom::CompositePhantom cylinder(
        {{phantom::Body(phantom::Body::Shape::kCylinder, center,
                        {diameter_mm / 2, diameter_mm / 2, 100}),
          kMu}},
        phantom::CompositePhantom::Overlap::kReplace);
    calibrate::CylinderScan scan;
    const Trajectory turn = Turn(60);
    const auto frames = Counts(&cylinder, turn);
    for (size_t k = 0; k < frames.size(); ++k) {
      const auto frame = calibrate::Transmission(frames[k], *known_.response, {}, kDetector);
      EXPECT_TRUE(frame.ok()) << frame.status();
      EXPECT_TRUE(
          calibrate::AddRays(*frame, turn[k], kDetector, static_cast<int>(k), scan.rays).ok());
    }
    scan.cylinder =
        calibrate::FitCylinder(scan.rays, diameter_mm, calibrate::kMostDiameterErrorByColumnPercent)
            .value();
    std::printf("  cylinder of %.0f mm at (%.1f, %.1f): found at (%.2f, %.2f)\n", diameter_mm,
                center.x, center.y, scan.cylinder.x_mm, scan.cylinder.y_mm);
    return scan;
  }

  Volume Reconstructed(const phantom::Phantom& object, const calibrate::WaterFit& water) const {
    auto calibration = std::make_shared<ops::Calibration>(known_);
    calibration->water = water.polynomial;
    calibration->mu_water_per_mm = water.mu_water_per_mm;
    EXPECT_TRUE(ops::CheckCalibration(*calibration).ok());
    recon::Acquisition acquisition{.detector = kDetector, .i0_counts = 60000};
    acquisition.calibration = calibration;
    acquisition.trajectory = Turn(kViews);
    const auto device = *Backends().OpenDevice("cpu", {});
    const auto plan = recon::MakePlan(
        acquisition, kGrid, {.mu_water_per_mm = water.mu_water_per_mm}, Backends(), *device);
    EXPECT_TRUE(plan.ok()) << plan.status();
    std::vector<uint16_t> counts;
    for (const auto& frame : Counts(&object, acquisition.trajectory)) {
      counts.insert(counts.end(), frame.begin(), frame.end());
    }
    Volume volume(kGrid.voxels());
    const auto seconds = recon::ReconstructAll(
        *plan, Backends(), *device,
        {.counts = {counts.data(), {kViews, kDetector.rows, kDetector.columns}}},
        {volume.data(), kGrid.shape()});
    EXPECT_TRUE(seconds.ok()) << seconds.status();
    return volume;
  }

 private:
  std::optional<physics::BowTie> bow_tie_;
  std::unique_ptr<physics::RowBeams> beams_;
  double kev_ = 0;
  ops::Calibration known_;
};

/// Means of rings of a slice about a point, of the inner 90 % of a radius.
struct Water {
  double mean = 0, least = 1e9, most = -1e9;
  double spread() const { return most - least; }
};

Water RingsOf(const Volume& volume, Vec3 center, double radius_mm) {
  constexpr int kRings = 8;
  std::vector<double> sums(kRings), counts(kRings);
  double sum = 0, count = 0;
  for (int64_t i = 0; i < kGrid.voxels(); ++i) {
    const Vec3 at = kGrid.VoxelToWorld(double(i % kGrid.nx), double(i / kGrid.nx % kGrid.ny),
                                       double(i / (int64_t{kGrid.nx} * kGrid.ny)));
    const double share = std::hypot(at.x - center.x, at.y - center.y) / radius_mm;
    if (share >= 0.9) continue;
    const auto ring = static_cast<int>(share * share / 0.81 * kRings);
    sums[ring] += volume[i];
    ++counts[ring];
    sum += volume[i];
    ++count;
  }
  Water water{.mean = sum / count};
  for (int k = 0; k < kRings; ++k) {
    water.least = std::min(water.least, sums[k] / counts[k]);
    water.most = std::max(water.most, sums[k] / counts[k]);
  }
  return water;
}

phantom::CompositePhantom Cylinder(Vec3 center, double radius_mm) {
  return phantom::CompositePhantom(
      {{phantom::Body(phantom::Body::Shape::kCylinder, center, {radius_mm, radius_mm, 100}), kMu}},
      phantom::CompositePhantom::Overlap::kReplace);
}

struct Fits {
  calibrate::WaterFit of_all, of_columns;
};

const Room& Filtered() {
  static const Room room(true);
  return room;
}

const Fits& FilteredFits() {
  static const Fits fits = [] {
    // One that stands in the middle, as without a bow-tie; and one that stands beside the axis.
    const auto of_all = calibrate::FitWater({Filtered().Water(200, {})});
    const auto of_columns =
        calibrate::FitWaterByColumn({Filtered().Water(200, {50, 10, 0})}, kDetector);
    for (const calibrate::Figure& figure : of_columns.value().figures) {
      std::printf("  %s: %.4g %s\n", figure.name.c_str(), figure.value, figure.unit.c_str());
    }
    return Fits{of_all.value(), of_columns.value()};
  }();
  return fits;
}

TEST(BowTie, WaterIsWaterWhereverItStands) {
  struct Case {
    const char* what;
    Vec3 center;
    double radius;
  };
  for (const Case& one :
       {Case{"200 mm in the middle", {}, 100}, Case{"100 mm in the middle", {}, 50},
        Case{"100 mm at (50, 20)", {50, 20, 0}, 50}}) {
    const phantom::CompositePhantom object = Cylinder(one.center, one.radius);
    const Water before =
        RingsOf(Filtered().Reconstructed(object, FilteredFits().of_all), one.center, one.radius);
    const Water after = RingsOf(Filtered().Reconstructed(object, FilteredFits().of_columns),
                                one.center, one.radius);
    std::printf("%s: mean %.1f HU -> %.1f, rings %.1f -> %.1f\n", one.what, before.mean, after.mean,
                before.spread(), after.spread());
    EXPECT_LT(std::abs(after.mean), 3) << one.what;
    EXPECT_LT(after.spread(), 3) << one.what;
  }
}

// The same head without the filter, both with what was measured in their rooms: what the filter
// changes.
TEST(BowTie, HeadIsAsWithoutIt) {
  const auto head = *phantom::MakePhantom("head", 95, kMu);
  const Room plain(false);
  const auto plain_fit = calibrate::FitWater({plain.Water(200, {})});
  ASSERT_TRUE(plain_fit.ok()) << plain_fit.status();
  const Volume expected = plain.Reconstructed(*head, *plain_fit);
  const auto error = [&](const Volume& volume) {
    double sum = 0, squares = 0, count = 0;
    for (int64_t i = 0; i < kGrid.voxels(); ++i) {
      const Vec3 at = kGrid.VoxelToWorld(double(i % kGrid.nx), double(i / kGrid.nx % kGrid.ny), 0);
      if (std::hypot(at.x, at.y) > 55) continue;  // within the skull
      const double difference = double(volume[i]) - expected[i];
      sum += difference;
      squares += difference * difference;
      ++count;
    }
    return std::pair(sum / count, std::sqrt(squares / count));
  };
  const auto [mean_before, rms_before] =
      error(Filtered().Reconstructed(*head, FilteredFits().of_all));
  const auto [mean_after, rms_after] =
      error(Filtered().Reconstructed(*head, FilteredFits().of_columns));
  std::printf("head: mean %.1f HU -> %.1f, rms %.1f -> %.1f\n", mean_before, mean_after, rms_before,
              rms_after);
  EXPECT_LT(std::abs(mean_after), 5);
}

// A cylinder in the middle shows each column one chord: a harder beam and another polynomial look
// alike.
TEST(BowTie, OneCylinderInTheMiddleDoesNotTellColumnsApart) {
  const auto fit = calibrate::FitWaterByColumn({Filtered().Water(200, {})}, kDetector);
  EXPECT_EQ(fit.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(fit.status().message().find("columns that see chords of different lengths is"),
            std::string::npos)
      << fit.status();
}

}  // namespace
}  // namespace isocenter
