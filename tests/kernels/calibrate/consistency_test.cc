// What frames say of planes, against float64; shifts that are planted in simulated scans are found,
// and scans without any give no alarm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "kernels/calibrate/consistency/epipolar_pairs.h"
#include "kernels/calibrate/consistency/scan_consistency.h"
#include "kernels/phantom/bead_phantom.h"
#include "kernels/phantom/catalogue.h"
#include "kernels/phantom/noise.h"
#include "kernels/phantom/phantom.h"
#include "kernels/reference/plane_derivative.h"
#include "tests/kernels/calibrate/bead_sweep.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kI0 = 60000;
constexpr Detector kHalf{.columns = 310, .rows = 240, .pitch_u_mm = 1.232, .pitch_v_mm = 1.232};
constexpr int kFrames = 100;

ProjectionMatrix Shifted(const ProjectionMatrix& matrix, double u, double v) {
  ProjectionMatrix shifted = matrix;
  for (int c = 0; c < 4; ++c) {
    shifted.m[c] += u * matrix.m[8 + c];
    shifted.m[4 + c] += v * matrix.m[8 + c];
  }
  return shifted;
}

std::unique_ptr<phantom::Phantom> Head() { return *phantom::MakePhantom("head", 100, kWaterPerMm); }

std::vector<float> Projected(const phantom::Phantom& object, const ProjectionMatrix& matrix,
                             const Detector& detector) {
  ThreadPool pool(2);
  std::vector<float> line_integrals(size_t(detector.columns) * detector.rows);
  phantom::ProjectView(object, matrix, detector, 1, pool,
                       {line_integrals.data(), {1, detector.rows, detector.columns}});
  return line_integrals;
}

/// Frames are made with `real`, and judged with `told`.
Consistency Judged(const Trajectory& real, const Trajectory& told, const Detector& detector,
                   uint64_t seed = 5, const phantom::Phantom* metal = nullptr) {
  const auto object = Head();
  auto scan = ScanConsistency::Make(told, detector, kI0);
  std::vector<uint16_t> counts(size_t(detector.columns) * detector.rows);
  for (size_t k = 0; k < real.size(); ++k) {
    std::vector<float> line_integrals = Projected(*object, real[k], detector);
    if (metal != nullptr) {
      const std::vector<float> added = Projected(*metal, real[k], detector);
      for (size_t i = 0; i < added.size(); ++i) line_integrals[i] += added[i];
    }
    // As many photons as four pixels of half the side have together.
    phantom::ToCounts(line_integrals, kI0, {.photons = 80000, .electronic_counts = 8, .seed = seed},
                      int(k), counts);
    (*scan)->Add(int(k), counts);
  }
  ThreadPool pool(2);
  const Consistency result = *(*scan)->Judge(pool);
  std::printf("%d pairs, %d lines, %d cut, %s; jump sigma %.4f px, drift %.3f mm, %.4g -> %.4g\n",
              result.pairs, int(result.lines), int(result.truncated), result.not_judged.c_str(),
              result.jump_sigma_px, result.drift_v_mm, result.before, result.after);
  for (const OddFrame& odd : result.odd) {
    std::printf("odd %d: %.3f %.3f\n", odd.frame, odd.u_px, odd.v_px);
  }
  return result;
}

TEST(LineView, SaysOfPlanesWhatTheReferenceSays) {
  const Trajectory arm = WobblingArm(kFrames, 4, kHalf);
  const auto object = Head();
  double most = 0, difference = 0;
  int good = 0;
  for (const auto [i, j] : {std::pair(3, 20), {10, 60}, {2, 92}}) {
    for (const int k : {i, j}) {
      const std::vector<float> lines = Projected(*object, arm[k], kHalf);
      std::vector<uint16_t> counts(lines.size());
      phantom::ToCounts(lines, kI0, {}, k, counts);
      const LineView view(counts, kHalf, kI0, 1, arm[k]);
      const Vec3 a = Decompose(arm[i])->source, b = Decompose(arm[j])->source;
      for (const Vec3 normal : EpipolarPlanes(a, b, 60, 25)) {
        const LineSample sample = view.Sample(normal);
        if (sample.state != LineState::kGood) continue;
        const HostView3<const float> frame(lines.data(), {1, kHalf.rows, kHalf.columns});
        const double expected =
            reference::PlaneDerivative(frame, arm[k], normal, kConsistencySigmaPx);
        most = std::max(most, std::abs(expected));
        difference = std::max(difference, std::abs(sample.derivative - expected));
        ++good;
      }
    }
  }
  std::printf("%d lines, largest %.4f, difference %.5f\n", good, most, difference);
  EXPECT_GT(good, 80);
  EXPECT_GT(most, 1);
  EXPECT_LT(difference, 0.03 * most);
}

TEST(LineView, KnowsWhatShiftsAdd) {
  const Trajectory arm = WobblingArm(kFrames, 4, kHalf);
  const auto object = Head();
  const auto view_of = [&](double u, double v) {
    std::vector<uint16_t> counts(size_t(kHalf.columns) * kHalf.rows);
    phantom::ToCounts(Projected(*object, Shifted(arm[10], u, v), kHalf), kI0, {}, 0, counts);
    return LineView(counts, kHalf, kI0, 1, arm[10]);
  };
  const LineView still = view_of(0, 0), up = view_of(0, 0.5), right = view_of(0.5, 0);
  double squares = 0, errors_u = 0, errors_v = 0;
  for (const Vec3 normal :
       EpipolarPlanes(Decompose(arm[10])->source, Decompose(arm[97])->source, 60, 60)) {
    const LineSample sample = still.Sample(normal);
    if (sample.state != LineState::kGood) continue;
    squares += sample.by_v * sample.by_v + sample.by_u * sample.by_u;
    errors_v += std::pow(2 * (up.Sample(normal).derivative - sample.derivative) - sample.by_v, 2);
    errors_u +=
        std::pow(2 * (right.Sample(normal).derivative - sample.derivative) - sample.by_u, 2);
  }
  std::printf("errors of slopes: %.3f (u), %.3f (v)\n", std::sqrt(errors_u / squares),
              std::sqrt(errors_v / squares));
  EXPECT_GT(squares, 0);
  EXPECT_LT(errors_v, 0.2 * squares);
  EXPECT_LT(errors_u, 0.2 * squares);
}

TEST(ScanConsistency, AGoodScanGivesNoAlarm) {
  for (const uint64_t seed : {1, 2}) {
    const Trajectory arm = WobblingArm(kFrames, seed, kHalf);
    const Consistency result = Judged(arm, arm, kHalf, seed);
    EXPECT_EQ(result.not_judged, "");
    EXPECT_THAT(result.odd, IsEmpty());
    EXPECT_FALSE(result.drifts());
  }
}

TEST(ScanConsistency, SeesOneFrameThatIsShifted) {
  const Trajectory arm = WobblingArm(kFrames, 4, kHalf);
  Trajectory real = arm;
  real[37] = Shifted(arm[37], 0, 0.2);
  const Consistency result = Judged(real, arm, kHalf);
  ASSERT_THAT(result.odd, SizeIs(1));
  EXPECT_EQ(result.odd[0].frame, 37);
  EXPECT_NEAR(result.odd[0].v_px, 0.2, 0.06);
}

TEST(ScanConsistency, SeesAnArmThatDrifts) {
  const Trajectory arm = WobblingArm(kFrames, 4, kHalf);
  Trajectory real = arm;
  for (size_t k = 0; k < real.size(); ++k) {
    for (int row = 0; row < 3; ++row) {
      real[k].m[4 * row + 3] += real[k](row, 2) * 0.5 * double(k) / kFrames;
    }
    real[k] = *NormalizeMatrix(real[k]);
  }
  const Consistency result = Judged(real, arm, kHalf);
  EXPECT_TRUE(result.drifts());
  EXPECT_NEAR(result.drift_v_mm, 0.44, 0.1);  // between the medians of its first and last eighth
}

TEST(ScanConsistency, TruncatedFramesAreNotJudged) {
  Detector narrow = kHalf;
  narrow.columns = 130;
  const Trajectory arm = WobblingArm(kFrames, 4, narrow);
  const Consistency result = Judged(arm, arm, narrow);
  EXPECT_THAT(result.not_judged, HasSubstr("leave the detector through the object"));
  EXPECT_FALSE(result.off_air);
  EXPECT_THAT(result.odd, IsEmpty());
}

// As raw frames have it: pixels' counts are more or less than i0_counts says, here from row to row.
// Corrected, they are those of the good scan.
TEST(ScanConsistency, FramesWhoseAirIsElsewhereAreNotJudged) {
  const Trajectory arm = WobblingArm(kFrames, 4, kHalf);
  const auto object = Head();
  const auto raw = *ScanConsistency::Make(arm, kHalf, kI0);
  const auto corrected = *ScanConsistency::Make(arm, kHalf, 1);
  std::vector<uint16_t> counts(size_t(kHalf.columns) * kHalf.rows);
  for (int k = 0; k < kFrames; ++k) {
    const std::vector<float> lines = Projected(*object, arm[k], kHalf);
    corrected->AddLines(k, lines);
    std::vector<float> off = lines;
    for (size_t i = 0; i < off.size(); ++i) {
      off[i] += 0.12f * (float(i / kHalf.columns) / float(kHalf.rows) - 0.5f) -
                0.05f * std::sin(0.9f * float(k));
    }
    phantom::ToCounts(off, kI0, {}, k, counts);
    raw->Add(k, counts);
  }
  ThreadPool pool(2);
  const Consistency bad = *raw->Judge(pool), good = *corrected->Judge(pool);
  std::printf("ends off air: raw %.3f, corrected %.3f; %d of %d lines left out; drift %.3f mm\n",
              bad.off_air_share, good.off_air_share, int(bad.truncated),
              int(bad.truncated + bad.lines), good.drift_v_mm);
  EXPECT_TRUE(bad.off_air);
  EXPECT_THAT(bad.not_judged, HasSubstr("the frames' air is not where it should be"));
  EXPECT_THAT(bad.odd, IsEmpty());
  EXPECT_FALSE(bad.drifts());
  EXPECT_EQ(good.not_judged, "");
  EXPECT_LT(good.off_air_share, 0.01);
  EXPECT_THAT(good.odd, IsEmpty());
  EXPECT_LT(good.drift_v_mm, 0.05);
}

// Balls of steel that let next to nothing through: what is left of their shadows is no line
// integral.
TEST(ScanConsistency, MetalGivesNoAlarm) {
  const auto metal = phantom::MakeBeadPhantom(
      {{{30, 10, 15}, 8}, {{32, 2, 18}, 8}, {{-35, 20, -20}, 10}, {{10, -40, 0}, 8}}, kWaterPerMm);
  const Trajectory arm = WobblingArm(kFrames, 4, kHalf);
  const Consistency still = Judged(arm, arm, kHalf, 5, metal.get());
  EXPECT_THAT(still.odd, IsEmpty());
  EXPECT_FALSE(still.drifts());
  Trajectory real = arm;
  real[37] = Shifted(arm[37], 0, 0.2);
  const Consistency shifted = Judged(real, arm, kHalf, 5, metal.get());
  ASSERT_THAT(shifted.odd, SizeIs(1));
  EXPECT_EQ(shifted.odd[0].frame, 37);
}

TEST(ScanConsistency, SaysWhatItCannotJudge) {
  const Trajectory arm = WobblingArm(19, 4, kHalf);
  EXPECT_THAT(ScanConsistency::Make(arm, kHalf, kI0).status().message(), HasSubstr("19 frames"));
  const Trajectory enough = WobblingArm(20, 4, kHalf);
  EXPECT_THAT(ScanConsistency::Make(enough, kHalf, NAN).status().message(), HasSubstr("nan"));
  ThreadPool pool(1);
  EXPECT_THAT((*ScanConsistency::Make(enough, kHalf, kI0))->Judge(pool).status().message(),
              HasSubstr("frame 0 was not added"));
}

}  // namespace
}  // namespace isocenter::calibrate
