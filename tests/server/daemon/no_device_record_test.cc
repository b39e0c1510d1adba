#include "server/daemon/no_device_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::daemon {
namespace {

TEST(NoDeviceRecord, SaysWhenTheLastTimeWas) {
  const testing::TemporaryDirectory directory;
  EXPECT_EQ(LastTimeWithoutDevice(directory.path()).value(), 0);
  RecordNoDevice(directory.path(), absl::FromUnixSeconds(1'790'000'000));
  EXPECT_EQ(LastTimeWithoutDevice(directory.path()).value(), 1.79e9);
  RecordNoDevice(directory.path(), absl::FromUnixSeconds(1'790'000'060));
  EXPECT_EQ(LastTimeWithoutDevice(directory.path()).value(), 1.79e9 + 60);
}

TEST(NoDeviceRecord, WhatIsNoTimeIsAnError) {
  const testing::TemporaryDirectory directory;
  for (const char* text : {"", "yesterday", "-3", "nan"}) {
    std::ofstream(directory.path() / "no-device-time") << text;
    const auto time = LastTimeWithoutDevice(directory.path());
    EXPECT_EQ(time.status().code(), absl::StatusCode::kInternal) << text;
    EXPECT_THAT(time.status().message(), ::testing::HasSubstr(text));
  }
}

TEST(NoDeviceRecord, ADirectoryThatIsGoneIsNoReasonToFail) {
  RecordNoDevice("/nowhere", absl::Now());
  EXPECT_EQ(LastTimeWithoutDevice("/nowhere").value(), 0);
}

}  // namespace
}  // namespace isocenter::daemon
