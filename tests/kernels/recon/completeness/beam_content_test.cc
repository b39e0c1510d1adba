#include "kernels/recon/completeness/beam_content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

std::string Said(const EllipseScan& scan) {
  BeamContent content(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) content.Add(view, scan.Rows(view), 0);
  return content.Text().value_or("");
}

/// The scan's line integrals, changed.
std::string SaidOfLines(const EllipseScan& scan, const std::function<float(double)>& change) {
  Acquisition acquisition = scan.acquisition;
  acquisition.pixel_type = PixelType::kFloat32LineIntegrals;
  BeamContent content(acquisition);
  const Detector& detector = acquisition.detector;
  for (int view = 0; view < scan.views(); ++view) {
    std::vector<float> lines;
    for (const uint16_t count : scan.frames[view]) {
      lines.push_back(change(std::log(50000.0 / std::max<int>(count, 1))));
    }
    std::vector<FrameRow> rows;
    for (int v = 0; v < detector.rows; ++v) {
      rows.push_back(RowOf(std::as_bytes(std::span(lines)), v, detector.rows));
    }
    content.Add(view, rows, 0);
  }
  return content.Text().value_or("");
}

TEST(BeamContent, AnObjectIsSeen) {
  EXPECT_EQ(Said(EllipseScan(40, 200, {}, 0.02)), "");
  EXPECT_EQ(SaidOfLines(EllipseScan(40, 200, {}, 0.02), [](double line) { return line; }), "");
  // A rod of 6 mm in few pixels.
  EXPECT_EQ(Said(EllipseScan(40, 200, {.a_mm = 6, .b_mm = 6}, 0.02)), "");
}

TEST(BeamContent, AnEmptyBeamIsToldOf) {
  const EllipseScan empty(40, 200, {.a_mm = 1e-3, .b_mm = 1e-3}, 0.02);
  EXPECT_THAT(Said(empty), HasSubstr("no object is in the beam: in none of 20 views"));
  EXPECT_THAT(SaidOfLines(empty, [](double line) { return line; }), HasSubstr("no object"));
  // Of half the dose, which is not told.
  EllipseScan dark = empty;
  for (auto& frame : dark.frames) {
    for (uint16_t& count : frame) count /= 2;
  }
  EXPECT_THAT(Said(dark), HasSubstr("no object"));
}

TEST(BeamContent, LogarithmsOfTheWrongSignAreToldOf) {
  const EllipseScan scan(40, 200, {}, 0.02);
  EXPECT_THAT(SaidOfLines(scan, [](double line) { return -line; }),
              HasSubstr("which is positive behind an object: is the sign that of ln(I / I0)?"));
}

TEST(BeamContent, LineIntegralsOfAnotherUnitAreToldOf) {
  const EllipseScan scan(40, 200, {}, 0.02);
  EXPECT_THAT(SaidOfLines(scan, [](double line) { return 100 * line; }),
              HasSubstr("are beyond 12 or not finite"));
  // All of them: counts, and lines that are too long by what is constant.
  EXPECT_THAT(SaidOfLines(scan, [](double line) { return 50000 * std::exp(-line); }),
              HasSubstr("100 % of the line integrals are beyond 12 or not finite"));
  EXPECT_THAT(SaidOfLines(scan, [](double line) { return 13 + line; }), HasSubstr("100 % of"));
  // Metal in the shadow of which nothing arrives.
  int pixel = 0;
  EXPECT_EQ(SaidOfLines(scan, [&](double line) { return pixel++ % 64 == 0 ? 30 : line; }), "");
}

}  // namespace
}  // namespace isocenter::recon
