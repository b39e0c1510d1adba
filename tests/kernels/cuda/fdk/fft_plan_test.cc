#include "kernels/cuda/fdk/fft_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::cuda {
namespace {

// Without a device cuFFT refuses the plan; without cuFFT the message says what is missing.
TEST(FftPlan, OpensTheLibraryOrNamesIt) {
  const auto plan = FftPlan::Create(16, 1, CUFFT_R2C, nullptr);
  if (absl::IsFailedPrecondition(plan.status())) {
    EXPECT_THAT(std::string(plan.status().message()), testing::HasSubstr("libcufft.so."));
  } else if (!plan.ok()) {
    EXPECT_THAT(std::string(plan.status().message()), testing::HasSubstr("cuFFT: error"));
  }
}

}  // namespace
}  // namespace isocenter::cuda
