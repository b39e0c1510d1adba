#include "kernels/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef ISOCENTER_HAS_CUDA
#include "kernels/cuda/device_query.h"
#endif

namespace isocenter {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(CudaSummaryTest, SaysWhereTheWorkRuns) {
  EXPECT_THAT(CudaSummary(), EndsWith("running on the CPU"));
}

#ifdef ISOCENTER_HAS_CUDA
TEST(QueryDevicesTest, HasEitherDevicesOrAReason) {
  const cuda::DeviceQuery query = cuda::QueryDevices();
  EXPECT_EQ(query.names.empty(), !query.reason.empty());
  EXPECT_THAT(CudaSummary(), HasSubstr(query.names.empty() ? query.reason : query.names[0]));
}
#else
TEST(CudaSummaryTest, SaysThatCudaIsMissing) {
  EXPECT_THAT(CudaSummary(), HasSubstr("not built in"));
}
#endif

}  // namespace
}  // namespace isocenter
