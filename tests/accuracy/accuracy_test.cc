// The whole of FDK against analytic truth, in Hounsfield units, on orbits of many kinds: other
// arcs, directions, tilts, grids and voxels than any other test uses. The cpu backend computes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/base/units.h"
#include "kernels/geometry/orbit_axis.h"
#include "kernels/phantom/phantom.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter {
namespace {

constexpr double kMuWater = 0.02;  // 1/mm

struct Scan {
  recon::Acquisition acquisition;
  VolumeGrid grid;
  recon::FdkSettings settings;
};

struct Error {
  double rmse = 0, bias = 0;  // HU
  int64_t voxels = 0;
};

Scan ScanOf(int views, double arc_deg) {
  Scan scan{.acquisition =
                {.detector = {.columns = 248, .rows = 192, .pitch_u_mm = 1.6, .pitch_v_mm = 1.6},
                 .pixel_type = recon::PixelType::kFloat32LineIntegrals},
            .grid = CenteredGrid(96, 96, 48, {1.5, 1.5, 1.5})};
  scan.settings.mu_water_per_mm = kMuWater;
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = views,
                                                    .source_to_isocenter_mm = 750,
                                                    .source_to_detector_mm = 1200,
                                                    .start_angle = 0.7,
                                                    .arc = DegreesToRadians(arc_deg)},
                                                   scan.acquisition.detector);
  return scan;
}

Scan FullCircle() { return ScanOf(180, 358); }

// Simulates, reconstructs and compares at the voxels whose world position `inside` accepts, with
// point samples of truth.
Error Measure(const Scan& scan, const std::string& name, double scale_mm,
              const std::function<bool(Vec3)>& inside) {
  const auto phantom = *phantom::MakePhantom(name, scale_mm, kMuWater);
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan =
      recon::MakePlan(scan.acquisition, scan.grid, scan.settings, Backends(), *device);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return {.rmse = 1e9};

  const Detector& detector = scan.acquisition.detector;
  const Shape3 shape{plan->views(), detector.rows, detector.columns};
  std::vector<float> frames(shape.count());
  const HostView3<float> all(frames.data(), shape);
  ThreadPool pool(UsableCores());
  for (int view = 0; view < plan->views(); ++view) {
    phantom::ProjectView(*phantom, scan.acquisition.trajectory[view], detector, 1, pool,
                         all.slices(view, 1));
  }
  std::vector<float> volume(scan.grid.voxels());
  const HostView3<float> hounsfield(volume.data(), scan.grid.shape());
  const auto seconds =
      recon::ReconstructAll(*plan, Backends(), *device, {.line_integrals = all}, hounsfield);
  EXPECT_TRUE(seconds.ok()) << seconds.status();

  Error error;
  double sum = 0, square = 0;
  for (int k = 0; k < scan.grid.nz; ++k) {
    for (int j = 0; j < scan.grid.ny; ++j) {
      for (int i = 0; i < scan.grid.nx; ++i) {
        const Vec3 point = scan.grid.VoxelToWorld(i, j, k);
        if (!inside(point)) continue;
        const double truth = 1000 * (phantom->Attenuation(point) - kMuWater) / kMuWater;
        const double difference = hounsfield(k, j, i) - truth;
        sum += difference;
        square += difference * difference;
        ++error.voxels;
      }
    }
  }
  EXPECT_GT(error.voxels, 1000) << "nothing would be compared";
  error.bias = sum / static_cast<double>(error.voxels);
  error.rmse = std::sqrt(square / static_cast<double>(error.voxels));
  return error;
}

// The inner part of the water cylinder (radius and half height 60 mm), near the orbit's plane where
// FDK is exact.
bool WaterNearPlane(Vec3 p) { return std::hypot(p.x, p.y) < 48 && std::abs(p.z) < 12; }

// Water is flat there, so what is left is sampling: rays of 1 mm at the isocentre and 2 degrees
// between views. A wrong weight, pitch, sign or half a pixel of shift shows as tens of HU.
constexpr double kWaterRmse = 3, kWaterBias = 2;

void ExpectWater(const Scan& scan) {
  const Error error = Measure(scan, "cylinder", 60, WaterNearPlane);
  EXPECT_LT(error.rmse, kWaterRmse);
  EXPECT_LT(std::abs(error.bias), kWaterBias);
}

TEST(Accuracy, FullCircle) { ExpectWater(FullCircle()); }

TEST(Accuracy, ShortScansOfSeveralArcsInBothDirections) {
  for (double arc : {202.0, -202.0, 240.0, -300.0}) {
    SCOPED_TRACE(arc);
    ExpectWater(ScanOf(160, arc));
  }
}

TEST(Accuracy, MoreThanOneTurn) { ExpectWater(ScanOf(320, 540)); }

TEST(Accuracy, AWobblingArm) {
  for (uint64_t seed : {1, 2}) {
    SCOPED_TRACE(seed);
    Scan scan = ScanOf(160, 202);
    scan.acquisition.trajectory = *MakeWobblingOrbit({.views = 160,
                                                      .source_to_isocenter_mm = 750,
                                                      .source_to_detector_mm = 1200,
                                                      .arc = DegreesToRadians(202)},
                                                     scan.acquisition.detector, 1, seed);
    ExpectWater(scan);
  }
}

TEST(Accuracy, AnOffsetPrincipalPointOnAFullCircle) {
  Scan scan = FullCircle();
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = 180,
                                                    .source_to_isocenter_mm = 750,
                                                    .source_to_detector_mm = 1200,
                                                    .arc = DegreesToRadians(358),
                                                    .offset_u_px = 9.3,
                                                    .offset_v_px = -4.7},
                                                   scan.acquisition.detector);
  ExpectWater(scan);
}

TEST(Accuracy, AnOffCentreGridOfAnisotropicVoxels) {
  Scan scan = ScanOf(160, 202);
  scan.grid = CenteredGrid(71, 50, 23, {1.1, 1.7, 0.9});
  scan.grid.origin = scan.grid.origin + Vec3{8.3, -5.1, 2.7};
  ExpectWater(scan);
}

// Voxels of 0.7 µm, as in Thompson & Lionheart's scan of a rod: a source 20 mm from the axis,
// twenty times magnified, and an object of 56 µm.
TEST(Accuracy, MicroCt) {
  Scan scan = FullCircle();
  scan.acquisition.detector.pitch_u_mm = scan.acquisition.detector.pitch_v_mm = 0.0148;
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = 180,
                                                    .source_to_isocenter_mm = 20,
                                                    .source_to_detector_mm = 400,
                                                    .arc = DegreesToRadians(358)},
                                                   scan.acquisition.detector);
  scan.grid = CenteredGrid(96, 96, 48, {0.0007, 0.0007, 0.0007});
  const Error error = Measure(scan, "cylinder", 0.028, [](Vec3 p) {
    return std::hypot(p.x, p.y) < 0.0224 && std::abs(p.z) < 0.0056;
  });
  EXPECT_LT(error.rmse, kWaterRmse);
  EXPECT_LT(std::abs(error.bias), kWaterBias);
}

TEST(Accuracy, ARotatedGrid) {
  Scan scan = FullCircle();
  const double c = std::cos(0.5), s = std::sin(0.5);
  scan.grid.direction = {c, -s * c, s * s, s, c * c, -c * s, 0, s, c};  // about z, then about x
  scan.grid.origin = {0, 0, 0};
  const Vec3 middle = scan.grid.VoxelToWorld(47.5, 47.5, 23.5);
  scan.grid.origin = -middle;
  ExpectWater(scan);
}

TEST(Accuracy, ATiltedOrbit) {
  // The arm's plane leans by 20 degrees; what FDK reconstructs exactly leans with it.
  const Vec3 axis{0, std::sin(0.35), std::cos(0.35)};
  for (double arc : {202.0, 358.0}) {
    SCOPED_TRACE(arc);
    Scan scan = ScanOf(180, arc);
    scan.acquisition.trajectory = TurnedToAxis(scan.acquisition.trajectory, {0, -axis.y, axis.z});
    const Error error = Measure(scan, "cylinder", 60, [&axis](Vec3 p) {
      return std::hypot(p.x, p.y) < 45 && std::abs(Dot(p, axis)) < 12 && std::abs(p.z) < 30;
    });
    // The cylinder's lids come closer to the plane than in the upright case; the cone-beam drop of
    // FDK shows a little.
    EXPECT_LT(error.rmse, 6);
    EXPECT_LT(std::abs(error.bias), 4);
  }
}

TEST(Accuracy, RowsThatDoNotFollowTheOrbitAreRefused) {
  Scan scan = FullCircle();
  for (ProjectionMatrix& matrix : scan.acquisition.trajectory) {
    for (int column = 0; column < 4; ++column) std::swap(matrix.m[column], matrix.m[4 + column]);
  }
  const auto device = *Backends().OpenDevice("cpu", {});
  const auto plan =
      recon::MakePlan(scan.acquisition, scan.grid, scan.settings, Backends(), *device);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(plan.status().message().find("turned by up to 90.0 deg"), std::string::npos)
      << plan.status();
}

TEST(Accuracy, EveryWindowKeepsTheMean) {
  for (auto window : {ops::FilterWindow::kSheppLogan, ops::FilterWindow::kCosine,
                      ops::FilterWindow::kHamming, ops::FilterWindow::kHann}) {
    SCOPED_TRACE(static_cast<int>(window));
    Scan scan = ScanOf(160, 202);
    scan.settings.window = window;
    ExpectWater(scan);
  }
}

TEST(Accuracy, ExtendedRowsRescueATruncatedObject) {
  // A detector of 104 columns sees 52 mm of a cylinder of 90 mm. Cut rows make a cup of hundreds of
  // HU; extended rows leave a smooth shading.
  const auto inner = [](Vec3 p) { return std::hypot(p.x, p.y) < 35 && std::abs(p.z) < 12; };
  Scan scan = FullCircle();
  scan.acquisition.detector.columns = 104;
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = 180,
                                                    .source_to_isocenter_mm = 750,
                                                    .source_to_detector_mm = 1200,
                                                    .arc = DegreesToRadians(358)},
                                                   scan.acquisition.detector);
  const Error cut = Measure(scan, "cylinder", 90, inner);
  scan.settings.truncation = ops::Truncation::kMirror;
  const Error extended = Measure(scan, "cylinder", 90, inner);
  EXPECT_GT(cut.rmse, 100);
  EXPECT_LT(extended.rmse, cut.rmse / 2);
}

// A detector that reaches 96 mm to one side and 32 to the other sees all of a cylinder of 85 mm on
// a full turn, as well as one that reaches 96 mm to both.
class DisplacedDetector : public ::testing::TestWithParam<double> {
 protected:
  static constexpr int kViews = 360;

  static Scan Displaced(double offset_u_px, int columns) {
    Scan scan = ScanOf(kViews, 359);
    scan.acquisition.detector.columns = columns;
    scan.acquisition.trajectory =
        *MakeCircularOrbit(OrbitOf(offset_u_px), scan.acquisition.detector);
    scan.grid = CenteredGrid(128, 128, 24, {1.5, 1.5, 1.5});
    return scan;
  }
  static CircularOrbit OrbitOf(double offset_u_px) {
    return {.views = kViews,
            .source_to_isocenter_mm = 750,
            .source_to_detector_mm = 1200,
            .start_angle = 0.7,
            .arc = DegreesToRadians(359),
            .offset_u_px = offset_u_px};
  }
  static bool Inside(Vec3 p) { return std::hypot(p.x, p.y) < 78 && std::abs(p.z) < 10; }
};

TEST_P(DisplacedDetector, SeesAsMuchAsOneThatIsTwiceAsWide) {
  const Error centred = Measure(Displaced(0, 192), "cylinder", 85, Inside);
  const Error displaced = Measure(Displaced(GetParam(), 128), "cylinder", 85, Inside);
  EXPECT_LT(displaced.rmse, centred.rmse + 0.5);
  EXPECT_LT(std::abs(displaced.bias), 1);
}

TEST_P(DisplacedDetector, AlsoOnAWobblingArmWhichIsNeverEquallyDisplacedTwice) {
  const auto measure = [](double offset_u_px, int columns) {
    Scan scan = Displaced(offset_u_px, columns);
    scan.acquisition.trajectory =
        *MakeWobblingOrbit(OrbitOf(offset_u_px), scan.acquisition.detector, 2, 7);
    return Measure(scan, "cylinder", 85, Inside);
  };
  const Error centred = measure(0, 192), displaced = measure(GetParam(), 128);
  EXPECT_LT(displaced.rmse, centred.rmse + 0.5);
  EXPECT_LT(std::abs(displaced.bias), 1);
}

TEST_P(DisplacedDetector, WhereTheWideSideIsCutItsRowsGoOn) {
  Scan scan = Displaced(GetParam(), 104);
  const auto inner = [](Vec3 p) { return std::hypot(p.x, p.y) < 40 && std::abs(p.z) < 10; };
  const Error cut = Measure(scan, "cylinder", 115, inner);
  scan.settings.truncation = ops::Truncation::kMirror;
  const Error extended = Measure(scan, "cylinder", 115, inner);
  EXPECT_GT(cut.rmse, 50);
  EXPECT_LT(extended.rmse, cut.rmse / 2);
}

INSTANTIATE_TEST_SUITE_P(BothSides, DisplacedDetector, ::testing::Values(32.0, -32.0));

TEST(Accuracy, SheppLoganInTheCentralSlab) {
  // R 60 mm: the central slab inside the skull. Contrasts of 10 to 20 HU and their edges, blurred
  // by 1.5 mm voxels.
  const auto brain = [](Vec3 p) {
    return std::hypot(p.x / 0.60, p.y / 0.80) < 60 && std::abs(p.z) < 6;
  };
  for (double arc : {358.0, 202.0}) {
    SCOPED_TRACE(arc);
    const Error error = Measure(ScanOf(360, arc), "shepp-logan", 60, brain);
    EXPECT_LT(error.rmse, 6);
    EXPECT_LT(std::abs(error.bias), 2);
  }
}

TEST(Accuracy, TheMeasuredArm) {
  const char* named = std::getenv("ISOCENTER_TRAJECTORY");
  const std::string path = named != nullptr ? named : "../shared/data/carm_trajectory_494.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no measured trajectory at " << path;
  Scan scan = ScanOf(160, 202);
  scan.acquisition.detector = {
      .columns = 310, .rows = 240, .pitch_u_mm = 1.232, .pitch_v_mm = 1.232};
  scan.acquisition.trajectory = Binned(*ReadTrajectoryCsv(path), 4);
  ExpectWater(scan);
}

}  // namespace
}  // namespace isocenter
