// The lag of a simulated detector, switched off, against the planted terms.
#include "kernels/calibrate/lag_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/physics/readout.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

constexpr Detector kDetector{.columns = 80, .rows = 60, .pitch_u_mm = 0.4, .pitch_v_mm = 0.4};
constexpr int kPixels = 80 * 60;

/// Flat frames with their flicker, then dark ones, normalized by the true maps.
std::vector<double> Step(const physics::DetectorModel& model, int flat, int dark) {
  physics::Readout readout = physics::Readout::Make(model, kDetector).value();
  ops::PixelResponse response;
  for (int i = 0; i < kPixels; ++i) {
    response.offset_counts.push_back(static_cast<float>(readout.maps().offset_counts[i]));
    response.air_counts.push_back(static_cast<float>(readout.maps().gain[i] * model.signal_counts));
  }
  ThreadPool pool(1);
  const std::vector<physics::Reading> readings(kPixels);
  std::vector<double> doses = physics::FrameDoses(model, flat);
  doses.resize(flat + dark, 0);
  std::vector<double> signals;
  std::vector<uint16_t> counts(kPixels);
  for (const double dose : doses) {
    readout.Expose(readings, dose, pool, counts);
    signals.push_back(MeanSignal(counts, response, {}));
  }
  return signals;
}

physics::DetectorModel Model(std::vector<physics::DetectorModel::LagTerm> lag) {
  return {.signal_counts = 40000,
          .photons = 20000,
          .electronic_counts = 6,
          .offset_counts = 1200,
          .offset_spread_counts = 40,
          .gain_spread = 0.05,
          .lag = std::move(lag),
          .dose_flicker = 0.2,
          .seed = 12};
}

// The published order of magnitude: 5 % in the first frame, of four terms.
TEST(LagFit, FindsPlantedTermsBehindAFlickeringBeam) {
  const std::vector<double> signals =
      Step(Model({{0.03, 0.5}, {0.015, 0.06}, {0.005, 0.008}}), 200, 300);
  const auto fit = FitLag(signals);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->flat_frames, 200);
  ASSERT_EQ(fit->terms.size(), 3);
  // 4800 pixels' electronic noise is 2e-6 of the level; the slowest term is known least.
  EXPECT_NEAR(fit->terms[0].share, 0.03, 0.0006);
  EXPECT_NEAR(fit->terms[0].release, 0.5, 0.01);
  EXPECT_NEAR(fit->terms[1].share, 0.015, 0.0006);
  EXPECT_NEAR(fit->terms[1].release, 0.06, 0.003);
  EXPECT_NEAR(fit->terms[2].share, 0.005, 0.0003);
  EXPECT_NEAR(fit->terms[2].release, 0.008, 0.0006);
  EXPECT_EQ(fit->figures[1].name, "lag removed");
  EXPECT_GT(fit->figures[1].value, 99.5);
  EXPECT_LT(std::abs(fit->residual[0]), 3e-5);
}

TEST(LagFit, TakesNoMoreTermsThanThereAre) {
  const auto one = FitLag(Step(Model({{0.04, 0.2}}), 60, 60));
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_EQ(one->terms.size(), 1);
  EXPECT_NEAR(one->terms[0].share, 0.04, 2e-4);
  EXPECT_NEAR(one->terms[0].release, 0.2, 2e-3);
}

// Four terms in 200 frames are hardly told apart; what counts is what is left.
TEST(LagFit, OfFourTermsLeavesLittle) {
  const auto fit =
      FitLag(Step(Model({{0.025, 0.7}, {0.012, 0.15}, {0.008, 0.03}, {0.005, 0.01}}), 200, 250));
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_GT(fit->figures[1].value, 99);
}

TEST(LagFit, RefusesWhatIsNoStepOrHasNoLag) {
  const auto error = [](const std::vector<double>& signals) {
    const auto fit = FitLag(signals);
    EXPECT_FALSE(fit.ok());
    return std::string(fit.status().message());
  };
  EXPECT_THAT(error(std::vector<double>(100, 1)), HasSubstr("100 flat and then 0 dark frames"));
  EXPECT_THAT(error({}), HasSubstr("0 flat and then 0 dark"));
  std::vector<double> signals(60, 1.0);
  std::fill(signals.begin() + 30, signals.end(), 1e-5);
  EXPECT_THAT(error(signals), HasSubstr("lag in the first dark frame is 0.001 %; legal is 0.05"));
  signals.back() = 1;
  EXPECT_THAT(error(signals), HasSubstr("frame 59 of the step sweep is lit after dark ones"));
  // A lag that ends all at once is no exponential.
  std::fill(signals.begin() + 30, signals.end(), 0.0);
  std::fill(signals.begin() + 30, signals.begin() + 45, 0.02);
  EXPECT_THAT(error(signals), HasSubstr("lag removed is"));
  EXPECT_THAT(error(Step(Model({{0.05, 0.004}}), 60, 60)), HasSubstr("the slowest decay is 2"));
}

TEST(MeanSignal, LeavesDefectsOut) {
  const ops::PixelResponse response{.offset_counts = {10, 10, 10}, .air_counts = {100, 200, 300}};
  EXPECT_DOUBLE_EQ(MeanSignal(std::vector<uint16_t>{60, 65535, 160}, response, {{1}}), 0.5);
}

}  // namespace
}  // namespace isocenter::calibrate
