// Variation of the reference backend by hand and by difference quotients.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/kernels/reference/reference_backend.h"

namespace isocenter {
namespace {

class ReferenceVariation : public ReferenceBackend {
 protected:
  ReferenceVariation() : variation_(*(*registry_.variation.Find("reference"))(*session_)) {}

  std::vector<float> Noise(const VolumeGrid& grid, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(grid.voxels());
    for (float& value : values) value = static_cast<float>(random()) * 0x1p-32f - 0.5f;
    return values;
  }
  // `gradient` is strength · ∂value/∂f, by central differences.
  void ExpectGradient(const std::function<double(const ops::VolumeBuffer&)>& value,
                      const VolumeGrid& grid, const std::vector<float>& f,
                      const std::vector<float>& gradient, double strength) {
    constexpr float kStep = 0x1p-10f;
    double largest = 0;
    for (size_t i = 0; i < f.size(); ++i) {
      std::vector<float> more = f, less = f;
      more[i] += kStep;
      less[i] -= kStep;
      const double quotient = (value(*Filled(grid, more)) - value(*Filled(grid, less))) /
                              (double{more[i]} - double{less[i]});
      // The third derivative is about 1/0.2².
      EXPECT_NEAR(gradient[i], strength * quotient, 1e-4) << i;
      largest = std::max(largest, std::abs(quotient));
    }
    EXPECT_GT(largest, 0.5);
  }

  std::unique_ptr<ops::Variation> variation_;
};

const VolumeGrid kTwo{.nx = 2, .ny = 1, .nz = 1};

TEST_F(ReferenceVariation, OfTwoVoxels) {
  // One difference of 3: √(3² + 4²) = 5.
  auto f = Filled(kTwo, {0, 3});
  auto gradient = Filled(kTwo, {10, 10});
  EXPECT_NEAR(*variation_->TotalVariation(4, *f, {}), 1, 1e-12);
  EXPECT_NEAR(*variation_->TotalVariation(0, *f, {}), 3, 1e-12);
  ASSERT_TRUE(variation_->AddTotalVariationGradient(2, 4, *f, {}, *gradient).ok());
  EXPECT_FLOAT_EQ(Values(*gradient)[0], 10 - 2 * 0.6f);
  EXPECT_FLOAT_EQ(Values(*gradient)[1], 10 + 2 * 0.6f);
  EXPECT_NEAR(*variation_->Huber(1, *f, {}), 2.5, 1e-12);
  EXPECT_NEAR(*variation_->Huber(5, *f, {}), 4.5, 1e-12);
  auto huber = Filled(kTwo, {10, 10});
  ASSERT_TRUE(variation_->AddHuberGradient(2, 1, *f, {}, *huber).ok());
  EXPECT_EQ(Values(*huber), (std::vector<float>{8, 12}));
}

TEST_F(ReferenceVariation, DifferencesAreForOneTypicalVoxel) {
  // ∛8 / 4: the difference of 3 counts half.
  VolumeGrid grid = kTwo;
  grid.spacing = {4, 1, 2};
  auto f = Filled(grid, {0, 3});
  EXPECT_NEAR(*variation_->TotalVariation(0, *f, {}), 1.5, 1e-12);
  EXPECT_NEAR(*variation_->Huber(10, *f, {}), 4.5 / 4, 1e-12);
}

TEST_F(ReferenceVariation, DualStepIsClippedToTheBound) {
  auto f = Filled(kTwo, {0, 3});
  auto x = Filled(kTwo, {1, 0}), y = Filled(kTwo, {0, 4}), z = Filled(kTwo, {0, 3});
  // First voxel: (1 + 2·3, 0, 0), clipped to 3.5. Second: (0, 4, 3) of length 5, clipped to 3.5.
  ASSERT_TRUE(variation_->AscendDual(2, 3.5, *f, {}, {x.get(), y.get(), z.get()}).ok());
  EXPECT_EQ(Values(*x), (std::vector<float>{3.5, 0}));
  EXPECT_FLOAT_EQ(Values(*y)[1], 2.8f);
  EXPECT_FLOAT_EQ(Values(*z)[1], 2.1f);
}

TEST_F(ReferenceVariation, DivergenceOfTwoVoxels) {
  auto f = Filled(kTwo, {10, 10}), x = Filled(kTwo, {3, 0}), none = Filled(kTwo, {0, 0});
  ASSERT_TRUE(variation_->AddDivergence(2, {x.get(), none.get(), none.get()}, nullptr, *f).ok());
  EXPECT_EQ(Values(*f), (std::vector<float>{16, 4}));
  // p.z of the slice below flows in.
  auto g = Filled(kTwo, {10, 10}), below = Filled(kTwo, {1, 2});
  ASSERT_TRUE(
      variation_->AddDivergence(2, {none.get(), none.get(), none.get()}, below.get(), *g).ok());
  EXPECT_EQ(Values(*g), (std::vector<float>{8, 6}));
}

TEST_F(ReferenceVariation, GradientsAreThoseOfTheValues) {
  const VolumeGrid grid = CenteredGrid(4, 3, 5, {0.7, 1.3, 1.1});
  const std::vector<float> f = Noise(grid, 1);
  auto total = *session_->NewVolume(grid), huber = *session_->NewVolume(grid);
  ASSERT_TRUE(variation_->AddTotalVariationGradient(1.5, 0.2, *Filled(grid, f), {}, *total).ok());
  ASSERT_TRUE(variation_->AddHuberGradient(1.5, 0.2, *Filled(grid, f), {}, *huber).ok());
  ExpectGradient([&](const auto& at) { return *variation_->TotalVariation(0.2, at, {}); }, grid, f,
                 Values(*total), 1.5);
  ExpectGradient([&](const auto& at) { return *variation_->Huber(0.2, at, {}); }, grid, f,
                 Values(*huber), 1.5);
}

// The middle slices of a volume, given their neighbours, have the volume's gradient, and the values
// of all slabs add up to the volume's.
TEST_F(ReferenceVariation, SlabsSeeTheirNeighbors) {
  const VolumeGrid grid = CenteredGrid(4, 3, 5, {0.7, 1.3, 1.1});
  const std::vector<float> f = Noise(grid, 2);
  const auto slices = [&](int first, int count) {
    VolumeGrid part = grid;
    part.nz = count;
    part.origin = grid.VoxelToWorld(0, 0, first);
    return Filled(part,
                  std::vector<float>(f.begin() + 12 * first, f.begin() + 12 * (first + count)));
  };
  const auto whole = slices(0, 5), low = slices(0, 2), middle = slices(2, 2), high = slices(4, 1);
  const auto under_low = slices(1, 1), over_low = slices(2, 1), over_middle = slices(4, 1),
             under_high = slices(3, 1);
  auto of_whole = *session_->NewVolume(grid), of_middle = *session_->NewVolume(middle->grid());
  const ops::NeighborSlices around{under_low.get(), over_middle.get()};
  ASSERT_TRUE(variation_->AddTotalVariationGradient(1, 0.2, *whole, {}, *of_whole).ok());
  ASSERT_TRUE(variation_->AddTotalVariationGradient(1, 0.2, *middle, around, *of_middle).ok());
  for (int i = 0; i < 24; ++i) EXPECT_EQ(Values(*of_middle)[i], Values(*of_whole)[24 + i]) << i;
  EXPECT_NEAR(*variation_->TotalVariation(0.2, *low, {nullptr, over_low.get()}) +
                  *variation_->TotalVariation(0.2, *middle, around) +
                  *variation_->TotalVariation(0.2, *high, {under_high.get(), nullptr}),
              *variation_->TotalVariation(0.2, *whole, {}), 1e-12);
  EXPECT_NEAR(*variation_->Huber(0.2, *low, {nullptr, over_low.get()}) +
                  *variation_->Huber(0.2, *middle, around) +
                  *variation_->Huber(0.2, *high, {under_high.get(), nullptr}),
              *variation_->Huber(0.2, *whole, {}), 1e-12);
}

}  // namespace
}  // namespace isocenter
