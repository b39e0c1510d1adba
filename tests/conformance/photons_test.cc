// Scatter whose photons a device follows, held against the host's photons, an integral, and itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/composite_phantom.h"
#include "kernels/photon_engines.h"
#include "kernels/physics/tungsten.h"
#include "tests/kernels/physics/thin_sheet.h"

namespace isocenter::physics {
namespace {

using phantom::Body;
using phantom::CompositePhantom;
using Settings = ScatterSimulation::Settings;

constexpr double kMu = 0.02;
constexpr Detector kDetector{.columns = 100, .rows = 80, .pitch_u_mm = 3, .pitch_v_mm = 3};

ProjectionMatrix Matrix(double detector_x = -450) {
  return MakeCircularOrbit({.views = 1,
                            .source_to_isocenter_mm = ThinSheet::kSourceX,
                            .source_to_detector_mm = ThinSheet::kSourceX - detector_x},
                           kDetector)
      .value()[0];
}

ScatterSimulation Simulation(const phantom::Phantom& object, const Spectrum& spectrum) {
  ThreadPool pool(2);
  return ScatterSimulation::Make(spectrum, ThinSheet::kCsiMm, TissueMaterials(),
                                 ScatterVolume(object, kMu, TissueMap(60, true), pool), pool)
      .value();
}

ScatterSimulation Head() {
  return Simulation(*phantom::MakePhantom("head", 100, kMu).value(),
                    TungstenSpectrum({.kv = 110}).value());
}

CompositePhantom Box(Vec3 half_axes, double relative) {
  return CompositePhantom({{Body(Body::Shape::kBox, {}, half_axes), relative * kMu}},
                          CompositePhantom::Overlap::kReplace);
}

ScatterImage OnThreads(const ScatterSimulation& simulation, const Settings& settings) {
  ThreadPool pool(2);
  return simulation.View(Matrix(), kDetector, settings, pool).value();
}

bool SameBits(const std::vector<Reading>& a, const std::vector<Reading>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
}

int64_t Interacted(const PhotonFates& fates) { return fates.scattered + fates.absorbed; }

class Photons : public testing::Test {
 protected:
  // Where there is no device, the test is skipped.
  std::unique_ptr<PhotonEngine> Engine(const ScatterSimulation& simulation) {
    auto engine = OpenPhotonEngine("cuda", {}, simulation);
    if (absl::IsUnavailable(engine.status()) || absl::IsNotFound(engine.status())) {
      reason_ = engine.status().ToString();
      return nullptr;
    }
    return std::move(engine).value();
  }
  ScatterImage OnDevice(const ScatterSimulation& simulation, const Settings& settings,
                        PhotonEngine& engine, double detector_x = -450) {
    return simulation.View(Matrix(detector_x), kDetector, settings, engine).value();
  }
  std::string reason_;
};

// One photon of each view: it takes the same way. Beside rounding of functions (some 1e-15, which
// float32 coordinates of walks make 1e-6) there is the unit of the device's sums, 1.5e-11.
TEST_F(Photons, GoTheSameWays) {
  const ScatterSimulation simulation = Head();
  const auto engine = Engine(simulation);
  if (!engine) GTEST_SKIP() << reason_;
  int interacted = 0;
  for (uint64_t view = 0; view < 400; ++view) {
    const Settings one{.photons = 1, .columns = 3, .rows = 2, .seed = 7, .view = view};
    const ScatterImage host = OnThreads(simulation, one),
                       device = OnDevice(simulation, one, *engine);
    ASSERT_EQ(device.fates.unscattered, host.fates.unscattered) << view;
    ASSERT_EQ(device.fates.scattered, host.fates.scattered) << view;
    ASSERT_EQ(device.fates.absorbed, host.fates.absorbed) << view;
    EXPECT_NEAR(device.fates.emitted_kev, host.fates.emitted_kev, 1e-6);
    EXPECT_NEAR(device.fates.leaving_kev, host.fates.leaving_kev, 1e-6);
    for (int m = 0; m < kTissueMaterials; ++m) {
      EXPECT_NEAR(device.fates.imparted_kev[m], host.fates.imparted_kev[m], 1e-6) << view;
    }
    for (size_t i = 0; i < host.readings.size(); ++i) {
      const Reading &h = host.readings[i], &d = device.readings[i];
      ASSERT_NEAR(d.signal, h.signal, 1e-9 + 1e-5 * h.signal) << view << ' ' << i;
      ASSERT_NEAR(d.variance, h.variance, 1e-9 + 1e-5 * h.variance) << view << ' ' << i;
    }
    interacted += host.fates.unscattered == 0;
  }
  EXPECT_GT(interacted, 200);
}

// Whatever decides otherwise on the device by rounding is rare; the noise of a cell is some 5 %.
TEST_F(Photons, GiveTheSameImage) {
  const ScatterSimulation simulation = Head();
  const auto engine = Engine(simulation);
  if (!engine) GTEST_SKIP() << reason_;
  std::vector<double> heel(kDetector.rows);
  for (int row = 0; row < kDetector.rows; ++row) heel[row] = 1.3 - 0.006 * row;
  const std::vector<double> level;
  for (const std::vector<double>& intensity : {level, heel}) {
    const Settings settings{
        .photons = 300'000, .columns = 16, .rows = 12, .row_intensity = intensity};
    const ScatterImage host = OnThreads(simulation, settings),
                       device = OnDevice(simulation, settings, *engine);
    EXPECT_LE(std::abs(device.fates.unscattered - host.fates.unscattered), 1);
    EXPECT_LE(std::abs(device.fates.absorbed - host.fates.absorbed), 1);
    EXPECT_GT(Interacted(host.fates), settings.photons / 3);
    double error = 0, mean = 0;
    for (size_t i = 0; i < host.readings.size(); ++i) {
      error += std::pow(device.readings[i].signal - host.readings[i].signal, 2);
      mean += std::pow(host.readings[i].signal, 2);
    }
    EXPECT_LT(std::sqrt(error / mean), 1e-3 * host.relative_error);
    EXPECT_NEAR(device.relative_error / host.relative_error, 1, 1e-3);
  }
}

// Many photons in one cell, several launches.
TEST_F(Photons, GiveTheSameBitsEachTime) {
  const ScatterSimulation simulation = Head();
  const auto engine = Engine(simulation);
  if (!engine) GTEST_SKIP() << reason_;
  for (const Settings& settings : {Settings{.photons = 9'000'001, .columns = 2, .rows = 1},
                                   Settings{.photons = 100'000, .columns = 64, .rows = 48}}) {
    const ScatterImage first = OnDevice(simulation, settings, *engine);
    for (int run = 0; run < 3; ++run) {
      const ScatterImage again = OnDevice(simulation, settings, *Engine(simulation));
      EXPECT_TRUE(SameBits(again.readings, first.readings));
      EXPECT_EQ(again.fates.leaving_kev, first.fates.leaving_kev);
    }
    Settings other = settings;
    other.seed = 2;
    EXPECT_FALSE(SameBits(OnDevice(simulation, other, *engine).readings, first.readings));
  }
}

// As tests/kernels/physics/scatter_test.cc has it for the host.
TEST_F(Photons, OfAThinSheetGiveTheFirstOrderIntegral) {
  const ThinSheet sheet{.density = 0.02, .half_mm = 70, .half_thickness_mm = 5};
  const ScatterSimulation simulation =
      Simulation(Box({5, 70, 70}, sheet.density), MakeSpectrum({25, 120}, {1, 1}).value());
  const auto engine = Engine(simulation);
  if (!engine) GTEST_SKIP() << reason_;
  for (double detector_x : {-450.0, -80.0}) {
    const ScatterImage image = OnDevice(
        simulation, {.photons = 100'000'000, .columns = 5, .rows = 4}, *engine, detector_x);
    EXPECT_LT(image.relative_error, 0.025) << detector_x;
    for (int cell = 0; cell < 20; ++cell) {
      const Reading expected = sheet.InCell(cell, detector_x, {{25, 0.5}, {120, 0.5}});
      const double error = 0.015 + 5 * image.relative_error;
      EXPECT_NEAR(image.readings[cell].signal / expected.signal, 1, error) << detector_x;
      EXPECT_NEAR(image.readings[cell].variance / expected.variance, 1, error) << detector_x;
    }
  }
}

TEST_F(Photons, KeepBooks) {
  const ScatterSimulation simulation =
      Simulation(Box({50, 300, 300}, 1), MakeSpectrum({60}, {1}).value());
  const auto engine = Engine(simulation);
  if (!engine) GTEST_SKIP() << reason_;
  constexpr int64_t kPhotons = 300'000;
  const PhotonFates fates =
      OnDevice(simulation, {.photons = kPhotons, .columns = 2, .rows = 2}, *engine).fates;
  EXPECT_EQ(fates.unscattered + fates.scattered + fates.absorbed, kPhotons);
  EXPECT_NEAR(fates.emitted_kev, 60.0 * kPhotons, 1e-6);
  const double imparted =
      std::accumulate(fates.imparted_kev.begin(), fates.imparted_kev.end(), 0.0);
  EXPECT_NEAR(imparted + fates.leaving_kev, fates.emitted_kev, 1e-3);
}

TEST_F(Photons, PassWhereThereIsNothing) {
  const ScatterSimulation simulation =
      Simulation(Box({50, 50, 50}, 0), MakeSpectrum({60}, {1}).value());
  const auto engine = Engine(simulation);
  if (!engine) GTEST_SKIP() << reason_;
  const ScatterImage image =
      OnDevice(simulation, {.photons = 1000, .columns = 2, .rows = 2}, *engine);
  EXPECT_EQ(image.fates.unscattered, 1000);
  EXPECT_EQ(image.fates.leaving_kev, 60000);
  for (const Reading& reading : image.readings) EXPECT_EQ(reading.signal, 0);
}

TEST_F(Photons, NeedMemoryAndADevice) {
  const ScatterSimulation simulation = Head();
  const auto engine = Engine(simulation);
  if (!engine) GTEST_SKIP() << reason_;
  const absl::Status small =
      OpenPhotonEngine("cuda", {.memory_bytes = 1 << 20}, simulation).status();
  EXPECT_EQ(small.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(small.message(), testing::HasSubstr("the object of simulated scatter needs"));
  EXPECT_THAT(small.message(), testing::HasSubstr("limit of 1"));
  const absl::Status none = OpenPhotonEngine("cuda", {.ordinal = 99}, simulation).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(none.message(), testing::HasSubstr("no CUDA device 99"));
  // The sums come later.
  const auto tight = OpenPhotonEngine("cuda", {.memory_bytes = 24 << 20}, simulation);
  ASSERT_TRUE(tight.ok()) << tight.status();
  const auto sums =
      simulation.View(Matrix(), kDetector, {.photons = 1000, .columns = 256, .rows = 256}, **tight);
  EXPECT_EQ(sums.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(sums.status().message(), testing::HasSubstr("the image of simulated scatter needs"));
  EXPECT_FALSE(
      simulation
          .View(Matrix(), kDetector, {.photons = 1'000'000'001, .columns = 2, .rows = 2}, *engine)
          .ok());
}

TEST(PhotonEngines, AreListed) {
  const ScatterSimulation simulation =
      Simulation(Box({50, 50, 50}, 1), MakeSpectrum({60}, {1}).value());
  const absl::Status unknown = OpenPhotonEngine("opencl", {}, simulation).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), testing::HasSubstr("no backend 'opencl'"));
}

}  // namespace
}  // namespace isocenter::physics
