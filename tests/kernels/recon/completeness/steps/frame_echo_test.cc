#include "kernels/recon/completeness/steps/frame_echo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Told(const EllipseScan& scan) {
  FrameEcho echo(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) echo.Add(view, scan.Rows(view));
  return echo.Text().value_or("");
}

/// Each frame has `share` of what was sent before it.
EllipseScan Recursive(EllipseScan scan, double share) {
  std::vector<double> before(scan.frames[0].begin(), scan.frames[0].end());
  for (auto& frame : scan.frames) {
    for (size_t i = 0; i < frame.size(); ++i) {
      before[i] = share * before[i] + (1 - share) * frame[i];
      frame[i] = static_cast<uint16_t>(std::lround(before[i]));
    }
  }
  return scan;
}

TEST(FrameEcho, OfAConsoleThatAveragesFramesIsTold) {
  for (const double noise : {0.003, 0.02}) {
    for (const double share : {0.3, 0.5, 0.75}) {
      EXPECT_THAT(Told(Recursive(EllipseScan(120, 200, {}, noise), share)),
                  HasSubstr("averages them against noise"))
          << noise << " " << share;
    }
  }
  EllipseScan scan(120, 200, {}, 0.01);
  for (int view = scan.views() - 1; view > 0; --view) {
    for (size_t i = 0; i < scan.frames[view].size(); ++i) {
      scan.frames[view][i] = (scan.frames[view][i] + scan.frames[view - 1][i]) / 2;
    }
  }
  EXPECT_THAT(Told(scan), HasSubstr("the same by 5"));
}

TEST(FrameEcho, OfFramesOfTheirOwnThereIsNone) {
  for (const EllipticBody& body :
       {EllipticBody{}, EllipticBody{.a_mm = 110, .b_mm = 108}, EllipticBody{.a_mm = 20, .b_mm = 9},
        EllipticBody{.a_mm = 200, .b_mm = 150}}) {
    for (const double noise : {0.0, 0.001, 0.01, 0.05}) {
      for (const int views : {40, 120, 400}) {
        EXPECT_THAT(Told(EllipseScan(views, 200, body, noise)), IsEmpty())
            << body.a_mm << " " << noise << " " << views;
      }
    }
  }
}

TEST(FrameEcho, OfLagIsNoAverage) {
  EXPECT_THAT(Told(Recursive(EllipseScan(120, 200, {}, 0.01), 0.1)), IsEmpty());
}

}  // namespace
}  // namespace isocenter::recon
