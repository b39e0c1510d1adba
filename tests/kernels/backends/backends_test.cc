#include "kernels/backends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

/// A registry with `count` GPUs, which are CPUs; opening number `broken` fails.
ops::Registry WithGpus(int count, int broken) {
  ops::Registry registry;
  registry.devices["cpu"] = Backends().devices.at("cpu");
  registry.devices["cuda"] =
      [count,
       broken](const ops::DeviceLimits& limits) -> absl::StatusOr<std::unique_ptr<ops::Device>> {
    if (limits.ordinal >= count) return absl::UnavailableError("no more");
    if (limits.ordinal == broken) return absl::InternalError("uncorrectable ECC error");
    return Backends().OpenDevice("cpu", {.threads = 1});
  };
  return registry;
}

TEST(OpenDevices, OfMoreGpusThanThereAreItOpensThoseThatThereAre) {
  for (const char* backend : {"", "cuda"}) {
    const auto chosen = OpenDevices(backend, {.count = 4}, WithGpus(3, -1));
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_EQ(chosen->devices.size(), 3u);
    EXPECT_THAT(chosen->failures, IsEmpty());
  }
}

TEST(OpenDevices, AGpuThatFailsIsLeftOut) {
  for (const int broken : {0, 1, 2}) {
    for (const int wanted : {0, 3}) {
      const auto chosen = OpenDevices("", {.count = wanted}, WithGpus(3, broken));
      ASSERT_TRUE(chosen.ok()) << chosen.status();
      EXPECT_EQ(chosen->devices.size(), 2u);
      EXPECT_EQ(chosen->reason, "a CUDA device was found");
      EXPECT_THAT(chosen->failures, ElementsAre(absl::InternalError("uncorrectable ECC error")));
    }
  }
}

TEST(OpenDevices, WithoutAGpuThatWorksTheCpuComputesUnlessCudaWasAskedFor) {
  const auto chosen = OpenDevices("", {.count = 0}, WithGpus(1, 0));
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->devices.size(), 1u);
  EXPECT_EQ(chosen->reason, "uncorrectable ECC error: running on the CPU");
  EXPECT_EQ(OpenDevices("cuda", {.count = 0}, WithGpus(1, 0)).status(),
            absl::InternalError("uncorrectable ECC error"));
  EXPECT_EQ(OpenDevices("cuda", {.count = 2}, WithGpus(0, -1)).status(),
            absl::UnavailableError("no more"));
}

TEST(OpenDevices, RefusesABackendThatThisBuildLacks) {
  const auto chosen = OpenDevices("abacus", {});
  EXPECT_EQ(chosen.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(chosen.status().message(), HasSubstr("cpu"));
}

}  // namespace
}  // namespace isocenter
