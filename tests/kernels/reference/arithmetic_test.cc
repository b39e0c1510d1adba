// Arithmetic of the reference backend by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/reference/reference_backend.h"

namespace isocenter {
namespace {

class ReferenceArithmetic : public ReferenceBackend {
 protected:
  ReferenceArithmetic() : arithmetic_(*(*registry_.arithmetic.Find("reference"))(*session_)) {}
  std::unique_ptr<ops::Arithmetic> arithmetic_;
};

const VolumeGrid kThree{.nx = 3, .ny = 1, .nz = 1};
using Floats = std::vector<float>;

TEST_F(ReferenceArithmetic, ElementByElement) {
  auto w = Filled(kThree, {1, 2, 3}), x = Filled(kThree, {4, 5, -6}), y = Filled(kThree, {7, 8, 9});
  ASSERT_TRUE(arithmetic_->Axpby(2, *x, -1, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{1, 2, -21}));
  ASSERT_TRUE(arithmetic_->MultiplyAdd(3, *w, *x, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{13, 32, -75}));
  ASSERT_TRUE(arithmetic_->Multiply(*w, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{13, 64, -225}));
  ASSERT_TRUE(arithmetic_->ClampBelow(20, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{20, 64, 20}));
  ASSERT_TRUE(arithmetic_->Invert(20, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{0, 1.0f / 64, 0}));
  ASSERT_TRUE(arithmetic_->Exponential(64, *y).ok());
  EXPECT_FLOAT_EQ(Values(*y)[1], std::exp(1.0f));
  ASSERT_TRUE(arithmetic_->Copy(*x, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{4, 5, -6}));
  EXPECT_EQ(*arithmetic_->Dot(*w, *y), 4 + 10 - 18);
  ASSERT_TRUE(arithmetic_->Fill(5, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{5, 5, 5}));
  ASSERT_TRUE(arithmetic_->MultiplyAddAbove(7, 0.5, *w, *x, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{7, 10, 7}));
}

TEST_F(ReferenceArithmetic, WhatIsOverwrittenDoesNotMatter) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto x = Filled(kThree, {1, 2, 3}), y = Filled(kThree, {nan, nan, nan});
  ASSERT_TRUE(arithmetic_->Axpby(2, *x, 0, *y).ok());
  EXPECT_EQ(Values(*y), (Floats{2, 4, 6}));
}

TEST_F(ReferenceArithmetic, RowsAndSlices) {
  auto from = Filled(Shape3{2, 3, 1}, {1, 2, 3, 4, 5, 6}),
       to = Filled(Shape3{2, 2, 1}, {10, 20, 30, 40});
  ASSERT_TRUE(arithmetic_->AddRows(*from, {1, 1}, 1, *to).ok());
  EXPECT_EQ(Values(*to), (Floats{10, 22, 30, 45}));
  EXPECT_EQ(*arithmetic_->Dot(*from, *from, RowRange{1, 2}), 4 + 9 + 25 + 36);
  const VolumeGrid two{.nx = 1, .ny = 1, .nz = 2}, three{.nx = 1, .ny = 1, .nz = 3};
  auto source = Filled(two, {1, 2}), target = Filled(three, {7, 8, 9});
  ASSERT_TRUE(arithmetic_->CopySlices(*source, 1, 1, *target, 0).ok());
  EXPECT_EQ(Values(*target), (Floats{2, 8, 9}));
}

}  // namespace
}  // namespace isocenter
