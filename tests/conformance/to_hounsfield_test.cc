#include <gtest/gtest.h>

#include <limits>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {
namespace {

class ToHounsfieldTest : public testing::TestWithParam<Method> {
 protected:
  Array Run(const std::string& backend, const std::string& method, const VolumeGrid& grid,
            const Array& attenuation) {
    const auto session = OpenSession(backend);
    const auto operation = (*AllMethods().to_hounsfield.Find(backend, method))(*session);
    const auto volume = NewVolume(*session, grid);
    EXPECT_TRUE(volume->Upload(0, attenuation.view()).ok());
    const absl::Status status = (*operation)->Run(0.0193, *volume);
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

INSTANTIATE_TEST_SUITE_P(Methods, ToHounsfieldTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().to_hounsfield)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
