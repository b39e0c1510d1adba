#include "kernels/recon/completeness/opposite_rays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kFull = 360.0 * 119 / 120;

OppositeRaysResult Judged(const EllipseScan& scan) {
  OppositeRays rays(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) rays.Add(view, scan.Rows(view));
  return rays.Judge(scan.acquisition.trajectory);
}

std::string Said(const EllipseScan& scan) { return MisfitText(Judged(scan)).value_or(""); }

/// The matrices say that the image lies by so much further along the rows than it does.
void MovePrincipalPoint(EllipseScan& scan, double px) {
  for (ProjectionMatrix& matrix : scan.acquisition.trajectory) {
    for (int i = 0; i < 4; ++i) matrix.m[i] += px * matrix.m[8 + i];
  }
}

TEST(OppositeRays, HaveNothingToSayOfFramesThatFit) {
  EXPECT_EQ(Said(EllipseScan(120, kFull, {}, 0.02)), "");
  EXPECT_EQ(Said(EllipseScan(120, 200, {}, 0.02)), "");
  EXPECT_EQ(Said(EllipseScan(120, -200, {}, 0.02)), "");
  EXPECT_EQ(Said(EllipseScan(120, kFull, {}, 0.02, 60)), "") << "displaced detector";
  EXPECT_EQ(Said(EllipseScan(120, kFull, {.a_mm = 200, .b_mm = 150}, 0.02)), "") << "cut";
  EXPECT_EQ(Said(EllipseScan(120, kFull, {}, 0.2)), "") << "noisy";
}

// Opposite rays of a displaced detector go through the middle of the object, where few photons
// come.
TEST(OppositeRays, NoiseOfThickRaysIsNoMisfitOfADisplacedDetector) {
  for (const double photons : {700.0, 2000.0, 8000.0}) {
    EllipseScan scan(180, 360.0 * 179 / 180, {.a_mm = 125, .b_mm = 105}, 0, 60);
    std::mt19937 random(5);
    for (auto& frame : scan.frames) {
      for (uint16_t& counts : frame) {
        std::poisson_distribution<int> arrive(photons * counts / 50000);
        counts = static_cast<uint16_t>(std::min(65535.0, arrive(random) * 50000 / photons));
      }
    }
    EXPECT_EQ(Said(scan), "") << photons;
  }
}

// A dead column reads the same from both sides where columns are mirrored, and else not.
TEST(OppositeRays, DeadColumnsAreNoMirror) {
  for (const double arc : {kFull, 200.0}) {
    EllipseScan scan(120, arc, {}, 0.02);
    for (auto& frame : scan.frames) {
      for (const int u : {60, 61, 190}) {
        for (int v = 0; v < 16; ++v) frame[v * 256 + u] = u == 190 ? 65535 : 40;
      }
    }
    EXPECT_EQ(Said(scan), "") << arc;
    EXPECT_NEAR(Judged(scan).shift_px, 0, 0.1) << arc;
    std::ranges::reverse(scan.frames);
    EXPECT_THAT(Said(scan), HasSubstr("frames in reversed order")) << arc;
  }
}

TEST(OppositeRays, SeeAPrincipalPointThatIsOff) {
  for (const double arc : {kFull, 200.0}) {
    for (const double off : {0.2, -5.0}) {
      EllipseScan scan(120, arc, {}, 0.01);
      MovePrincipalPoint(scan, off);
      const OppositeRaysResult result = Judged(scan);
      EXPECT_NEAR(result.shift_px, -off, 0.06) << arc;
      EXPECT_LT(result.shift_sigma_px, 0.05) << arc;
      EXPECT_EQ(MisfitText(result).has_value(), off == -5.0);
    }
  }
  EllipseScan scan(120, kFull, {}, 0.01);
  MovePrincipalPoint(scan, 5);
  EXPECT_THAT(Said(scan), AllOf(HasSubstr("px along the rows"), HasSubstr("legal is within 0.5 px"),
                                HasSubstr("all frames lie -5.0")));
}

TEST(OppositeRays, SeeFramesInReversedOrderAndMirroredOnes) {
  for (const double arc : {kFull, 200.0}) {
    EllipseScan scan(120, arc, {}, 0.02);
    std::ranges::reverse(scan.frames);
    EXPECT_THAT(Said(scan), HasSubstr("with the frames in reversed order")) << arc;
  }
  EllipseScan scan(120, 200, {}, 0.02);
  for (auto& frame : scan.frames) std::ranges::reverse(frame);
  EXPECT_THAT(Said(scan), HasSubstr("with the columns in reversed order"));
}

// Few frames, whose sources lie in few lines of sight: places between two of them count, too.
TEST(OppositeRays, SeeThemOnFewFrames) {
  struct {
    int views;
    double arc;
  } const few[] = {{100, 200}, {80, 205}, {60, 205}, {40, 205}, {110, 186}};
  for (const auto& [views, arc] : few) {
    EllipseScan scan(views, arc, {}, 0.02);
    EXPECT_EQ(Said(scan), "") << views;
    EXPECT_EQ(UncheckedOrderText(Judged(scan)), std::nullopt) << views;
    EllipseScan reversed = scan;
    std::ranges::reverse(reversed.frames);
    EXPECT_THAT(Said(reversed), HasSubstr("in reversed order: the arm turned")) << views;
    for (auto& frame : scan.frames) std::ranges::reverse(frame);
    EXPECT_THAT(Said(scan), HasSubstr("in reversed order: the arm turned")) << views;
  }
}

// Of a displaced detector only a strip sees rays twice; its mirror would show air.
TEST(OppositeRays, SeeThemOnADisplacedDetector) {
  EllipseScan scan(100, 356.4, {}, 0.01, 90);
  EXPECT_EQ(Said(scan), "");
  EXPECT_EQ(UncheckedOrderText(Judged(scan)), std::nullopt);
  for (const double off : {1.0, -2.0, 5.0}) {
    EllipseScan moved = scan;
    MovePrincipalPoint(moved, off);
    EXPECT_NEAR(Judged(moved).shift_px, -off, 0.2);
    EXPECT_THAT(Said(moved), HasSubstr("px along the rows")) << off;
  }
  std::ranges::reverse(scan.frames);
  EXPECT_THAT(Said(scan), HasSubstr("with the frames in reversed order"));
}

TEST(OppositeRays, SeeFramesInAnotherOrder) {
  for (const double arc : {kFull, 200.0}) {
    EllipseScan scan(120, arc, {}, 0.02);
    std::mt19937 random(3);
    for (size_t k = scan.frames.size(); k > 1; --k) {
      std::swap(scan.frames[k - 1], scan.frames[random() % k]);
    }
    EXPECT_THAT(Said(scan),
                HasSubstr("The matrices are not those of the frames (another order, another scan)"))
        << arc;
  }
  EllipseScan scan(120, 200, {}, 0.02);
  std::ranges::rotate(scan.frames, scan.frames.begin() + 20);
  EXPECT_THAT(Said(scan), HasSubstr("the frames do not fit their matrices"));
}

TEST(OppositeRays, SayNothingOfTheOrderOfWhatLooksAlikeFromEverywhere) {
  EllipseScan scan(120, kFull, {.a_mm = 60, .b_mm = 60, .x_mm = 0, .y_mm = 0}, 0.05);
  std::ranges::reverse(scan.frames);
  EXPECT_EQ(Said(scan), "");
  EXPECT_THAT(UncheckedOrderText(Judged(scan)).value_or(""), HasSubstr("frames in any order"));
}

/// The matrices say that the arm turned by so much.
void SayArc(EllipseScan& scan, double arc_deg) {
  scan.acquisition.trajectory = *MakeCircularOrbit({.views = scan.views(),
                                                    .source_to_isocenter_mm = 750,
                                                    .source_to_detector_mm = 1200,
                                                    .arc = DegreesToRadians(arc_deg)},
                                                   scan.acquisition.detector);
}

TEST(OppositeRays, SeeAnArcOfAnotherLength) {
  struct {
    int views;
    double arc, said;
  } const arcs[] = {{120, 200, 194}, {120, 200, 206}, {248, 200, 194},
                    {120, 357, 346}, {60, 205, 199},  {120, -200, -194}};
  for (const auto& [views, arc, said] : arcs) {
    EllipseScan scan(views, arc, {}, 0.01);
    EXPECT_EQ(Said(scan), "") << arc;
    SayArc(scan, said);
    const OppositeRaysResult result = Judged(scan);
    EXPECT_NEAR(result.arc_factor, arc / said, 0.005) << arc << " " << said;
    EXPECT_LT(result.rescaled, 0.7 * result.difference);
    EXPECT_THAT(Said(scan), AllOf(HasSubstr("opposite rays agree best where the arc is "),
                                  HasSubstr(arc / said > 1 ? "% longer than" : "% shorter than")))
        << arc << " " << said;
  }
  // What is below the limit, and what is something else.
  EllipseScan close(120, 200, {}, 0.01);
  SayArc(close, 199);
  EXPECT_EQ(Said(close), "");
  EllipseScan moved(120, 200, {}, 0.01);
  MovePrincipalPoint(moved, 5);
  EXPECT_THAT(Said(moved), HasSubstr("px along the rows"));
}

// Thick rays are another share of it at the one side than half a turn later at the other.
TEST(OppositeRays, SeeAnOffsetThatDrifts) {
  for (const double arc : {kFull, 200.0}) {
    for (const double drift : {0.015, -0.02}) {
      EllipseScan scan(120, arc, {.a_mm = 100, .b_mm = 80, .x_mm = 10, .y_mm = 5}, 0.01);
      for (int view = 0; view < scan.views(); ++view) {
        const double offset = 50000 * (0.02 + drift * (view / 119.0 - 0.5));
        for (uint16_t& count : scan.frames[view]) count += static_cast<uint16_t>(offset);
      }
      EXPECT_NEAR(Judged(scan).drift, drift, 0.005) << arc;
      EXPECT_THAT(Said(scan), HasSubstr(drift > 0 ? "carry something that rises"
                                                  : "carry something that falls"))
          << arc << " " << drift;
    }
  }
}

TEST(OppositeRays, DosesThatChangeAreNoMisfit) {
  EllipseScan scan(120, kFull, {}, 0.02);
  for (int view = 0; view < scan.views(); ++view) {
    const double dose = 0.7 + 0.3 * std::sin(view * 0.3);
    for (uint16_t& count : scan.frames[view]) count = static_cast<uint16_t>(count * dose);
  }
  EXPECT_EQ(Said(scan), "");
}

TEST(OppositeRays, AnArcWithoutThemIsNotJudged) {
  EllipseScan scan(60, 120, {}, 0.02);
  std::ranges::reverse(scan.frames);
  EXPECT_THAT(Judged(scan).not_judged, HasSubstr("legal is 200 or more"));
  EXPECT_THAT(UncheckedOrderText(Judged(scan)).value_or(""),
              HasSubstr("not checked: whether the frames are in the order of their matrices"));
  EXPECT_EQ(Said(scan), "");
}

TEST(OppositeRays, FramesThatDidNotComeAreLeftOut) {
  const EllipseScan scan(120, kFull, {}, 0.02);
  OppositeRays rays(scan.acquisition);
  for (int view = 0; view < scan.views(); view += view % 3 == 0 ? 2 : 1) {
    rays.Add(view, scan.Rows(view));
  }
  const OppositeRaysResult result = rays.Judge(scan.acquisition.trajectory);
  EXPECT_EQ(result.not_judged, "");
  EXPECT_EQ(MisfitText(result), std::nullopt);
}

}  // namespace
}  // namespace isocenter::recon
