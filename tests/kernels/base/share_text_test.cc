#include "kernels/base/share_text.h"

#include <gtest/gtest.h>

namespace isocenter {
namespace {

TEST(ShareText, WhatIsThereIsNotNothing) {
  EXPECT_EQ(ShareText(0.434), "43 %");
  EXPECT_EQ(ShareText(1), "100 %");
  EXPECT_EQ(ShareText(0.042), "4.2 %");
  EXPECT_EQ(ShareText(0.004), "0.4 %");
  EXPECT_EQ(ShareText(0.0004), "below 0.1 %");
  EXPECT_EQ(ShareText(0), "0 %");
}

}  // namespace
}  // namespace isocenter
