#include <gtest/gtest.h>

#include <limits>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

class ToHounsfieldTest : public testing::TestWithParam<Method> {
 protected:
  Array Run(const std::string& backend, const std::string& method, const VolumeGrid& grid,
            const Array& attenuation, const ops::HounsfieldTable& table = {}) {
    const auto session = OpenSession(backend);
    const auto operation = (*AllMethods().to_hounsfield.Find(backend, method))(*session);
    const auto volume = NewVolume(*session, grid);
    EXPECT_TRUE(volume->Upload(0, attenuation.view()).ok());
    const absl::Status status =
        (*operation)->Run({.mu_water_per_mm = 0.0193, .table = table}, *volume);
    EXPECT_TRUE(status.ok()) << status;
    return Downloaded(*volume);
  }
};

TEST(ToHounsfieldMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().to_hounsfield).empty());
}

TEST_P(ToHounsfieldTest, AgreesWithReference) {
  const VolumeGrid grid = CenteredGrid(19, 7, 33, {1, 1, 1});
  Array attenuation = Noise(grid.shape(), 31);
  for (float& value : attenuation.values) value *= 0.05f;
  attenuation.values[0] = std::numeric_limits<float>::quiet_NaN();
  attenuation.values[5] = std::numeric_limits<float>::infinity();
  attenuation.values[77] = -std::numeric_limits<float>::infinity();
  attenuation.values[78] = 0.0193f;
  const Array got = Run(GetParam().backend, GetParam().name, grid, attenuation);
  EXPECT_EQ(got.values[0], -1000);
  EXPECT_EQ(got.values[5], -1000);
  EXPECT_EQ(got.values[77], -1000);
  EXPECT_NEAR(got.values[78], 0, 1e-3);
  // Two float32 roundings of values of about 1000 HU.
  EXPECT_LT(Compare(got, Run("reference", "", grid, attenuation)).largest, 5e-7);
}

// With points on both sides of most values, at some of them, and as many as are legal.
TEST_P(ToHounsfieldTest, TablesAgreeWithReference) {
  const VolumeGrid grid = CenteredGrid(19, 7, 33, {1, 1, 1});
  Array attenuation = Noise(grid.shape(), 32);
  for (float& value : attenuation.values) value *= 0.05f;
  attenuation.values[0] = std::numeric_limits<float>::quiet_NaN();
  attenuation.values[1] = 0;        // at the first point
  attenuation.values[2] = 0.0193f;  // at another
  ops::HounsfieldTable many;
  for (int i = 0; i < 32; ++i) many.points.push_back({i * 60.0 - 1000, i * 70.0 - 1000 + i % 3});
  for (const ops::HounsfieldTable& table :
       {ops::HounsfieldTable{{{-1000, -1000}, {0, 5}, {1000, 900}}},
        ops::HounsfieldTable{{{-990, -1000}, {20, 0}}}, many}) {
    const Array got = Run(GetParam().backend, GetParam().name, grid, attenuation, table);
    const Array expected = Run("reference", "", grid, attenuation, table);
    EXPECT_EQ(got.values[0], -1000);
    // Up to 30 float32 additions of some 1000 HU.
    EXPECT_LT(Compare(got, expected).largest, 3e-6);
  }
  const Array identity = Run("reference", "", grid, attenuation);
  EXPECT_NEAR(identity.values[2], 0, 1e-3);
  const Array shifted =
      Run("reference", "", grid, attenuation, {{{-1000, -1000}, {0, 5}, {1000, 900}}});
  EXPECT_NEAR(shifted.values[1], -1000, 1e-3);
  EXPECT_NEAR(shifted.values[2], 5, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Methods, ToHounsfieldTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().to_hounsfield)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
