#include "kernels/calibrate/scatter/scatter_model_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace isocenter::calibrate {
namespace {

using ::testing::HasSubstr;

ModelledView View(double scale) {
  ModelledView view;
  for (int i = 0; i < 40; ++i) {
    view.primary.push_back(0.05 + 0.02 * (i % 7));
    view.model.push_back(0.04 + 0.002 * i);
    view.scatter.push_back(scale * view.model.back());
  }
  return view;
}

TEST(FitScatterModel, FindsTheScale) {
  ModelledView spoilt = View(0.3);
  spoilt.primary[4] = std::numeric_limits<double>::quiet_NaN();
  spoilt.scatter[5] = std::numeric_limits<double>::infinity();
  const auto fit = FitScatterModel({View(0.3), spoilt});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->model.scale, 0.3, 1e-9);
  ASSERT_EQ(fit->figures.size(), 4u);
  EXPECT_NEAR(fit->figures[2].value, 0, 1e-4);
  EXPECT_NEAR(fit->figures[3].value, 0.3, 1e-9);
}

TEST(FitScatterModel, WhatItMissesIsSaidAndBounded) {
  ModelledView view = View(1);
  for (size_t i = 0; i < view.scatter.size(); ++i) view.scatter[i] *= i % 2 == 0 ? 1.1 : 0.9;
  const auto fit = FitScatterModel({view});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->model.scale, 1, 0.02);
  EXPECT_NEAR(fit->figures[2].value, 10, 0.5);
  for (size_t i = 0; i < view.scatter.size(); ++i) view.scatter[i] *= i % 2 == 0 ? 1.3 : 0.7;
  const absl::Status refused = FitScatterModel({view}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("at most 15 %: is the object whole"));
}

TEST(FitScatterModel, RefusesWhatTellsNothing) {
  EXPECT_THAT(std::string(FitScatterModel({}).status().message()), HasSubstr("there is no cell"));
  ModelledView uneven = View(1);
  uneven.model.pop_back();
  EXPECT_THAT(std::string(FitScatterModel({uneven}).status().message()),
              HasSubstr("40 cells of primary, 40 of scatter and 39 of the model"));
  ModelledView none = View(1e-4);
  EXPECT_THAT(std::string(FitScatterModel({none}).status().message()),
              HasSubstr("legal is 0.1 % at least"));
  EXPECT_THAT(std::string(FitScatterModel({View(12)}).status().message()),
              HasSubstr("scatter_model.scale is 12"));
}

}  // namespace
}  // namespace isocenter::calibrate
