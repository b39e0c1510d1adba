#include "kernels/recon/completeness/repeated_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/kernels/recon/completeness/ellipse_scan.h"

namespace isocenter::recon {
namespace {

using ::testing::HasSubstr;

constexpr EllipticBody kRound = {.a_mm = 60, .b_mm = 60, .x_mm = 0, .y_mm = 0};

int Copies(const EllipseScan& scan, std::string* text = nullptr) {
  RepeatedFrames repeated(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) repeated.Add(view, scan.Rows(view));
  if (text != nullptr) *text = repeated.Text();
  return repeated.copies();
}

void Freeze(EllipseScan& scan, int from, int to) {
  for (int view = from; view < to; ++view) scan.frames[view] = scan.frames[from - 1];
}

TEST(RepeatedFrames, AreCounted) {
  for (const double noise : {0.0, 0.02}) {
    EllipseScan scan(40, 200, {}, noise);
    EXPECT_EQ(Copies(scan), 0);
    Freeze(scan, 10, 17);
    std::string text;
    EXPECT_EQ(Copies(scan, &text), 7) << noise;
    EXPECT_THAT(text, HasSubstr("7 of 40 frames, of which the first is frame 10,"));
  }
}

TEST(RepeatedFrames, AreFoundInAnyOrderOfViews) {
  EllipseScan scan(40, 200, {}, 0.02);
  Freeze(scan, 10, 13);
  RepeatedFrames repeated(scan.acquisition);
  for (int step = 0; step < 40; ++step) {
    const int view = step * 7 % 40;
    repeated.Add(view, scan.Rows(view));
  }
  EXPECT_EQ(repeated.copies(), 3);
  EXPECT_EQ(repeated.first_copy(), 10);
}

TEST(RepeatedFrames, AWholeScanOfOneFrameIsSeenByItsNoise) {
  EllipseScan scan(20, 200, kRound, 0.02);
  Freeze(scan, 1, 20);
  EXPECT_EQ(Copies(scan), 19);
}

TEST(RepeatedFrames, WhatLooksAlikeFromEverywhereIsNoCopyWithoutNoise) {
  EllipseScan scan(20, 200, kRound, 0);
  Freeze(scan, 1, 20);
  EXPECT_EQ(Copies(scan), 0);
  // Here and there a pixel is rounded the other way.
  scan.frames[9][300] += 1;
  EXPECT_EQ(Copies(scan), 0);
}

TEST(RepeatedFrames, AWholeScanOfOneFrameIsSeenWithoutNoiseByItsMirrorImage) {
  for (const double offset_px : {0.0, 30.3}) {
    // Also on a detector to one side, between two columns.
    EllipseScan scan(20, 200, {}, 0, offset_px);
    Freeze(scan, 1, 20);
    std::string text;
    EXPECT_EQ(Copies(scan, &text), 19) << offset_px;
    EXPECT_THAT(text, HasSubstr("19 of 20 frames, of which the first is frame 1,"));
    EllipseScan round(20, 200, kRound, 0, offset_px);
    Freeze(round, 1, 20);
    EXPECT_EQ(Copies(round), 0) << offset_px;
  }
}

/// How many of 20 frames of line integrals are copies: of a round body, where `insert` of 10 mm
/// lies at its side, all as the first.
int CopiesOfLines(double insert, double offset_px) {
  EllipseScan scan(20, 200, kRound, 0, offset_px);
  scan.acquisition.pixel_type = PixelType::kFloat32LineIntegrals;
  const int columns = scan.acquisition.detector.columns, rows = scan.acquisition.detector.rows;
  const ProjectionMatrix& matrix = scan.acquisition.trajectory[0];
  std::vector<float> frame(columns * rows);
  for (int at = 0; at < columns * rows; ++at) {
    const double small =
        EllipseScan::Line(matrix, {.a_mm = 10, .b_mm = 10, .x_mm = 0, .y_mm = 25}, at % columns);
    frame[at] =
        static_cast<float>(EllipseScan::Line(matrix, kRound, at % columns) + insert * small);
  }
  RepeatedFrames repeated(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) {
    std::vector<FrameRow> sampled;
    for (int v = 0; v < rows; ++v) {
      sampled.push_back(RowOf(std::as_bytes(std::span(frame)), v, rows));
    }
    repeated.Add(view, sampled);
  }
  return repeated.copies();
}

TEST(RepeatedFrames, OfLineIntegralsWithoutNoiseASmallInsertOnOneSideIsEnough) {
  EXPECT_EQ(CopiesOfLines(0.05, 0), 19);
  EXPECT_EQ(CopiesOfLines(0.05, 30.5), 19);
  for (const double offset_px : {0.0, 30.5, 30.3}) {
    EXPECT_EQ(CopiesOfLines(0, offset_px), 0) << offset_px;
  }
}

TEST(RepeatedFrames, AnArmThatStandsStillMayRepeat) {
  EllipseScan scan(20, 200, {}, 0);
  Freeze(scan, 5, 8);
  for (int view = 5; view < 8; ++view) {
    scan.acquisition.trajectory[view] = scan.acquisition.trajectory[4];
  }
  EXPECT_EQ(Copies(scan), 0);
}

// A buffer that goes round, or half of a sweep that is sent again.
TEST(RepeatedFrames, CopiesOfFramesFurtherAwayAreSeenByTheirNoise) {
  EllipseScan scan(40, 360, {}, 0.02);
  std::copy_n(scan.frames.begin(), 20, scan.frames.begin() + 20);
  RepeatedFrames repeated(scan.acquisition);
  for (int view = 0; view < scan.views(); ++view) {
    EXPECT_EQ(repeated.Add(view, scan.Rows(view)), view >= 20) << view;
  }
  EXPECT_THAT(repeated.TextOf(39), HasSubstr("frame 39 has the pixels of frame 19,"));
  EXPECT_THAT(repeated.Text(),
              HasSubstr("20 of 40 frames, of which the first is frame 20, have the pixels of "
                        "another frame"));
}

TEST(RepeatedFrames, FramesOfTheSameObjectFromOppositeSidesAreNoCopiesWithoutNoise) {
  EllipseScan scan(40, 360, {.a_mm = 80, .b_mm = 50, .x_mm = 0, .y_mm = 0}, 0);
  std::copy_n(scan.frames.begin(), 20, scan.frames.begin() + 20);
  EXPECT_EQ(Copies(scan), 0);
}

// Two turns of a volume with texture that is projected without noise; matrices but for rounding.
TEST(RepeatedFrames, AFurtherTurnMayRepeatTheFirst) {
  EllipseScan scan(20, 342, {}, 0.02);
  const EllipseScan later(40, 702, {}, 0);
  scan.acquisition.trajectory = later.acquisition.trajectory;
  for (int view = 0; view < 20; ++view) scan.frames.push_back(scan.frames[view]);
  ASSERT_NE(scan.acquisition.trajectory[5], scan.acquisition.trajectory[25]);
  EXPECT_EQ(Copies(scan), 0);
}

}  // namespace
}  // namespace isocenter::recon
