#include "client/imaging/convergence_plot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "client/formats/file.h"
#include "tests/client/test_files.h"

namespace isocenter::imaging {
namespace {

std::vector<ConvergencePoint> Falling(bool with_objective) {
  std::vector<ConvergencePoint> points;
  for (int i = 1; i <= 10; ++i) {
    ConvergencePoint point{.iteration = i, .relative_residual = 1.0 / (i * i), .seconds = 0.5 * i};
    if (with_objective) point.objective = 1000 - 10.0 * i;
    points.push_back(point);
  }
  return points;
}

// The topmost black pixel of a column range.
int Highest(const formats::GrayImage& image, int x0, int x1, int y0) {
  for (int y = y0; y < image.height; ++y) {
    for (int x = x0; x < x1; ++x) {
      if (image.at(x, y) == 0) return y;
    }
  }
  return image.height;
}

TEST(PlotConvergenceTest, CurveFallsFromTheUpperLeft) {
  const formats::GrayImage image = PlotConvergence(Falling(false));
  // Inside the axes, below the title.
  const int first = Highest(image, 121, 140, 32);
  const int last = Highest(image, image.width - 30, image.width - 18, 32);
  EXPECT_LT(first, 60);
  EXPECT_GT(last, first + 200);
}

TEST(PlotConvergenceTest, ObjectiveHasAPanelOfItsOwn) {
  EXPECT_EQ(PlotConvergence(Falling(true)).height, 2 * PlotConvergence(Falling(false)).height);
}

TEST(PlotConvergenceTest, SurvivesValuesThatCannotBeDrawn) {
  std::vector<ConvergencePoint> points = Falling(false);
  points[3].relative_residual = 0;
  points[4].relative_residual = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(PlotConvergence(points).width, PlotConvergence(Falling(false)).width);
  const ConvergencePoint one{.iteration = 1, .relative_residual = 0.5};
  EXPECT_GT(PlotConvergence(std::span(&one, 1)).width, 0);
}

TEST(WriteConvergenceTest, TableHoldsAllPoints) {
  const client_test::TemporaryDirectory directory;
  const auto path = directory.path() / "curve.csv";
  ASSERT_TRUE(WriteConvergence(path, Falling(true)).ok());
  const auto text = formats::ReadText(path, 1 << 20);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(std::count(text->begin(), text->end(), '\n'), 11);
  EXPECT_EQ(text->substr(0, text->find('\n')), "iteration,relative_residual,objective,seconds");
  EXPECT_NE(text->find("\n2,0.25,980,1.000000\n"), std::string::npos) << *text;
}

TEST(WriteConvergenceTest, RefusesOtherEndingsAndNoPoints) {
  const client_test::TemporaryDirectory directory;
  EXPECT_EQ(WriteConvergence(directory.path() / "curve.jpg", Falling(true)).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteConvergence(directory.path() / "curve.csv", {}).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::imaging
