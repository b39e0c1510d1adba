#include "kernels/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(OpenDevices, ChoosesADeviceOfThisMachineAndSaysWhy) {
  const auto chosen = OpenDevices("", {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  if (chosen->devices[0]->backend() == "cuda") {
    EXPECT_EQ(chosen->reason, "a CUDA device was found");
  } else {
    EXPECT_EQ(chosen->devices[0]->backend(), "cpu");
    EXPECT_THAT(chosen->reason, AnyOf(HasSubstr("no CUDA device"), HasSubstr("no CUDA backend")));
  }
}

TEST(OpenDevices, OpensTheBackendThatIsNamed) {
  const auto chosen = OpenDevices("reference", {});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->devices[0]->backend(), "reference");
}

TEST(OpenDevices, ACpuIsOneDeviceHoweverManyAreWanted) {
  const auto chosen = OpenDevices("cpu", {.count = 4});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->devices.size(), 1u);
}

TEST(OpenDevices, MoreGpusThanThereAreAreRefused) {
  if (!Backends().devices.contains("cuda")) GTEST_SKIP() << "this build has no CUDA backend";
  EXPECT_EQ(OpenDevices("cuda", {.count = 64}).status().code(), absl::StatusCode::kUnavailable);
}

TEST(OpenDevices, RefusesABackendThatThisBuildLacks) {
  const auto chosen = OpenDevices("abacus", {});
  EXPECT_EQ(chosen.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(chosen.status().message(), HasSubstr("cpu"));
}

}  // namespace
}  // namespace isocenter
