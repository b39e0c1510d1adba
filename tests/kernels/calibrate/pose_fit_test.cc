// What pairs of frames say of planes, as a function of how an object lay in each; and what is found
// of motions that are planted. What a whole search reaches: tests/accuracy/motion_accuracy_test.cc.
#include "kernels/calibrate/consistency/pose_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <numbers>

#include "kernels/base/units.h"
#include "kernels/calibrate/consistency/epipolar_pairs.h"
#include "kernels/calibrate/consistency/posed_pairs.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;

constexpr Detector kDetector{.columns = 128, .rows = 96, .pitch_u_mm = 3, .pitch_v_mm = 3};
constexpr int kFrames = 40;
constexpr int kPixels = kDetector.columns * kDetector.rows;

Trajectory Arm() {
  return *MakeWobblingOrbit({.views = kFrames,
                             .source_to_isocenter_mm = 750,
                             .source_to_detector_mm = 1200,
                             .arc = DegreesToRadians(200)},
                            kDetector, /*amplitude=*/1, /*seed=*/3);
}

std::vector<float> FramesOf(const std::vector<RigidPose>& poses) {
  const auto head = *phantom::MakePhantom("head", 100, 0.02);
  const Trajectory seen = *SeenAtRest(Arm(), poses);
  std::vector<float> frames(size_t{kFrames} * kPixels);
  ThreadPool pool(2);
  const HostView3<float> all(frames.data(), {kFrames, kDetector.rows, kDetector.columns});
  for (int k = 0; k < kFrames; ++k) {
    phantom::ProjectView(*head, seen[k], kDetector, 2, pool, all.slices(k, 1));
  }
  return frames;
}

HostView3<const float> Lines(const std::vector<float>& frames) {
  return {frames.data(), {kFrames, kDetector.rows, kDetector.columns}};
}

/// A head that nods and goes up and down, as seen by each frame: what planes tell best.
std::vector<RigidPose> Nods() {
  std::vector<RigidPose> poses;
  const Trajectory arm = Arm();
  for (int k = 0; k < kFrames; ++k) {
    const double phase = 2 * std::numbers::pi * k / (kFrames - 1);
    const Camera camera = *Decompose(arm[k]);
    poses.push_back({.turn_rad = DegreesToRadians(1.5 * std::sin(phase)) * camera.u_axis,
                     .shift_mm = 1.5 * std::sin(2 * phase) * camera.v_axis});
  }
  return poses;
}

/// Hats over the scan, of straight lines.
std::vector<double> Curves() {
  constexpr int kCount = 13;
  std::vector<double> curves;
  for (int k = 0; k < kFrames; ++k) {
    for (int c = 0; c < kCount; ++c) {
      curves.push_back(std::max(0.0, 1 - std::abs(double(k) * (kCount - 1) / (kFrames - 1) - c)));
    }
  }
  return curves;
}

LineView ViewOf(const std::vector<float>& frames, int k) {
  return {std::span(frames).subspan(size_t(k) * kPixels, kPixels), kDetector, 1, Arm()[k]};
}

Vec3 Unit(Vec3 v) { return (1 / Norm(v)) * v; }

/// Sums over planes of what derivatives are off, and of what they are.
struct Check {
  double off = 0, size = 0;
  int count = 0;
  void Add(double derivative, double numeric) {
    off += std::abs(derivative - numeric);
    size += std::abs(numeric);
    ++count;
  }
};

TEST(LineView, KnowsItsDerivativeByThePlanesNormal) {
  const std::vector<float> frames = FramesOf(std::vector<RigidPose>(kFrames));
  const LineView view = ViewOf(frames, 7);
  Check check;
  constexpr double kStep = 2.5e-3;  // a pixel
  for (const Vec3 normal : EpipolarPlanes(view.source(), ViewOf(frames, 20).source(), 70, 24)) {
    const LineSample here = view.Sample(normal);
    if (here.state != LineState::kGood) continue;
    const Vec3 across = Unit(Cross(normal, view.source()));
    for (const Vec3 way : {across, Cross(normal, across)}) {
      const LineSample more = view.Sample(Unit(normal + kStep * way)),
                       less = view.Sample(Unit(normal - kStep * way));
      check.Add(Dot(here.by_normal, way), (more.derivative - less.derivative) / (2 * kStep));
    }
  }
  EXPECT_GE(check.count, 30);
  EXPECT_LT(check.off, 0.05 * check.size) << check.off << " of " << check.size;
}

TEST(PosedPlane, KnowsItsDerivativesByBothPoses) {
  std::vector<RigidPose> poses = Nods();
  const std::vector<float> frames = FramesOf(poses);
  poses[7].shift_mm.x += 2;  // where the frames do not agree
  const LineView first = ViewOf(frames, 7), second = ViewOf(frames, 20);
  const PosedView a(first, poses[7]), b(second, poses[20]);
  Check shifts, turns;
  double by_normal = 0;  // of which turns are small differences
  for (const Vec3 normal : EpipolarPlanes(a.source, b.source, 70, 24)) {
    const PosedPlane here = ComparePlane(a, b, normal);
    if (here.state != LineState::kGood) continue;
    by_normal += Norm(first.Sample(a.transform.Turn(normal)).by_normal) +
                 Norm(second.Sample(b.transform.Turn(normal)).by_normal);
    for (int i = 0; i < 12; ++i) {
      const bool turn = i % 6 >= 3;
      const double step = turn ? 1e-3 : 0.5;
      const auto with = [&](double much) {
        std::array<double, 6> six{};
        six[i % 6] = much;
        const RigidPose more{.turn_rad = {six[3], six[4], six[5]},
                             .shift_mm = {six[0], six[1], six[2]}};
        std::array both = {poses[7], poses[20]};
        RigidPose& moved = both[i / 6];
        moved = PoseOf(Then(TransformOf(moved), TransformOf(more)));
        const PosedView p(first, both[0]), q(second, both[1]);
        const Vec3 along = Unit(q.source - p.source);
        return ComparePlane(p, q, Unit(normal - Dot(normal, along) * along));
      };
      const PosedPlane more = with(step), less = with(-step);
      if (more.state != LineState::kGood || less.state != LineState::kGood) continue;
      (turn ? turns : shifts)
          .Add(here.equation.by_pose[i],
               (more.equation.difference - less.equation.difference) / (2 * step));
    }
  }
  EXPECT_GE(shifts.count, 90);
  EXPECT_GE(turns.count, 90);
  EXPECT_LT(shifts.off, 0.08 * shifts.size) << shifts.off << " of " << shifts.size;
  EXPECT_LT(turns.off, 0.08 * by_normal) << turns.off << " of " << by_normal;
}

// Degrees, root mean square over the frames of the turn that is left, without one of all frames,
// which no frame tells.
double TurnLeft(const std::vector<RigidPose>& poses, const std::vector<RigidPose>& planted) {
  std::vector<Vec3> turns;
  Vec3 mean;
  for (int k = 0; k < kFrames; ++k) {
    const RigidTransform left = Then(TransformOf(poses[k]), Inverse(TransformOf(planted[k])));
    turns.push_back(PoseOf(left).turn_rad);
    mean = mean + (1.0 / kFrames) * turns.back();
  }
  double sum = 0;
  for (const Vec3 turn : turns) sum += std::pow(Norm(turn - mean), 2) / kFrames;
  return RadiansToDegrees(std::sqrt(sum));
}

TEST(FitPoses, FindsNods) {
  const std::vector<RigidPose> planted = Nods(), rest(kFrames);
  const std::vector<float> frames = FramesOf(planted);
  ThreadPool pool(2);
  double done = 0;
  const auto fit = FitPoses(Arm(), kDetector, Lines(frames), rest, Curves(), pool, [&](double d) {
    EXPECT_GE(d, done);
    done = d;
    return absl::OkStatus();
  });
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->kept, "");
  const double before = TurnLeft(rest, planted), after = TurnLeft(fit->poses, planted);
  std::printf("turns %.2f -> %.2f deg, planes %.4f -> %.4f\n", before, after, fit->before,
              fit->after);
  EXPECT_LT(after, 0.3 * before);
  EXPECT_LT(fit->after, 0.5 * fit->before);
  EXPECT_GT(done, 0.6);
  // One thread or two: the same bits.
  ThreadPool one(1);
  EXPECT_EQ(FitPoses(Arm(), kDetector, Lines(frames), rest, Curves(), one)->poses, fit->poses);
}

TEST(FitPoses, KeepsPosesWherePlanesSayTooLittle) {
  const std::vector<RigidPose> rest(kFrames);
  ThreadPool pool(2);
  const auto fit = [&](const std::vector<float>& frames) {
    return *FitPoses(Arm(), kDetector, Lines(frames), rest, Curves(), pool);
  };
  std::vector<float> frames(size_t{kFrames} * kPixels);
  const PoseFit nothing = fit(frames);
  EXPECT_EQ(nothing.kept, "pairs of frames do not differ on any plane");
  EXPECT_EQ(nothing.poses, rest);

  std::fill(frames.begin(), frames.end(), 1.F);
  const PoseFit cut = fit(frames);
  EXPECT_THAT(cut.kept, HasSubstr("the detector cuts the object on 100 % of the planes"));
  EXPECT_EQ(cut.poses, rest);

  // Of which no line has enough pixels beside it.
  constexpr Detector kNarrow{.columns = 16, .rows = 12, .pitch_u_mm = 3, .pitch_v_mm = 3};
  const std::vector<float> few(size_t{kFrames} * kNarrow.columns * kNarrow.rows, 0.F);
  const PoseFit none = *FitPoses(
      Arm(), kNarrow, {few.data(), {kFrames, kNarrow.rows, kNarrow.columns}}, rest, Curves(), pool);
  EXPECT_THAT(none.kept, HasSubstr("planes in common; legal is 780 or more"));
  EXPECT_EQ(none.poses, rest);
}

TEST(FitPoses, EndsWithTheErrorOfItsProgress) {
  ThreadPool pool(2);
  const auto fit =
      FitPoses(Arm(), kDetector, Lines(FramesOf(Nods())), std::vector<RigidPose>(kFrames), Curves(),
               pool, [](double) { return absl::CancelledError("enough"); });
  EXPECT_EQ(fit.status(), absl::CancelledError("enough"));
}

}  // namespace
}  // namespace isocenter::calibrate
