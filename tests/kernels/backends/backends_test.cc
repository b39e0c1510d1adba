#include "kernels/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(OpenDevice, ChoosesADeviceOfThisMachineAndSaysWhy) {
  const auto chosen = OpenDevice("", {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  if (chosen->device->backend() == "cuda") {
    EXPECT_EQ(chosen->reason, "a CUDA device was found");
  } else {
    EXPECT_EQ(chosen->device->backend(), "cpu");
    EXPECT_THAT(chosen->reason, AnyOf(HasSubstr("no CUDA device"), HasSubstr("no CUDA backend")));
  }
}

TEST(OpenDevice, OpensTheBackendThatIsNamed) {
  const auto chosen = OpenDevice("reference", {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->device->backend(), "reference");
}

TEST(OpenDevice, RefusesABackendThatThisBuildLacks) {
  const auto chosen = OpenDevice("abacus", {});
  EXPECT_EQ(chosen.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(chosen.status().message(), HasSubstr("cpu"));
}

}  // namespace
}  // namespace isocenter
