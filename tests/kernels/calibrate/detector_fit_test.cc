// Sweeps of a simulated detector, whose faults are known, against what the fit makes of them.
#include "kernels/calibrate/detector_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <set>

#include "kernels/calibrate/air_shadow.h"
#include "kernels/phantom/generator.h"
#include "kernels/physics/readout.h"

namespace isocenter::calibrate {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr Detector kDetector{.columns = 210, .rows = 160, .pitch_u_mm = 0.4, .pitch_v_mm = 0.4};
constexpr size_t kPixels = 210 * 160;

physics::DetectorModel Model(uint64_t seed) {
  return {.signal_counts = 40000,
          .photons = 20000,
          .electronic_counts = 6,
          .offset_counts = 1200,
          .offset_spread_counts = 40,
          .gain_spread = 0.05,
          .defective_pixels = 0.001,
          .dead_lines = 2,
          .dead_clusters = 3,
          .dose_flicker = 0.1,
          .seed = seed};
}

/// The same detector swept dark and flat, each from rest.
struct Sweeps {
  physics::DetectorMaps truth;
  std::optional<SweepStatistics> dark;
  std::vector<float> offsets;
  std::optional<FlatFrames> flat;

  /// `shadow`: what an object lets through to the left 70 columns.
  Sweeps(const physics::DetectorModel& model, int frames, double dose = 1, double shadow = 1) {
    ThreadPool pool(1);
    std::vector<physics::Reading> readings(kPixels);
    for (size_t i = 0; i < kPixels; ++i) {
      if (i % kDetector.columns < 70) readings[i] = {.signal = shadow, .variance = shadow};
    }
    std::vector<uint16_t> counts(kPixels);
    physics::Readout dark_readout = physics::Readout::Make(model, kDetector).value();
    truth = dark_readout.maps();
    dark.emplace(kPixels, frames);
    for (int k = 0; k < frames; ++k) {
      dark_readout.Expose(readings, 0, pool, counts);
      dark->Add(std::vector<float>(counts.begin(), counts.end()));
    }
    offsets = OffsetMap(*dark);
    flat.emplace(offsets, frames);
    physics::Readout flat_readout = physics::Readout::Make(model, kDetector).value();
    for (const double of_frame : physics::FrameDoses(model, frames)) {
      flat_readout.Expose(readings, dose * of_frame, pool, counts);
      flat->Add(counts);
    }
  }
  absl::StatusOr<DetectorFit> Fit() const { return FitDetector(*dark, *flat, kDetector); }
};

double ValueOf(const Figures& figures, absl::string_view name) {
  for (const Figure& figure : figures) {
    if (figure.name == name) return figure.value;
  }
  ADD_FAILURE() << name;
  return 0;
}

// 60 frames: a pixel's offset is known to 6/√60 = 0.8 counts, its gain to 0.9 %/√60 = 0.12 % (the
// beam's one energy here has the noise of 20000 photons, 0.7 %, and trimming costs little).
TEST(DetectorFit, FindsThePlantedMaps) {
  for (const uint64_t seed : {5, 91}) {
    const Sweeps sweeps(Model(seed), 60);
    const auto fit = sweeps.Fit();
    ASSERT_TRUE(fit.ok()) << fit.status();
    double offset = 0, gain = 0, worst = 0;
    size_t good = 0;
    const double level = ValueOf(fit->figures, "air");
    for (size_t i = 0; i < kPixels; ++i) {
      if (sweeps.truth.states[i] != physics::PixelState::kGood) continue;
      if (fit->defects.kinds[i] == Defect::kEnclosed) continue;
      ++good;
      const double o = fit->response.offset_counts[i] - sweeps.truth.offset_counts[i];
      const double g = fit->response.air_counts[i] / level / sweeps.truth.gain[i] - 1;
      offset += o * o;
      gain += g * g;
      worst = std::max(worst, std::abs(g));
    }
    EXPECT_LT(std::sqrt(offset / good), 1.0);
    // The median gain is 1 within a tenth of a percent, too.
    EXPECT_LT(std::sqrt(gain / good), 0.0016);
    EXPECT_LT(worst, 0.008);
    // Half of the sweep at a flicker of 10 %: the mean dose of 30 frames is known to 1 %.
    EXPECT_NEAR(level, 40000, 3 * 400);
    EXPECT_NEAR(ValueOf(fit->figures, "noise of a dark frame"), 6, 0.1);
    EXPECT_NEAR(ValueOf(fit->figures, "noise of a flat frame"), 0.71, 0.05);
    EXPECT_NEAR(ValueOf(fit->figures, "noise left in the air map"), 0.1, 0.03);
    EXPECT_NEAR(ValueOf(fit->figures, "pixels' differences before"), 5, 0.3);
  }
}

TEST(DetectorFit, FindsAllDefectsAndNoOthers) {
  for (const uint64_t seed : {5, 91}) {
    const Sweeps sweeps(Model(seed), 20);
    const auto fit = sweeps.Fit();
    ASSERT_TRUE(fit.ok()) << fit.status();
    const std::set<int32_t> found(fit->defects.map.pixels.begin(), fit->defects.map.pixels.end());
    size_t missed = 0, others = 0;
    for (size_t i = 0; i < kPixels; ++i) {
      const bool planted = sweeps.truth.states[i] != physics::PixelState::kGood;
      const bool is = found.count(static_cast<int32_t>(i)) > 0;
      missed += planted && !is;
      others += is && !planted && fit->defects.kinds[i] != Defect::kEnclosed;
    }
    EXPECT_EQ(missed, 0);
    EXPECT_EQ(others, 0);
    EXPECT_EQ(ValueOf(fit->figures, "defective lines"), 2);
  }
}

// What a real detector has and the simulated one has not: noise, and an answer that changes.
TEST(DetectorFit, FindsNoisyAndUnstablePixels) {
  constexpr int kFrames = 40, kNoisy = 40 * 210 + 100, kChanging = 90 * 210 + 180, kHit = 999;
  SweepStatistics dark(kPixels, kFrames), flat(kPixels, kFrames);
  phantom::Generator draws(8);
  for (int k = 0; k < kFrames; ++k) {
    std::vector<float> d(kPixels), f(kPixels);
    for (size_t i = 0; i < kPixels; ++i) {
      d[i] = static_cast<float>(1000 + (i == kNoisy ? 30 : 5) * draws.Normal());
      f[i] = static_cast<float>(1 + 0.008 * draws.Normal());
    }
    if (k >= 20) f[kChanging] *= 1.05f;
    if (k == 7) d[kHit] = 60000;
    dark.Add(d);
    flat.Add(f);
  }
  const auto found = FindDefects(dark, flat, 30000, kDetector);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->map.pixels, testing::ElementsAre(kNoisy, kChanging));
  EXPECT_EQ(found->kinds[kNoisy], Defect::kNoisy);
  EXPECT_EQ(found->kinds[kChanging], Defect::kUnstable);
}

TEST(DetectorFit, RefusesWhatIsNotGoodEnough) {
  const auto error = [](physics::DetectorModel model, int frames, double dose = 1) {
    const auto fit = Sweeps(model, frames, dose).Fit();
    EXPECT_FALSE(fit.ok());
    return std::string(fit.status().message());
  };
  physics::DetectorModel model = Model(5);
  EXPECT_THAT(error(model, 12), AllOf(HasSubstr("noise left in the air map is 0.2"),
                                      HasSubstr("at most 0.2 %"), HasSubstr("frames; about")));
  EXPECT_THAT(error(model, 20, 0.01), HasSubstr("counts; legal is 1000 at least"));
  EXPECT_THAT(error(model, 20, 3), HasSubstr("pixels that read nothing but the largest counts is"));
  model.dead_clusters = 60;
  model.cluster_radius_px = 4;
  EXPECT_THAT(error(model, 20), AllOf(HasSubstr("defective pixels is"), HasSubstr("at most 2 %"),
                                      HasSubstr("dead (or saturated")));
}

// A dead disc of 49 pixels: its middle is 17 steps along diagonals away from the nearest good ones.
TEST(DetectorFit, RefusesADefectThatNothingBridges) {
  const Detector detector{.columns = 400, .rows = 300, .pitch_u_mm = 0.4, .pitch_v_mm = 0.4};
  SweepStatistics dark(400 * 300, 10), flat(400 * 300, 10);
  phantom::Generator draws(8);
  for (int k = 0; k < 10; ++k) {
    std::vector<float> frame(400 * 300);
    for (float& value : frame) value = static_cast<float>(1 + 0.001 * draws.Normal());
    dark.Add(frame);
    for (int i = 0; i < 400 * 300; ++i) {
      if (std::hypot(i % 400 - 150, i / 400 - 150) <= 24) frame[i] = 0;
    }
    flat.Add(frame);
  }
  EXPECT_THAT(FindDefects(dark, flat, 30000, detector).status().message(),
              HasSubstr("has no good pixel within 16"));
}

TEST(DetectorFit, NamesSweepsThatAreSwappedOrTheSame) {
  const auto error = [](double dark, double flat) {
    SweepStatistics darks(kPixels, 10);
    for (int k = 0; k < 10; ++k) darks.Add(std::vector<float>(kPixels, static_cast<float>(dark)));
    const std::vector<float> offsets = OffsetMap(darks);
    FlatFrames flats(offsets, 10);
    for (int k = 0; k < 10; ++k) {
      flats.Add(std::vector<uint16_t>(kPixels, static_cast<uint16_t>(flat)));
    }
    return std::string(FitDetector(darks, flats, kDetector).status().message());
  };
  EXPECT_THAT(error(51000, 1200),
              AllOf(HasSubstr("above the dark frames is -49800 counts; legal is 1000 at least"),
                    HasSubstr("flat frames are darker than dark ones: are the sweeps swapped?")));
  EXPECT_THAT(error(1200, 1200), HasSubstr("as dark as dark ones: is it the same sweep"));
  EXPECT_THAT(error(1200, 1700), HasSubstr("more dose"));
}

// Behind an object that lets a fiftieth through 20 frames have the noise of 50 times fewer photons;
// more frames are no cure.
TEST(DetectorFit, NamesAnObjectInTheBeam) {
  physics::DetectorModel model = Model(5);
  model.photons = 1000;
  const std::string noisy(Sweeps(model, 20).Fit().status().message());
  EXPECT_THAT(noisy, HasSubstr("a flat sweep of 20 frames; about "));
  const std::string shaded(Sweeps(model, 20, 1, 0.02).Fit().status().message());
  // The cause that is likely is said first.
  EXPECT_THAT(shaded,
              AllOf(testing::StartsWith("the air map differs by "),
                    HasSubstr("over the detector: is an object in the beam of the flat "
                              "frames? Behind a bow-tie, which does that too, a flat sweep"),
                    HasSubstr("would do: noise left in the air map is")));
  EXPECT_EQ(noisy.find("object"), std::string::npos);
  // One that stands still, and lets enough through, is at least told.
  const auto even = Sweeps(Model(5), 60).Fit();
  ASSERT_TRUE(even.ok()) << even.status();
  EXPECT_TRUE(even->warnings.empty());
  const auto still = Sweeps(Model(5), 60, 1, 0.4).Fit();
  ASSERT_TRUE(still.ok()) << still.status();
  ASSERT_EQ(still->warnings.size(), 1u);
  EXPECT_THAT(still->warnings[0], HasSubstr("the air map differs by 6"));
}

// A fifth or a twentieth less in a tenth of the detector: too even for what differs over all of it,
// and with an edge that neither a bow-tie nor a heel has.
TEST(AirSteps, ShowWhatWasLeftInTheBeam) {
  const Detector detector{.columns = 400, .rows = 320, .pitch_u_mm = 0.8, .pitch_v_mm = 0.8};
  phantom::Generator draws(4);
  std::vector<float> clean(400 * 320);
  for (int i = 0; i < 400 * 320; ++i) {
    const double u = i % 400 / 200.0 - 1, v = i / 400 / 160.0 - 1;
    const double bow_tie = std::exp(-1.6 * u * u * std::sqrt(1 + 0.02 * v * v));
    clean[i] = static_cast<float>(40000 * bow_tie * (1 + 0.15 * v) * (1 + 0.05 * draws.Normal()));
  }
  const AirSteps none = FindAirSteps(clean, detector);
  EXPECT_FALSE(none.shadow) << none.largest_percent;
  for (const float through : {0.8f, 0.95f}) {
    std::vector<float> shaded = clean;
    for (int v = 104; v < 208; ++v) {
      for (int u = 52; u < 182; ++u) shaded[v * 400 + u] *= through;
    }
    const AirSteps steps = FindAirSteps(shaded, detector);
    std::printf("largest step: clean %.2f %%, with an object %.2f %%, legal %.2f %%\n",
                none.largest_percent, steps.largest_percent, steps.legal_percent);
    ASSERT_TRUE(steps.shadow);
    EXPECT_NEAR(steps.shadow->depth_percent, 100 * through - 100, 1.5);
    EXPECT_NEAR(steps.shadow->first_column, 52, 13);
    EXPECT_NEAR(steps.shadow->last_column, 181, 13);
    EXPECT_NEAR(steps.shadow->first_row, 104, 13);
    EXPECT_NEAR(steps.shadow->last_row, 207, 13);
    EXPECT_NEAR(steps.shadow->share_percent, 10.6, 2);
  }
  // Amplifiers of columns and of rows are no objects.
  for (int i = 0; i < 400 * 320; ++i) clean[i] *= i % 400 / 100 % 2 == 0 ? 1.0f : 1.06f;
  EXPECT_FALSE(FindAirSteps(clean, detector).shadow);
  EXPECT_FALSE(FindAirSteps(std::span(clean).first(39 * 39),
                            {.columns = 39, .rows = 39, .pitch_u_mm = 1, .pitch_v_mm = 1})
                   .shadow);
}

// A dark sweep that begins while an exposure still decays.
// Amplifiers of one half of the panel that give 2 % more from the middle of the sweep on.
TEST(DetectorFit, APartThatChangesIsNoNoise) {
  Sweeps sweeps(Model(9), 40);
  ThreadPool pool(1);
  physics::Readout readout = physics::Readout::Make(Model(9), kDetector).value();
  const std::vector<physics::Reading> readings(kPixels);
  FlatFrames flat(sweeps.offsets, 40);
  std::vector<uint16_t> counts(kPixels);
  for (int k = 0; k < 40; ++k) {
    readout.Expose(readings, 1, pool, counts);
    for (size_t i = 0; k >= 20 && i < kPixels; ++i) {
      if (i % kDetector.columns >= 105) {
        counts[i] = static_cast<uint16_t>(counts[i] + 0.02 * (counts[i] - sweeps.offsets[i]));
      }
    }
    flat.Add(counts);
  }
  const auto fit = FitDetector(*sweeps.dark, flat, kDetector);
  EXPECT_THAT(fit.status().message(),
              AllOf(HasSubstr("of the detector) is "), HasSubstr("in the sweep's second half"),
                    HasSubstr("a longer sweep does not lessen it")));
}

TEST(DetectorFit, RefusesADarkLevelThatFalls) {
  Sweeps sweeps(Model(5), 20);
  SweepStatistics falling(kPixels, 20);
  for (int k = 0; k < 20; ++k) {
    falling.Add(std::vector<float>(kPixels, static_cast<float>(1200 + 40 * std::exp(-k / 8.0))));
  }
  sweeps.dark = falling;
  EXPECT_THAT(sweeps.Fit().status().message(),
              AllOf(HasSubstr("change of the dark level is -0.0"), HasSubstr("in the dark")));
}

}  // namespace
}  // namespace isocenter::calibrate
