#include "kernels/recon/completeness/order/row_length.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRowsThatCome = 5;  // beside each other, of each frame

std::string Told(const EllipseScan& scan) {
  RowLength length(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) {
    const std::vector<FrameRow> rows = scan.Rows(view);
    const size_t first = rows.size() / 2 - kRowsThatCome / 2;
    length.Add(view, std::span(rows).subspan(first, kRowsThatCome));
  }
  return length.Text().value_or("");
}

/// Of 256 columns and 160 rows, z being the same everywhere.
EllipseScan Panel(const EllipticBody& body, double noise) {
  EllipseScan scan(60, 200, body, noise);
  for (std::vector<uint16_t>& frame : scan.frames) {
    const std::vector<uint16_t> rows = frame;
    for (int i = 1; i < 10; ++i) frame.insert(frame.end(), rows.begin(), rows.end());
  }
  scan.acquisition.detector.rows *= 10;
  return scan;
}

EllipseScan Exchanged(EllipseScan scan) {
  std::swap(scan.acquisition.detector.columns, scan.acquisition.detector.rows);
  return scan;
}

TEST(RowLength, ColumnsAndRowsThatAreExchangedAreTold) {
  for (const double noise : {0.0, 0.01, 0.03}) {
    EXPECT_THAT(Told(Exchanged(Panel({}, noise))),
                AllOf(HasSubstr("pixels 256 apart differ"), HasSubstr("are columns and rows")));
  }
}

TEST(RowLength, FramesAsTheyAreSayNothing) {
  for (const EllipticBody& body : {EllipticBody{}, EllipticBody{.a_mm = 190, .b_mm = 110}}) {
    for (const double noise : {0.0, 0.01, 0.05}) {
      EXPECT_THAT(Told(Panel(body, noise)), IsEmpty());
    }
  }
}

TEST(RowLength, AirSaysNothing) {
  constexpr EllipticBody kNone{.a_mm = 1e-6, .b_mm = 1e-6};
  for (const double noise : {0.0, 0.02}) {
    EXPECT_THAT(Told(Exchanged(Panel(kNone, noise))), IsEmpty());
  }
}

}  // namespace
}  // namespace isocenter::recon
