// Glare that kernels/physics plants is taken off: exponentials, that Gaussians were fitted to.
#include "kernels/physics/glare.h"

#include "tests/kernels/cpu/corrections/corrected.h"

namespace isocenter::cpu {
namespace {

constexpr Detector kDetector{.columns = 800, .rows = 640, .pitch_u_mm = 0.4, .pitch_v_mm = 0.4};

Frame WithGlare(const Frame& frame, double share, double length_mm) {
  ThreadPool pool(2);
  Frame glare = frame;
  physics::AddGlare(share, length_mm, kDetector, pool, glare);
  return glare;
}

Frame WithoutGlare(const Frame& frame, const std::vector<ops::SpreadTerm>& terms) {
  ops::Calibration calibration;
  calibration.detector = kDetector;
  calibration.glare = terms;
  EXPECT_TRUE(ops::CheckCalibration(calibration).ok());
  return Corrected(kDetector, frame, [&](ops::Session& session, ops::ProjectionStack& stack) {
    const auto operation = (*Backends().corrections.glare.Find("cpu"))(session, calibration);
    return operation.ok() ? (*operation)->Run(1, stack) : operation.status();
  });
}

// The least squares of the transforms, 1 / ((1 + x²)(1 + y²)) of the product of two exponentials
// and exp(-σ²(x² + y²)/2) of Gaussians, over frequencies of 0 to 20: 1.6 % of the first are left,
// most of it along the diagonals, where no sum of round Gaussians follows.
std::vector<ops::SpreadTerm> FittedTerms(double share, double length_mm) {
  return {{0.071 * share, 0.3 * length_mm},
          {0.158 * share, 0.6 * length_mm},
          {0.402 * share, 1.1 * length_mm},
          {0.369 * share, 1.9 * length_mm}};
}

TEST(Glare, OfExponentialsIsReducedByFittedGaussians) {
  const Frame truth = BehindWater(kDetector);
  for (const double length_mm : {15.0, 30.0}) {
    const Frame seen = WithGlare(truth, 0.15, length_mm);
    const LineError before = ErrorOf(seen, truth);
    const LineError after = ErrorOf(WithoutGlare(seen, FittedTerms(0.15, length_mm)), truth);
    EXPECT_GT(before.rms, 0.1);
    EXPECT_LT(after.rms, before.rms / 18) << length_mm;
    EXPECT_LT(after.largest, before.largest / 10) << length_mm;
  }
}

// What is uniform far from all edges stays so, whatever spreads.
TEST(Glare, LeavesTheMiddleOfAnEmptyBeam) {
  const Frame empty(kDetector.rows * kDetector.columns, 1.0);
  const Frame got = WithoutGlare(WithGlare(empty, 0.2, 8), FittedTerms(0.2, 8));
  EXPECT_NEAR(got[320 * 800 + 400], 1, 1e-4);
}

// A term that is too narrow for blocks would sharpen edges: it is left out.
TEST(Glare, NarrowTermsChangeNothing) {
  const Frame truth = BehindWater(kDetector);
  const Frame got = WithoutGlare(truth, {{0.3, 3.6}});  // d/√3 is 3.7 mm
  EXPECT_LT(ErrorOf(got, truth).largest, 1e-6);
}

}  // namespace
}  // namespace isocenter::cpu
