#include "kernels/recon/completeness/cut_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

constexpr int kViews = 40, kColumns = 64, kRows = 8;

Acquisition Scan(PixelType type, double offset_px = 0) {
  Acquisition scan{
      .detector = {.columns = kColumns, .rows = kRows, .pitch_u_mm = 4, .pitch_v_mm = 4},
      .pixel_type = type,
      .i0_counts = 50000};
  scan.trajectory = *MakeCircularOrbit({.views = kViews,
                                        .source_to_isocenter_mm = 750,
                                        .source_to_detector_mm = 1200,
                                        .arc = 2 * kPi * (kViews - 1) / kViews,
                                        .offset_u_px = offset_px},
                                       scan.detector);
  return scan;
}

/// Line integral of a pixel.
using Lines = std::function<double(int view, int v, int u)>;

/// Which view is the one with which the scan is cut; -1: none.
int CutAt(const Acquisition& scan, const Lines& lines, double dose = 0, CutRows* told = nullptr) {
  CutRows own(scan);
  CutRows& cut = told == nullptr ? own : *told;
  int found = -1;
  for (int view = 0; view < kViews; ++view) {
    std::vector<float> values(kRows * kColumns);
    std::vector<uint16_t> counts(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double line =
          lines(view, static_cast<int>(i / kColumns), static_cast<int>(i % kColumns));
      values[i] = static_cast<float>(line);
      counts[i] = static_cast<uint16_t>(
          std::lround(scan.i0_counts * (dose > 0 ? dose : 1) * std::exp(-line)));
    }
    const bool as_counts = scan.pixel_type == PixelType::kUint16Counts;
    const auto bytes =
        as_counts ? std::as_bytes(std::span(counts)) : std::as_bytes(std::span(values));
    const size_t row_bytes = bytes.size() / kRows;
    std::vector<CutRows::Row> rows;
    for (int v = 0; v < kRows; ++v) rows.push_back({v, bytes.subspan(v * row_bytes, row_bytes)});
    if (cut.Add(rows, dose)) {
      EXPECT_EQ(found, -1) << "said twice";
      found = view;
    }
  }
  return found;
}

double AtFirst(int, int, int u) { return u < 8 ? 1.5 : 0; }
double AtLast(int, int, int u) { return u >= kColumns - 8 ? 1.5 : 0; }

TEST(CutRows, EitherSideIsEnough) {
  for (const PixelType type : {PixelType::kUint16Counts, PixelType::kFloat32LineIntegrals}) {
    const Acquisition scan = Scan(type);
    EXPECT_EQ(CutAt(scan, AtFirst), 4);  // the fifth of 40 views is more than a tenth
    EXPECT_EQ(CutAt(scan, AtLast), 4);
    EXPECT_EQ(CutAt(scan, [](int, int, int u) { return u < 8 || u >= kColumns - 8 ? 0.45 : 5; }),
              -1);
  }
}

TEST(CutRows, SomeRowsOrSomeViewsAreNot) {
  const Acquisition scan = Scan(PixelType::kUint16Counts);
  const auto rows = [](int most) {
    return [most](int, int v, int) { return v < most ? 2.0 : 0.0; };
  };
  EXPECT_EQ(CutAt(scan, rows(2)), -1);
  EXPECT_EQ(CutAt(scan, rows(3)), 4);
  const auto views = [](int most) {
    return [most](int view, int, int) { return view < most ? 2.0 : 0.0; };
  };
  EXPECT_EQ(CutAt(scan, views(4)), -1);
  EXPECT_EQ(CutAt(scan, views(5)), 4);
}

// The narrow side of a displaced detector ends inside of everything that is scanned.
TEST(CutRows, ADisplacedDetectorIsAskedAtItsWideSide) {
  for (const double offset : {-15.0, 15.0}) {
    const Acquisition scan = Scan(PixelType::kFloat32LineIntegrals, offset);
    const int first = CutAt(scan, AtFirst), last = CutAt(scan, AtLast);
    EXPECT_EQ(std::min(first, last), -1) << offset;
    EXPECT_EQ(std::max(first, last), 4) << offset;
  }
}

TEST(CutRows, TheDoseThatIsToldAndTheCalibrationsAirCount) {
  Acquisition scan = Scan(PixelType::kUint16Counts);
  const auto thin = [](int, int, int) { return 0.3; };
  EXPECT_EQ(CutAt(scan, thin, 0.1), -1);
  auto calibration = std::make_shared<ops::Calibration>();
  calibration->response =
      ops::PixelResponse{.offset_counts = std::vector<float>(kRows * kColumns, 100.f),
                         .air_counts = std::vector<float>(kRows * kColumns, 20000.f)};
  scan.calibration = calibration;  // air is darker than i0 says: what is left is even less
  EXPECT_EQ(CutAt(scan, [](int, int, int) { return 1.3; }), -1);
  EXPECT_EQ(CutAt(scan, [](int, int, int) { return 1.5; }), 4);
}

TEST(CutRows, PixelsThatSayNothingAreNoEdge) {
  EXPECT_EQ(CutAt(Scan(PixelType::kFloat32LineIntegrals),
                  [](int, int, int) { return std::numeric_limits<double>::quiet_NaN(); }),
            -1);
  Acquisition scan = Scan(PixelType::kUint16Counts);
  EXPECT_EQ(CutAt(scan, [](int, int, int u) { return u % 2 == 0 ? 30 : 0.1; }), -1);
  // All of them dead: that is said elsewhere.
  EXPECT_EQ(CutAt(scan, [](int, int, int) { return 30; }), -1);
}

TEST(CutRows, AirOfAnotherDoseIsNoWidePatient) {
  const Acquisition scan = Scan(PixelType::kUint16Counts);
  CutRows half(scan);
  EXPECT_NE(CutAt(
                scan, [](int, int, int u) { return std::log(2) + (u > 20 && u < 44 ? 2.0 : 0.0); },
                0, &half),
            -1);
  EXPECT_TRUE(half.shows_air());
  EXPECT_THAT(half.Text("; advice"), HasSubstr("that is air, darker than declared"));
  CutRows wide(scan);
  CutAt(
      scan,
      [](int, int, int u) {
        return 0.02 * 2 * std::sqrt(200.0 * 200 - 6 * (u - 31.5) * (u - 31.5));
      },
      0, &wide);
  EXPECT_FALSE(wide.shows_air());
  EXPECT_THAT(wide.Text("; advice"), HasSubstr("exchanged; advice"));
}

TEST(CutRows, SaysWhatWasSeenAndWhatIsExpected) {
  const Acquisition scan = Scan(PixelType::kFloat32LineIntegrals);
  CutRows cut(scan);
  CutAt(scan, AtFirst, 0, &cut);
  EXPECT_THAT(cut.Text(), HasSubstr("line integrals of up to 1.5; expected are at most 0.5"));
}

}  // namespace
}  // namespace isocenter::recon
