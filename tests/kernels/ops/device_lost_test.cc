#include "kernels/ops/device_lost.h"

#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"

namespace isocenter::ops {
namespace {

absl::StatusOr<int> PassedOn(const absl::Status& status) {
  ISO_RETURN_IF_ERROR(status);
  return 1;
}

TEST(DeviceLost, IsKnownWhereverTheStatusTravels) {
  const absl::Status lost = DeviceLostError("CUDA: cudaErrorIllegalAddress in Run");
  EXPECT_EQ(lost.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(lost.message(), "CUDA: cudaErrorIllegalAddress in Run");
  EXPECT_TRUE(IsDeviceLost(lost));
  EXPECT_TRUE(IsDeviceLost(PassedOn(lost).status()));
  EXPECT_FALSE(IsDeviceLost(absl::InternalError("CUDA: cudaErrorIllegalAddress in Run")));
  EXPECT_FALSE(IsDeviceLost(absl::OkStatus()));
}

}  // namespace
}  // namespace isocenter::ops
