#include "kernels/recon/completeness/silent_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using testing::HasSubstr;

/// What is said of a scan whose row has the count in each view.
std::string Said(const Acquisition& acquisition, const std::function<int(int view, int v)>& count) {
  SilentRows rows(acquisition);
  for (int view = 0; view < 40; ++view) {
    for (int v = rows.first_row(view); v < acquisition.detector.rows; v += SilentRows::kStep) {
      const std::vector<uint16_t> pixels(acquisition.detector.columns,
                                         static_cast<uint16_t>(count(view, v)));
      rows.Add({v, std::as_bytes(std::span(pixels))});
    }
  }
  return rows.Text().value_or("");
}

Acquisition Counts() { return EllipseScan(4, 360, {}, 0).acquisition; }

TEST(SilentRows, ADeadRowIsFoundWhereverItIs) {
  const Acquisition acquisition = Counts();
  const int rows = acquisition.detector.rows;
  EXPECT_EQ(Said(acquisition, [](int, int) { return 900; }), "");
  for (int dead = 0; dead < rows; ++dead) {
    EXPECT_THAT(Said(acquisition, [&](int, int v) { return v == dead ? 0 : 900; }),
                HasSubstr(absl::StrCat("1 of ", rows,
                                       " rows counts nothing in any frame that was "
                                       "looked at (row ",
                                       dead, "): ")));
  }
}

TEST(SilentRows, WhatComesBackIsNoDeadRow) {
  EXPECT_EQ(Said(Counts(), [](int view, int v) { return v == 3 && view < 30 ? 0 : 900; }), "");
  EXPECT_EQ(Said(Counts(), [](int, int) { return 0; }), "") << "not exposed";
}

TEST(SilentRows, DefectsThatTheCalibrationKnowsAreNotTold) {
  Acquisition acquisition = Counts();
  auto calibration = std::make_shared<ops::Calibration>();
  const int columns = acquisition.detector.columns;
  for (int u = 0; u < columns; ++u) calibration->defects.pixels.push_back(3 * columns + u);
  acquisition.calibration = calibration;
  EXPECT_EQ(Said(acquisition, [](int, int v) { return v == 3 ? 0 : 900; }), "");
  EXPECT_NE(Said(acquisition, [](int, int v) { return v == 4 ? 0 : 900; }), "");
}

}  // namespace
}  // namespace isocenter::recon
