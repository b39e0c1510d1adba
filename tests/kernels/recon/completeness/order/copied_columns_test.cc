#include "kernels/recon/completeness/order/copied_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

std::string Told(const EllipseScan& scan) {
  CopiedColumns copies(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) copies.Add(view, scan.Rows(view));
  return copies.Text().value_or("");
}

/// Columns [first, first + count) get what is at those from `from` on, each its own or all the
/// same.
void Copy(EllipseScan& scan, int first, int count, int from, bool each) {
  for (auto& frame : scan.frames) {
    for (int v = 0; v < 16; ++v) {
      for (int i = 0; i < count; ++i) {
        frame[v * 256 + first + i] = frame[v * 256 + from + (each ? i : 0)];
      }
    }
  }
}

TEST(CopiedColumns, AtTheEdgeAreTold) {
  for (const bool each : {false, true}) {
    EllipseScan scan(120, 200, {}, 0.01);
    Copy(scan, 0, 8, 8, each);
    EXPECT_THAT(Told(scan), HasSubstr("8 columns")) << each;
    Copy(scan, 248, 8, 240, each);
    EXPECT_THAT(Told(scan), HasSubstr("the very values of those")) << each;
  }
}

TEST(CopiedColumns, SingleOnesAreToldFromFourOn) {
  EllipseScan scan(120, 200, {}, 0.01);
  for (const int u : {20, 90, 200}) Copy(scan, u, 1, u - 1, true);
  EXPECT_EQ(Told(scan), "") << "lines that firmware covers";
  Copy(scan, 150, 1, 149, true);
  EXPECT_THAT(Told(scan), HasSubstr("4 columns (from 20 to 200)"));
}

TEST(CopiedColumns, OfAGoodScanAreNone) {
  const EllipticBody round{.a_mm = 80, .b_mm = 80, .x_mm = 0, .y_mm = 0};
  for (const double noise : {0.0, 0.01}) {
    EXPECT_EQ(Told(EllipseScan(120, 200, {}, noise)), "");
    EXPECT_EQ(Told(EllipseScan(120, 360, {}, noise, 60)), "") << "displaced detector";
    // Without noise each column has a mirror image.
    EXPECT_EQ(Told(EllipseScan(120, 200, round, noise)), "");
    EXPECT_EQ(Told(EllipseScan(120, 200, {.a_mm = 0.5, .b_mm = 0.5}, noise)), "") << "a wire";
  }
}

TEST(CopiedColumns, ThatHardlyChangeAreNotLookedAt) {
  EllipseScan scan(120, 200, {}, 0.01);
  for (auto& frame : scan.frames) {
    for (int v = 0; v < 16; ++v) {
      for (int u = 0; u < 20; ++u) frame[v * 256 + u] = 65535;
    }
  }
  EXPECT_EQ(Told(scan), "");
}

}  // namespace
}  // namespace isocenter::recon
