#include "kernels/recon/completeness/steps/frame_jitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

std::string Told(const EllipseScan& scan) {
  FrameJitter jitter(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) jitter.Add(view, scan.Rows(view));
  return jitter.Text().value_or("");
}

/// Rows of each frame begin up to so many columns early or late; how many for each.
std::vector<int> Jitter(EllipseScan& scan, int most) {
  std::mt19937 random(3);
  std::vector<int> shifts;
  for (auto& frame : scan.frames) {
    const int shift = static_cast<int>(random() % (2 * most + 1)) - most;
    for (int v = 0; v < 16; ++v) {
      const auto begin = frame.begin() + v * 256;
      std::rotate(begin, begin + (256 - shift) % 256, begin + 256);
    }
    shifts.push_back(shift);
  }
  return shifts;
}

TEST(FrameJitter, OfAPixelAndMoreIsTold) {
  for (const int most : {1, 2, 4}) {
    for (const double noise : {0.0, 0.02}) {
      EllipseScan scan(120, 200, {}, noise);
      Jitter(scan, most);
      EXPECT_THAT(Told(scan), HasSubstr("frames lie to and fro along their rows")) << most;
    }
  }
}

TEST(FrameJitter, ThatTheMatricesTellIsAnArmThatIsMeasured) {
  EllipseScan scan(120, 200, {}, 0.01);
  const std::vector<int> shifts = Jitter(scan, 2);
  for (int view = 0; view < scan.views(); ++view) {
    ProjectionMatrix& matrix = scan.acquisition.trajectory[view];
    for (int i = 0; i < 4; ++i) matrix.m[i] += shifts[view] * matrix.m[8 + i];
  }
  EXPECT_EQ(Told(scan), "");
}

TEST(FrameJitter, OfAGoodScanIsNone) {
  for (const EllipticBody& body :
       {EllipticBody{}, EllipticBody{.a_mm = 190, .b_mm = 110}, EllipticBody{.x_mm = 120},
        EllipticBody{.a_mm = 0.5, .b_mm = 0.5, .x_mm = 60},
        EllipticBody{.a_mm = 100, .b_mm = 3, .y_mm = 20}}) {
    for (const double noise : {0.0, 0.01, 0.05}) {
      EXPECT_EQ(Told(EllipseScan(60, 200, body, noise)), "") << body.a_mm;
      EXPECT_EQ(Told(EllipseScan(120, 360, body, noise, 60)), "") << body.a_mm;
    }
  }
}

}  // namespace
}  // namespace isocenter::recon
