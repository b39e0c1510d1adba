// What the picture of a calibrated detector is read by.
#include <gtest/gtest.h>

#include "client/cli/calibrate/pictures.h"

namespace isocenter::cli {
namespace {

calibrate::DetectorFit FitOf(const Detector& detector) {
  const size_t pixels = size_t(detector.columns) * detector.rows;
  calibrate::DetectorFit fit;
  fit.response.air_counts.assign(pixels, 40000);
  fit.defects.kinds.assign(pixels, calibrate::Defect::kNone);
  return fit;
}

int Ink(const formats::GrayImage& image, int left, int top, int right, int bottom) {
  int dark = 0;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) dark += image.at(x, y) < 100;
  }
  return dark;
}

TEST(DetectorPicture, HasNumbersOfPixelsAScaleAndTheCountsOfItsGreys) {
  for (const Detector& detector : {Detector{320, 240, 0.5, 0.5}, Detector{1300, 900, 0.3, 0.3}}) {
    const formats::GrayImage image = PictureOf(FitOf(detector), detector);
    EXPECT_GT(image.width, 2 * 400);  // of two maps that can be looked at
    // Left of the maps numbers of rows, below them those of columns, counts and millimetres.
    EXPECT_GT(Ink(image, 0, 0, 58, image.height - 60), 50);
    EXPECT_GT(Ink(image, 0, image.height - 26, image.width / 2, image.height), 100);
    EXPECT_GT(Ink(image, image.width / 2, image.height - 26, image.width, image.height), 100);
  }
}

TEST(DetectorPicture, IsMadeOfASingleRow) {
  const Detector detector{700, 1, 0.5, 0.5};
  EXPECT_GT(PictureOf(FitOf(detector), detector).height, 30);
}

}  // namespace
}  // namespace isocenter::cli
