// Matrices that are found from simulated sweeps of bead phantoms against those that made the
// sweeps; tables, sweeps and frames that are not what they should be are noticed.
#include "kernels/calibrate/geometry/geometry_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_join.h"
#include "kernels/phantom/bead_phantom.h"
#include "tests/kernels/calibrate/bead_sweep.h"

namespace isocenter::calibrate {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr int kFrames = 40;

class GeometryFitTest : public testing::Test {
 protected:
  absl::StatusOr<GeometryFit> Fit(const BeadTable& real, const BeadTable& table,
                                  const GeometryChoice& choice = {}) {
    const auto object = phantom::MakeBeadPhantom(real, kWaterPerMm);
    return Calibrated({*object, truth_}, table, choice);
  }

  const Trajectory truth_ = WobblingArm(kFrames, 7);
};

void Print(const GeometryFit& fit, const GeometryError& error) {
  for (const Figure& figure : fit.figures) {
    std::printf("%-40s %.5f %s\n", figure.name.c_str(), figure.value, figure.unit.c_str());
  }
  for (const std::string& warning : fit.warnings) std::printf("warning: %s\n", warning.c_str());
  std::printf("model %d, %.4f px alone, %.4f px smooth\n", static_cast<int>(fit.model),
              fit.rms_frames_px, fit.rms_arm_px);
  std::printf("against the truth: %.4f px (most %.4f), source %.4f mm (%.4f), axes %.5f (%.5f)\n",
              error.reprojection_px, error.most_reprojection_px, error.source_mm,
              error.most_source_mm, error.axis_deg, error.most_axis_deg);
}

TEST_F(GeometryFitTest, FindsAWobblingArm) {
  const auto fit = Fit(HelixBeads(), HelixBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  const GeometryError error = ErrorOf(fit->matrices, truth_);
  Print(*fit, error);
  EXPECT_THAT(fit->warnings, IsEmpty());
  EXPECT_EQ(fit->parameters, 9);
  EXPECT_LT(error.reprojection_px, 0.025);
  EXPECT_LT(error.most_reprojection_px, 0.08);
  // What the report claims of itself is what the truth says.
  EXPECT_LT(error.source_mm, 2 * fit->sigmas.source_along_mm);
  EXPECT_GT(error.source_mm, 0.5 * fit->sigmas.source_along_mm);
  EXPECT_LT(error.most_reprojection_px, 4 * fit->sigmas.point_px);
}

TEST_F(GeometryFitTest, ASmoothArmKnowsItsSourceBetterThanSingleFramesDo) {
  const auto frames = Fit(HelixBeads(), HelixBeads(), {.model = GeometryModel::kFrames});
  const auto arm = Fit(HelixBeads(), HelixBeads(), {.model = GeometryModel::kArm});
  ASSERT_TRUE(frames.ok() && arm.ok()) << frames.status() << arm.status();
  EXPECT_LT(ErrorOf(arm->matrices, truth_).source_mm,
            0.8 * ErrorOf(frames->matrices, truth_).source_mm);
  EXPECT_LT(arm->sigmas.source_along_mm, 0.8 * frames->sigmas.source_along_mm);
}

TEST_F(GeometryFitTest, AnArmThatIsNotSmoothIsTakenFrameByFrame) {
  // The focal length jumps by 2 % from frame to frame, which no pose makes up for.
  Trajectory jumping = truth_;
  for (size_t k = 0; k < jumping.size(); k += 2) {
    Camera camera = *Decompose(jumping[k]);
    camera.focal_u_px *= 1.02;
    camera.focal_v_px *= 1.02;
    jumping[k] = Compose(camera);
  }
  const auto object = phantom::MakeBeadPhantom(HelixBeads(), kWaterPerMm);
  const auto fit = Calibrated({*object, jumping}, HelixBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_EQ(fit->model, GeometryModel::kFrames);
  EXPECT_LT(ErrorOf(fit->matrices, jumping).reprojection_px, 0.03);
}

TEST_F(GeometryFitTest, ARepeatedFrameAndAKnockAreNamed) {
  const auto object = phantom::MakeBeadPhantom(HelixBeads(), kWaterPerMm);
  Trajectory repeated = truth_;
  repeated.insert(repeated.begin() + 15, repeated[14]);
  repeated.pop_back();
  auto fit = Calibrated({*object, repeated}, HelixBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_THAT(fit->warnings,
              testing::ElementsAre(HasSubstr("frames 14 and 15 show the same view")));

  Trajectory knocked = truth_;
  for (size_t k = 20; k < knocked.size(); ++k) {
    Camera camera = *Decompose(knocked[k]);
    camera.principal_u_px += 5;
    knocked[k] = Compose(camera);
  }
  fit = Calibrated({*object, knocked}, HelixBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_THAT(fit->warnings,
              testing::ElementsAre(HasSubstr("between frames 19 and 20 the balls' shadows jump")));
}

// As the published matrices of a real arm are: pixels that are 0.6 % higher than wide, rows and
// columns a milliradian off a right angle, and both other ones in each frame.
Trajectory WithOddPixels(const Trajectory& trajectory, double jitter) {
  Trajectory odd = trajectory;
  for (size_t k = 0; k < odd.size(); ++k) {
    Camera camera = *Decompose(odd[k]);
    camera.focal_v_px *= 0.997 + jitter * std::sin(1.7 * static_cast<double>(k));
    camera.skew_px = camera.focal_u_px * (4e-4 + jitter / 3 * std::cos(2.9 * double(k)));
    odd[k] = Compose(camera);
  }
  return odd;
}

TEST_F(GeometryFitTest, PixelsThatAreNotSquareAreFittedWhereTheBallsSaySo) {
  const auto object = phantom::MakeBeadPhantom(HelixBeads(), kWaterPerMm);
  for (const double jitter : {0.0, 3e-3}) {
    const Trajectory odd = WithOddPixels(truth_, jitter);
    const auto fit = Calibrated({*object, odd}, HelixBeads());
    ASSERT_TRUE(fit.ok()) << fit.status();
    const GeometryError error = ErrorOf(fit->matrices, odd);
    Print(*fit, error);
    EXPECT_EQ(fit->parameters, 11);
    EXPECT_EQ(fit->model, jitter > 0 ? GeometryModel::kFrames : GeometryModel::kArm);
    EXPECT_THAT(fit->warnings, IsEmpty());
    EXPECT_LT(error.reprojection_px, 0.03);
    EXPECT_LT(error.most_reprojection_px, 4 * fit->sigmas.point_px);
    EXPECT_LT(error.source_mm, 2 * fit->sigmas.source_along_mm);
    EXPECT_NEAR(fit->most_aspect, 0.003 + jitter, 1e-3);
  }
}

// One axis of the table is 1 % too long, or has a part of another: eleven parameters explain the
// shadows, as pixels that are not square or not rectangular, and the residuals say nothing. Across
// the axis of rotation the mean over the frames says nothing either.
TEST_F(GeometryFitTest, ATableThatIsStretchedOrShearedIsAskedFor) {
  const auto warnings = [&](auto change) {
    BeadTable table = HelixBeads();
    for (Bead& bead : table) change(bead.center);
    const auto fit = Fit(HelixBeads(), table);
    EXPECT_TRUE(fit.ok()) << fit.status();
    if (!fit.ok()) return std::string();
    EXPECT_EQ(fit->parameters, 11);
    return absl::StrJoin(fit->warnings, "\n");
  };
  EXPECT_THAT(warnings([](Vec3& c) { c.z *= 1.01; }),
              AllOf(HasSubstr("pixels' sides differ by 0.9"), HasSubstr("the right lengths"),
                    Not(HasSubstr("right angle"))));
  EXPECT_THAT(warnings([](Vec3& c) { c.x *= 1.01; }),
              AllOf(HasSubstr("pixels' sides differ by 0."), Not(HasSubstr("right angle"))));
  EXPECT_THAT(
      warnings([](Vec3& c) { c.x += 0.02 * c.z; }),
      AllOf(HasSubstr("off a right angle"), HasSubstr("sheared"), Not(HasSubstr("pixels' sides"))));
  EXPECT_EQ(warnings([](Vec3& c) { c.x += 0.003 * c.z; }), "");
}

TEST_F(GeometryFitTest, ABallOfAnotherSizeIsNamed) {
  for (const double real_mm : {1.5, 2.0}) {
    BeadTable real = HelixBeads();
    ASSERT_EQ(real[20].diameter_mm, 2.5);
    real[20].diameter_mm = real_mm;
    const auto fit = Fit(real, HelixBeads());
    ASSERT_TRUE(fit.ok()) << fit.status();
    ASSERT_THAT(fit->warnings, SizeIs(1)) << real_mm;
    EXPECT_THAT(fit->warnings[0], HasSubstr("ball 20 has a shadow of about")) << real_mm;
    EXPECT_NEAR(fit->balls[20].diameter_mm, real_mm, 0.1);
    EXPECT_LT(ErrorOf(fit->matrices, truth_).reprojection_px, 0.025);
  }
}

TEST_F(GeometryFitTest, FindsStackedRings) {
  const auto fit = Fit(RingBeads(), RingBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_LT(ErrorOf(fit->matrices, truth_).reprojection_px, 0.025);
}

TEST_F(GeometryFitTest, AMissingBallIsNamed) {
  BeadTable real = HelixBeads();
  real.erase(real.begin() + 41);
  const auto fit = Fit(real, HelixBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  ASSERT_THAT(fit->warnings, SizeIs(1));
  EXPECT_THAT(fit->warnings[0], HasSubstr("ball 41 is not seen"));
  EXPECT_LT(ErrorOf(fit->matrices, truth_).reprojection_px, 0.025);
}

TEST_F(GeometryFitTest, ABallThatIsElsewhereIsNamedAndLeftOut) {
  for (const double moved_mm : {0.4, 1.0, 7.0}) {
    BeadTable real = HelixBeads();
    real[70].center.z += moved_mm;
    const auto fit = Fit(real, HelixBeads());
    ASSERT_TRUE(fit.ok()) << fit.status();
    ASSERT_FALSE(fit->warnings.empty()) << moved_mm;
    EXPECT_THAT(fit->warnings[0], HasSubstr("ball 70")) << moved_mm;
    if (moved_mm < 2) {
      EXPECT_NEAR(fit->balls[70].offset.z, moved_mm, 0.05);
    }
    EXPECT_LT(ErrorOf(fit->matrices, truth_).reprojection_px, 0.025) << moved_mm;
  }
}

TEST_F(GeometryFitTest, ATableThatIsWrongInManyPlacesIsRefused) {
  BeadTable table = HelixBeads();
  for (size_t i = 3; i < table.size(); i += 9) table[i].center.z += i % 2 ? 0.8 : -0.8;
  EXPECT_THAT(Fit(HelixBeads(), table).status().message(),
              AllOf(HasSubstr("from where the table has it"), HasSubstr("legal is at most")));
}

TEST_F(GeometryFitTest, AnotherPhantomIsRefused) {
  EXPECT_THAT(Fit(RingBeads(), HelixBeads()).status().message(),
              AllOf(HasSubstr("frame 0"), HasSubstr("agree with the table")));
}

// The phantom need not stand straight, or in the middle; its own frame is that of the matrices.
TEST_F(GeometryFitTest, FindsAPhantomThatStandsAskew) {
  const double turn = 2.1, tilt = 0.06;
  const Vec3 shift{9, -12, 6};
  const auto placed = [&](Vec3 p) {
    const Vec3 tilted{p.x, std::cos(tilt) * p.y - std::sin(tilt) * p.z,
                      std::sin(tilt) * p.y + std::cos(tilt) * p.z};
    return Vec3{std::cos(turn) * tilted.x - std::sin(turn) * tilted.y,
                std::sin(turn) * tilted.x + std::cos(turn) * tilted.y, tilted.z} +
           shift;
  };
  BeadTable real = HelixBeads();
  for (Bead& bead : real) bead.center = placed(bead.center);
  const auto fit = Fit(real, HelixBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  for (size_t k = 0; k < truth_.size(); ++k) {
    for (const Vec3 p : {Vec3{30, 20, 50}, Vec3{-60, 0, -70}, Vec3{0, 50, 0}}) {
      const Projected a = fit->matrices[k].Project(p), b = truth_[k].Project(placed(p));
      EXPECT_NEAR(a.u(), b.u(), 0.1);
      EXPECT_NEAR(a.v(), b.v(), 0.1);
    }
  }
  // In the frame of the orbit the phantom's pose is gone, but for the turn about z.
  const auto orbit = Fit(real, HelixBeads(), {.world = GeometryWorld::kOrbit});
  ASSERT_TRUE(orbit.ok()) << orbit.status();
  for (size_t k = 0; k < truth_.size(); ++k) {
    const Vec3 a = Decompose(orbit->matrices[k])->source, b = Decompose(truth_[k])->source;
    EXPECT_NEAR(a.z, b.z, 12);
    EXPECT_NEAR(Norm(a), Norm(b), 8);
  }
}

TEST_F(GeometryFitTest, FindsThePhantomOnATurnedAndMirroredDetector) {
  for (const bool mirrored : {false, true}) {
    Detector detector = kBeadDetector;
    std::swap(detector.columns, detector.rows);
    Trajectory turned;
    for (const ProjectionMatrix& p : truth_) {
      // u' = v; v' = u or, turned without a mirror, the last row less u.
      ProjectionMatrix q;
      for (int c = 0; c < 4; ++c) {
        q.m[c] = p(1, c);
        q.m[4 + c] = mirrored ? p(0, c) : (kBeadDetector.columns - 1) * p(2, c) - p(0, c);
        q.m[8 + c] = p(2, c);
      }
      turned.push_back(q);
    }
    const auto object = phantom::MakeBeadPhantom(HelixBeads(), kWaterPerMm);
    const auto fit = Calibrated({*object, turned, detector}, HelixBeads());
    ASSERT_TRUE(fit.ok()) << fit.status();
    EXPECT_LT(ErrorOf(fit->matrices, turned).reprojection_px, 0.025);
  }
}

// A scan whose detector shows half of the phantom is refused, or, where enough of it is left, told
// to be as uncertain as it is.
TEST_F(GeometryFitTest, TruncatedFramesAreRefusedOrRight) {
  const auto object = phantom::MakeBeadPhantom(HelixBeads(), kWaterPerMm);
  int refused = 0;
  for (const int columns : {420, 330, 260, 200}) {
    Detector detector = kBeadDetector;
    detector.columns = columns;
    const auto fit = Calibrated({*object, truth_, detector}, HelixBeads());
    if (!fit.ok()) {
      EXPECT_THAT(fit.status().message(), HasSubstr("legal is")) << columns;
      ++refused;
      continue;
    }
    EXPECT_LT(ErrorOf(fit->matrices, truth_).most_reprojection_px, 5 * fit->sigmas.point_px)
        << columns;
  }
  EXPECT_GT(refused, 0);
}

// A rod of steel beside the phantom covers balls in some frames.
TEST_F(GeometryFitTest, MetalBesideThePhantomDoesNotBendTheMatrices) {
  const auto object = phantom::MakeBeadPhantom(HelixBeads(), kWaterPerMm);
  const auto rods = phantom::MakeBeadPhantom(
      [] {
        BeadTable balls;
        for (int i = 0; i < 30; ++i) balls.push_back({{85, 5.0 * (i % 2), 5.2 * i - 80}, 5});
        return balls;
      }(),
      kWaterPerMm);
  ThreadPool pool(2);
  const Shape3 shape{1, kBeadDetector.rows, kBeadDetector.columns};
  std::vector<float> metal(shape.count());
  const auto fit = Calibrated({.object = *object,
                               .truth = truth_,
                               .disturb =
                                   [&](int frame, std::vector<float>& line_integrals) {
                                     phantom::ProjectView(*rods, truth_[frame], kBeadDetector, 1,
                                                          pool, {metal.data(), shape});
                                     for (size_t i = 0; i < metal.size(); ++i)
                                       line_integrals[i] += metal[i];
                                   }},
                              HelixBeads());
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_LT(ErrorOf(fit->matrices, truth_).most_reprojection_px, 0.2);
}

TEST_F(GeometryFitTest, AFrameWithoutThePhantomIsNamed) {
  const auto object = phantom::MakeBeadPhantom(HelixBeads(), kWaterPerMm);
  const auto fit = Calibrated({.object = *object,
                               .truth = truth_,
                               .disturb =
                                   [](int frame, std::vector<float>& line_integrals) {
                                     if (frame == 11) std::ranges::fill(line_integrals, 0.5F);
                                   }},
                              HelixBeads());
  EXPECT_THAT(fit.status().message(), HasSubstr("frame 11 (the first of 1"));
}

TEST(GeometrySweep, SaysWhatItCannotMeasureWith) {
  const auto error = [](const BeadTable& table, const Detector& detector, double i0, int frames) {
    return std::string(GeometrySweep::Make(table, detector, i0, frames).status().message());
  };
  EXPECT_EQ(error(HelixBeads(), kBeadDetector, 60000, 10), "");
  EXPECT_THAT(error(HelixBeads(), kBeadDetector, 60000, 9), HasSubstr("legal is 10 to 10000"));
  EXPECT_THAT(error(HelixBeads(), kBeadDetector, NAN, 10), HasSubstr("i0_counts is nan"));
  EXPECT_THAT(error({}, kBeadDetector, 60000, 10), HasSubstr("0 balls"));
  Detector coarse = kBeadDetector;
  coarse.pitch_u_mm = coarse.pitch_v_mm = 2;
  EXPECT_THAT(error(HelixBeads(), coarse, 60000, 10), HasSubstr("pixels across"));
}

}  // namespace
}  // namespace isocenter::calibrate
