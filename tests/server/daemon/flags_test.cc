#include "server/daemon/flags.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "kernels/base/nearest.h"
#include "server/config/server_config.h"
#include "tests/server/fakes/temporary_directory.h"

namespace isocenter::daemon {
namespace {

using google::protobuf::util::MessageDifferencer;

std::optional<int> ParseAll(std::vector<const char*> arguments, Flags& flags) {
  arguments.insert(arguments.begin(), "isocenterd");
  return Parse(static_cast<int>(arguments.size()), arguments.data(), flags);
}

TEST(Flags, EachSetsItsField) {
  Flags flags;
  ASSERT_FALSE(ParseAll({"--grpc_address=127.0.0.1:1",
                         "--metrics_address=127.0.0.1:2",
                         "--web_address=127.0.0.1:3",
                         "--no_web",
                         "--archive=a",
                         "--dicom_port=4",
                         "--dicom_address=127.0.0.5",
                         "--dicom_aet=AET",
                         "--no_dicom",
                         "--unprotected_listener=grpc,dicom",
                         "--tls_certificate=cert",
                         "--tls_key=key",
                         "--tls_client_ca=ca",
                         "--memory_bytes=2GiB",
                         "--threads=6",
                         "--device_memory_limit=7GB",
                         "--gpus=4",
                         "--gpus_per_job=2",
                         "--drain_seconds=8.5",
                         "--spool=s",
                         "--sync=always",
                         "--reconnect_seconds=9.5",
                         "--node_name=n",
                         "--backend=cpu",
                         "--fault=cpu0@5"},
                        flags)
                   .has_value());
  const auto config = Configure(flags);
  ASSERT_TRUE(config.ok()) << config.status();

  v1::ServerConfig expected;
  expected.mutable_cluster()->set_node_name("n");
  config::ApplyDefaults(expected);
  expected.set_grpc_address("127.0.0.1:1");
  expected.set_metrics_address("127.0.0.1:2");
  expected.mutable_web()->set_address("127.0.0.1:3");
  expected.mutable_web()->set_disabled(true);
  expected.set_archive_directory("a");
  expected.mutable_dicom_node()->set_port(4);
  expected.mutable_dicom_node()->set_address("127.0.0.5");
  expected.mutable_dicom_node()->set_ae_title("AET");
  expected.mutable_dicom_node()->set_disabled(true);
  expected.add_unprotected_listener(v1::LISTENER_GRPC);
  expected.add_unprotected_listener(v1::LISTENER_DICOM);
  expected.mutable_grpc_tls()->set_certificate_file("cert");
  expected.mutable_grpc_tls()->set_private_key_file("key");
  expected.mutable_grpc_tls()->set_client_ca_file("ca");
  expected.mutable_limits()->set_memory_bytes(uint64_t{2} << 30);
  expected.mutable_limits()->set_cpu_threads(6);
  expected.mutable_limits()->set_device_memory_bytes(7'000'000'000);
  expected.mutable_limits()->set_gpus(4);
  expected.mutable_limits()->set_gpus_per_job(2);
  expected.mutable_limits()->set_reconnect_seconds(9.5);
  expected.set_drain_seconds(8.5);
  expected.mutable_spool()->set_directory("s");
  expected.mutable_spool()->set_sync(v1::SYNC_POLICY_ALWAYS);
  EXPECT_TRUE(MessageDifferencer::Equals(*config, expected)) << config->ShortDebugString();
  EXPECT_EQ(flags.backend, "cpu");
  EXPECT_EQ(FaultOf(flags)->value().slot, "cpu0");
  EXPECT_EQ(FaultOf(flags)->value().chunks, 5);
}

TEST(Flags, RuleOverTheFileAndTheFileOverDefaults) {
  const testing::TemporaryDirectory directory;
  const std::string file = directory.path() / "config";
  std::ofstream(file) << "dicom_node { port: 7 max_associations: 3 } limits { cpu_threads: 5 }";
  Flags flags;
  const std::string named = "--config=" + file;
  // 0 is a value as well.
  ASSERT_FALSE(ParseAll({named.c_str(), "--dicom_port=0", "--threads=0"}, flags).has_value());
  const auto config = Configure(flags);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->dicom_node().port(), 0u);
  EXPECT_EQ(config->limits().cpu_threads(), 0u);
  EXPECT_EQ(config->dicom_node().max_associations(), 3u);
  EXPECT_EQ(config->grpc_address(), "127.0.0.1:50051");
}

TEST(Flags, WhoWritesGpuIsNotOfferedTheCpu) {
  EXPECT_EQ(DidYouMean("gpu", {"cpu", "cuda", "reference"}), "; did you mean cuda?");
  EXPECT_EQ(DidYouMean("--gpu", {"--gpus", "--cpu"}), "; did you mean --gpus?");
  Flags flags;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ParseAll({"--backend=gpu"}, flags), kExitBadConfiguration);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("gpu"), std::string::npos) << said;
  EXPECT_EQ(said.find("mean cpu"), std::string::npos) << said;
}

TEST(Flags, WhatOtherProgramsCallAnAddressOrAFileIsFound) {
  for (const auto& [given, told] :
       {std::pair("--port=50051", "did you mean --grpc_address HOST:PORT?"),
        {"site.textproto", "one argument too many; did you mean --config site.textproto?"}}) {
    Flags flags;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(ParseAll({given}, flags), kExitBadConfiguration);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find(told), std::string::npos) << given;
  }
}

TEST(Flags, TimesHaveUnits) {
  Flags flags;
  ASSERT_FALSE(ParseAll({"--drain_seconds=2m", "--reconnect_seconds=1500ms"}, flags).has_value());
  const auto config = Configure(flags);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->drain_seconds(), 120);
  EXPECT_EQ(config->limits().reconnect_seconds(), 1.5);
}

TEST(Flags, TimesOutOfRangeAreToldWithTheirRange) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--drain_seconds=2 weeks",
       "--drain_seconds is '2 weeks'; legal is a time of 0 to 3600 seco"},
      {"--drain_seconds=2h", "--drain_seconds is '2h'; legal is a time of 0 to 3600 seconds"},
      {"--reconnect_seconds=0",
       "--reconnect_seconds is '0'; legal is a time of 1 to 86400 seconds"},
      {"--reconnect_seconds=500ms", "is '500ms'; legal is a time of 1 to 86400 seconds"},
      {"--reconnect_seconds=1,5", "is '1,5'; legal is a time of 1 to 86400 seconds"}};
  for (const auto& [flag, told] : wrong) {
    Flags flags;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(ParseAll({flag}, flags), kExitBadConfiguration) << flag;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr(told));
  }
}

TEST(Flags, NumbersAreToldTheRangeThatTheConfigurationHas) {
  for (const auto& [flag, told] :
       {std::pair("--threads=-1", "--threads is '-1'; legal is a whole number from 0 to 1024"),
        {"--threads=0.5", "legal is a whole number from 0 to 1024"},
        {"--threads=2000", "legal is a whole number from 0 to 1024"},
        {"--dicom_port=x", "--dicom_port is 'x'; legal is a whole number from 0 to 65535"},
        {"--gpus=65", "legal is a whole number from 0 to 64"},
        {"--gpus_per_job=0", "legal is a whole number from 1 to 64"}}) {
    Flags flags;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(ParseAll({flag}, flags), kExitBadConfiguration) << flag;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr(told));
  }
}

TEST(Flags, AllThatIsWrongIsToldAtOnce) {
  Flags flags;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(
      ParseAll({"--threads=-1", "--log_level=verbose", "--dicom_port=x", "--dicom_pert=1"}, flags),
      kExitBadConfiguration);
  const std::string said = ::testing::internal::GetCapturedStderr();
  for (const char* told :
       {"--threads is '-1'; legal is a whole number from 0 to 1024\n", "--log_level is 'verbose'",
        "--dicom_port is 'x'; legal is a whole number from 0 to 65535\n",
        "there is no flag --dicom_pert; did you mean --dicom_port?\n"}) {
    EXPECT_THAT(said, ::testing::HasSubstr(told));
  }
}

TEST(Flags, AValueThatIsMissingIsToldWithTheOnesThatAreWrong) {
  Flags flags;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ParseAll({"--threads=2000", "--grpc_address"}, flags), kExitBadConfiguration);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::HasSubstr("--grpc_address needs a value"));
  EXPECT_THAT(said, ::testing::HasSubstr("--threads is '2000'; legal is"));
}

TEST(Flags, WhatIsWrongEndsTheProgram) {
  const std::vector<std::vector<const char*>> wrong = {
      {"--nonsense"}, {"--sync=sometimes"}, {"--threads=many"}, {"--backend=abacus"}};
  for (const auto& arguments : wrong) {
    Flags flags;
    EXPECT_EQ(ParseAll(arguments, flags), kExitBadConfiguration) << arguments[0];
  }
  Flags flags;
  EXPECT_EQ(ParseAll({"--help"}, flags), 0);
  flags.fault = "cpu0";
  EXPECT_EQ(FaultOf(flags).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isocenter::daemon
