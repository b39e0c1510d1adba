// Scans of simulated water in a beam of many energies, against the attenuation it has.
#include "kernels/calibrate/water/water_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "kernels/calibrate/transmission.h"
#include "kernels/calibrate/water/cupping.h"
#include "kernels/calibrate/water/thick_water.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/physics/readout.h"
#include "kernels/physics/tungsten.h"
#include "kernels/physics/view.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

constexpr double kMu = 0.02;  // what phantoms are described with
constexpr int kViews = 24;

// 0.8 mm at the isocenter, 300 mm wide there.
constexpr Detector kDetector{.columns = 310, .rows = 24, .pitch_u_mm = 1.6, .pitch_v_mm = 1.6};

struct Setup {
  double kv = 90;
  double diameter_mm = 200;
  Vec3 center;
  double tilt = 0;  // radians, in the plane of x and z
  double photons = 0;
  double pedestal_counts = 0;  // that the dark frames do not know of; air is 50000
};

physics::Beam BeamOf(double kv) {
  const auto spectrum = physics::TungstenSpectrum({.kv = kv, .copper_mm = 0.1}).value();
  return physics::Beam::Make(spectrum, 0.6, physics::TissueMaterials()).value();
}

double TrueMu(double kv) {
  return physics::LinearAttenuation(physics::KnownMaterial("water"),
                                    physics::EffectiveKev(BeamOf(kv)));
}

std::vector<MeasuredRay> Scan(const Setup& setup) {
  const physics::Beam beam = BeamOf(setup.kv);
  const double radius = setup.diameter_mm / 2;
  const phantom::CompositePhantom cylinder(
      {{phantom::Body(phantom::Body::Shape::kCylinder, setup.center, {radius, radius, 100}, 0,
                      setup.tilt),
        kMu}},
      phantom::CompositePhantom::Overlap::kReplace);
  const physics::TissueObject object(cylinder, kMu,
                                     physics::TissueMap(physics::EffectiveKev(beam), false));
  const Trajectory trajectory =
      MakeWobblingOrbit({.views = kViews,
                         .source_to_isocenter_mm = 750,
                         .source_to_detector_mm = 1200,
                         .arc = 2 * std::numbers::pi * (kViews - 1) / kViews},
                        kDetector, 1, 3)
          .value();
  const physics::DetectorModel model{.signal_counts = 50000, .photons = setup.photons, .seed = 4};
  physics::Readout readout = physics::Readout::Make(model, kDetector).value();
  const size_t pixels = size_t(kDetector.columns) * kDetector.rows;
  const ops::PixelResponse response{std::vector<float>(pixels, 0.0f),
                                    std::vector<float>(pixels, 50000.0f)};
  ThreadPool pool(2);
  std::vector<physics::Reading> readings(pixels);
  std::vector<uint16_t> counts(pixels);
  std::vector<MeasuredRay> rays;
  for (int k = 0; k < kViews; ++k) {
    physics::ReadView(object, physics::RowBeams(beam), {&trajectory[k], 1}, kDetector, 1, pool,
                      readings);
    readout.Expose(readings, 1 + 0.2 * std::sin(k), pool, counts);
    for (uint16_t& count : counts) count += static_cast<uint16_t>(setup.pedestal_counts);
    const auto frame = Transmission(counts, response, {{5, 77}}, kDetector);
    EXPECT_TRUE(frame.ok()) << frame.status();
    EXPECT_TRUE(AddRays(*frame, trajectory[k], kDetector, k, rays).ok());
  }
  return rays;
}

CylinderScan Fitted(const Setup& setup) {
  CylinderScan scan{.rays = Scan(setup)};
  const auto cylinder = FitCylinder(scan.rays, setup.diameter_mm);
  EXPECT_TRUE(cylinder.ok()) << cylinder.status();
  if (cylinder.ok()) scan.cylinder = *cylinder;
  return scan;
}

double Value(const ops::WaterPolynomial& polynomial, double p) {
  double value = 0, power = 1;
  for (const double c : polynomial.coefficient) value += c * (power *= p);
  return value;
}

/// What the polynomial makes of water behind which the beam is truly known: the largest error,
/// relative to 200 mm of water.
double WorstError(const WaterFit& fit, double kv, double from_mm, double to_mm) {
  const physics::Beam beam = BeamOf(kv);
  double worst = 0;
  for (double mm = from_mm; mm <= to_mm; mm += 1) {
    const std::vector<double> paths = {mm, 0, 0};
    const double p = -std::log(beam.Behind(paths).signal);
    const double error = Value(fit.polynomial, p) - fit.mu_water_per_mm * mm;
    worst = std::max(worst, std::abs(error) / (200 * fit.mu_water_per_mm));
  }
  return worst;
}

TEST(FitCylinder, FindsACylinderBesideTheAxis) {
  const CylinderScan scan = Fitted({.center = {13, -21, 0}, .tilt = 0.02, .photons = 20000});
  // A pixel is 0.8 mm there; the body's own z is turned towards x.
  EXPECT_NEAR(scan.cylinder.x_mm, 13, 0.05);
  EXPECT_NEAR(scan.cylinder.y_mm, -21, 0.05);
  EXPECT_NEAR(std::abs(scan.cylinder.tilt_x), std::tan(0.02), 0.005);
  EXPECT_NEAR(scan.cylinder.tilt_y, 0, 0.005);
}

// The goal of the correction is 3 HU of cupping; of 200 mm a thousandth is 1 HU.
TEST(FitWater, MakesWaterLinearFrom70To120Kv) {
  for (const double kv : {70.0, 90.0, 120.0}) {
    const auto fit = FitWater({Fitted({.kv = kv, .center = {5, 8, 0}})});
    ASSERT_TRUE(fit.ok()) << kv << " " << fit.status();
    EXPECT_NEAR(fit->mu_water_per_mm / TrueMu(kv), 1, 1e-3) << kv;
    EXPECT_LT(WorstError(*fit, kv, 1, 200), 1e-3) << kv;
    EXPECT_LT(WorstError(*fit, kv, 200, 300), 2e-2) << kv;
    EXPECT_EQ(fit->figures[4].name, "cupping before");
    EXPECT_LT(fit->figures[4].value, -15) << kv;
    EXPECT_NEAR(fit->figures[5].value, 0, 2) << kv;
  }
}

TEST(FitWater, BearsTheNoiseOfARealScan) {
  const auto fit = FitWater({Fitted({.center = {5, 8, 0}, .photons = 20000})});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->mu_water_per_mm / TrueMu(90), 1, 2e-3);
  EXPECT_LT(WorstError(*fit, 90, 1, 200), 2e-3);
}

TEST(FitWater, TakesTwoDiameters) {
  const auto fit = FitWater({Fitted({.diameter_mm = 100}), Fitted({.center = {-5, 4, 0}})});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_LT(WorstError(*fit, 90, 1, 200), 1e-3);
}

TEST(FitWater, StatesWhatThicknessItsAttenuationIsOf) {
  const auto fit = FitWater({Fitted({.diameter_mm = 100})});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->figures[1].name, "water that it is stated for");
  EXPECT_DOUBLE_EQ(fit->figures[1].value, 100);
  const std::vector<double> paths = {100, 0, 0};
  EXPECT_NEAR(fit->mu_water_per_mm, -std::log(BeamOf(90).Behind(paths).signal) / 100, 2e-5);
}

// Rays through 70 mm of a material with the chords 25.4 p - 1.97 p² + 2.28 p³ (p: line integral),
// as acrylic was measured at 45 kV; those that are longer than `longest` of the diameter are left
// out.
CylinderScan SoftBeam(double longest) {
  const auto chord_of = [](double p) { return ((2.28 * p - 1.97) * p + 25.4) * p; };
  CylinderScan scan{.cylinder = {.diameter_mm = 70}};
  constexpr int kRays = 10000;
  for (int i = 0; i < kRays; ++i) {
    const double angle = 0.09 * (2.0 * i / kRays - 1);
    MeasuredRay ray{.source = {-410, 0, 0}, .direction = {std::cos(angle), std::sin(angle), 0}};
    const double chord = scan.cylinder.ChordMm(ray);
    if (chord > longest * scan.cylinder.diameter_mm) continue;
    double low = 0, high = 5;
    for (int step = 0; step < 50; ++step) {
      const double middle = (low + high) / 2;
      (chord_of(middle) < chord ? low : high) = middle;
    }
    ray.transmission = std::exp(-low);
    scan.rays.push_back(ray);
  }
  return scan;
}

// A polynomial of four coefficients does not ascend to the longest line integral here.
TEST(FitWater, TakesAThinCylinderInASoftBeam) {
  const auto fit = FitWater({SoftBeam(1)});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_LE(fit->polynomial.coefficient.size(), 4u);
  EXPECT_NEAR(fit->polynomial.thickest_mm, 70, 0.5);
  ASSERT_EQ(fit->figures.size(), 7u);
  EXPECT_LT(std::abs(fit->figures[5].value), 2) << "HU of cupping";
}

TEST(FitWater, SaysNothingOfCuppingWhereNoRayPassesTheCenter) {
  const auto fit = FitWater({SoftBeam(0.75)});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->polynomial.thickest_mm, 0.75 * 70, 0.5) << "of rays, not of the cylinder";
  ASSERT_EQ(fit->figures.size(), 5u);
  EXPECT_LT(fit->figures[3].value, 0.1) << "% between chords and polynomial";
}

CylinderScan WithPedestal(double kv, double counts) {
  return Fitted({.kv = kv, .diameter_mm = 160, .photons = 20000, .pedestal_counts = counts});
}

// The polynomial follows an offset that the dark frames lack, 1.6 % of air, so far that its cupping
// is legal.
TEST(FitWater, WarnsOfCountsThatNoLightHasMade) {
  for (const double kv : {90.0, 120.0}) {
    const auto right = FitWater({WithPedestal(kv, 0)}, kv);
    ASSERT_TRUE(right.ok()) << kv << " " << right.status();
    EXPECT_THAT(right->warnings, testing::IsEmpty()) << kv;
    EXPECT_EQ(right->figures.back().name, "attenuation behind thick water");
    const std::vector<double> thin = {140, 0, 0}, thick = {141, 0, 0};
    const physics::Beam beam = BeamOf(kv);
    EXPECT_NEAR(right->figures.back().value,
                std::log(beam.Behind(thin).signal / beam.Behind(thick).signal), 4e-4)
        << kv;
    const auto wrong = FitWater({WithPedestal(kv, 800)}, kv);
    ASSERT_TRUE(wrong.ok()) << kv << " " << wrong.status();
    ASSERT_EQ(wrong->warnings.size(), 1u) << kv;
    EXPECT_THAT(wrong->warnings[0],
                testing::AllOf(HasSubstr("mm of water a millimetre more attenuates 0.01"),
                               HasSubstr(absl::StrCat("water's at ", kv, " keV, or more")),
                               HasSubstr("Were the dark frames taken")));
  }
}

TEST(JudgeThickWater, KnowsWater) {
  for (const double kev : {40.0, 60.0, 70.0, 90.0, 120.0, 150.0}) {
    EXPECT_NEAR(
        WaterAttenuation(kev) / physics::LinearAttenuation(physics::KnownMaterial("water"), kev), 1,
        0.01)
        << kev;
  }
  // Of a tube that is not known the hardest is taken.
  const std::vector<WaterPoint> points = {{90, 1.44}, {100, 1.60}};
  EXPECT_THAT(JudgeThickWater(points, 0).warnings, testing::IsEmpty());
  EXPECT_THAT(
      JudgeThickWater(points, 100).warnings,
      testing::ElementsAre(HasSubstr("attenuates 0.0160; legal is 0.0171, water's at 100")));
}

TEST(FitWater, RefusesWhatIsNotTheCylinder) {
  EXPECT_THAT(FitCylinder({}, 700).status().message(),
              HasSubstr("diameter is 700 mm; legal is 30 to 500"));
  const std::vector<MeasuredRay> rays = Scan({.photons = 20000});
  for (const double wrong : {170.0, 195.0, 205.0}) {
    EXPECT_THAT(FitCylinder(rays, wrong).status().message(),
                HasSubstr(absl::StrCat("legal is within 0.4 % of the given ", wrong, " mm")));
  }
  // Also beyond a tenth, and where a cylinder of the given diameter would leave no air.
  for (const double wrong : {120.0, 150.0, 165.0, 195.0, 205.0, 250.0, 320.0}) {
    const std::string message(FitCylinder(rays, wrong).status().message());
    constexpr absl::string_view kShown = "the diameter that the scan shows is ";
    ASSERT_THAT(message, testing::StartsWith(std::string(kShown)));
    EXPECT_NEAR(std::atof(message.c_str() + kShown.size()), 200, 0.6) << wrong;
  }
  std::vector<MeasuredRay> cut;
  std::copy_if(rays.begin(), rays.end(), std::back_inserter(cut),
               [](const MeasuredRay& ray) { return ray.transmission < 0.9 || ray.view != 3; });
  EXPECT_THAT(FitCylinder(cut, 200).status().message(),
              HasSubstr("air beside the cylinder in frame 3 is 0 % of the row; legal is 2 %"));
  EXPECT_THAT(FitCylinder({}, 200).status().message(), HasSubstr("shows no cylinder"));
}

// Few photons made a cylinder look wider than it is, by tens of per cent where it was thin.
TEST(FitCylinder, SeesTheDiameterAndRefusesAnotherOne) {
  for (const double diameter_mm : {60.0, 200.0}) {
    for (const double photons : {0.0, 2000.0, 20000.0}) {
      SCOPED_TRACE(absl::StrCat(diameter_mm, " mm, photons ", photons));
      const std::vector<MeasuredRay> rays =
          Scan({.diameter_mm = diameter_mm, .center = {5, 8, 0}, .photons = photons});
      const auto found = FitCylinder(rays, diameter_mm);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_NEAR(found->seen_mm / diameter_mm, 1, photons == 2000 ? 3e-3 : 1.5e-3);
      EXPECT_LT(found->seen_sigma_mm, 1e-3 * diameter_mm);
      for (const double wrong : {0.994, 1.007}) {
        EXPECT_THAT(FitCylinder(rays, wrong * diameter_mm).status().message(),
                    HasSubstr("legal is within 0.4 % of the given"));
      }
    }
  }
}

TEST(Transmission, RefusesFramesWithoutLight) {
  const size_t pixels = size_t(kDetector.columns) * kDetector.rows;
  const ops::PixelResponse response{std::vector<float>(pixels, 100.0f),
                                    std::vector<float>(pixels, 1000.0f)};
  EXPECT_THAT(
      Transmission(std::vector<uint16_t>(pixels, 100), response, {}, kDetector).status().message(),
      HasSubstr("brightest part of a frame is 0 of the empty beam; legal is 0.5 to 2"));
}

// A shadow over three of sixteen columns was taken for a dose of 0.9 or less.
TEST(Transmission, RefusesAirThatTheObjectShades) {
  const Detector detector{.columns = 64, .rows = 32, .pitch_u_mm = 2.4, .pitch_v_mm = 2.4};
  const size_t pixels = size_t(detector.columns) * detector.rows;
  const ops::PixelResponse response{std::vector<float>(pixels, 0.0f),
                                    std::vector<float>(pixels, 50000.0f)};
  const auto shaded = [&](int air, int top) {  // columns at each side, rows above
    std::vector<uint16_t> counts(pixels, 50000);
    for (int v = top; v < detector.rows; ++v) {
      for (int u = air; u < detector.columns - air; ++u) counts[v * detector.columns + u] = 2000;
    }
    return Transmission(counts, response, {}, detector).status();
  };
  EXPECT_TRUE(shaded(16, 0).ok()) << shaded(16, 0);
  EXPECT_TRUE(shaded(0, 16).ok()) << shaded(0, 16);
  for (const absl::Status& refused : {shaded(13, 0), shaded(0, 13)}) {
    EXPECT_THAT(refused.message(),
                testing::AllOf(HasSubstr("halves of the brightest 16 x 16 pixels of a frame is "),
                               HasSubstr("legal is at most 3 %: the object shades them")));
  }
}

// Of a profile that is one: a + b·r² has its own line integrals.
TEST(Cupping, OfAParabolaIsItsOwn) {
  std::vector<ChordIntegral> integrals;
  for (double s = 0; s < 100; s += 1) {
    const double h = std::sqrt(100 * 100 - s * s);
    integrals.push_back({2 * h, 0.02 * (2 * h + 0.05 * 2 * (s * s * h + h * h * h / 3) / 1e4)});
  }
  EXPECT_NEAR(CuppingHu(integrals, 200, 0.02), -50 * 0.81, 1e-6);
}

}  // namespace
}  // namespace isocenter::calibrate
