// What callers make the server read: every request is bounded before it is parsed.
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/contract/contract_fixture.h"
#include "tests/contract/generic_call.h"
#include "tests/contract/services.h"

namespace isocenter::testing {
namespace {

using grpc::StatusCode;

class MessageSizeTest : public ContractTest {
 protected:
  grpc::Status Call(const google::protobuf::MethodDescriptor& method, const std::string& message,
                    grpc_compression_algorithm compression = GRPC_COMPRESS_NONE) {
    grpc::ClientContext context;
    SetDeadline(context);
    context.set_compression_algorithm(compression);
    return CallWithBytes(channel_, context, method, message);
  }
};

/// Fields of a later version, which protobuf keeps: each of 2 bytes takes 24 of memory.
std::string UnknownFields(size_t bytes) {
  std::string fields;
  while (fields.size() < bytes) fields += "\x78\x01";  // field 15, varint
  return fields;
}

/// The most memory that this process ever had, in bytes.
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  int64_t kib = 0;
  for (std::string line; std::getline(status, line);) {
    if (absl::StartsWith(line, "VmHWM:")) {
      (void)absl::SimpleAtoi(line.substr(6, line.find("kB") - 6), &kib);
    }
  }
  return kib << 10;
}

TEST_F(MessageSizeTest, NoMethodReadsMoreThanItNeeds) {
  const std::string large = UnknownFields((2 << 20) + 1);
  for (const auto* method : ContractMethods()) {
    SCOPED_TRACE(method->full_name());
    const grpc::Status status = Call(*method, large);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_TRUE(absl::StrContains(status.error_message(), absl::StrCat(large.size(), " bytes")))
        << status.error_message();
    EXPECT_TRUE(absl::StrContains(status.error_message(), "legal is at most"))
        << status.error_message();
  }
}

TEST_F(MessageSizeTest, TheLargestMessageTakesNoMoreThanItsOwnMemory) {
  const std::string largest = UnknownFields(60 << 20);
  (void)Call(*ContractMethods().front(), "");
  const int64_t before = PeakBytes();
  for (const auto* method : ContractMethods()) {
    SCOPED_TRACE(method->full_name());
    EXPECT_EQ(Call(*method, largest).error_code(), StatusCode::INVALID_ARGUMENT);
  }
  // On its way it exists at the client, in the transport of both sides and at the server.
  EXPECT_LT(PeakBytes() - before, int64_t{400} << 20);
}

TEST_F(MessageSizeTest, WhatIsNoRequestIsRefused) {
  for (const auto* method : ContractMethods()) {
    SCOPED_TRACE(method->full_name());
    const grpc::Status status = Call(*method, "\x0a\xff\xff");
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
  }
}

TEST_F(MessageSizeTest, NothingIsDecompressed) {
  // 16 MiB of zeros: 16 KiB on the wire.
  const std::string zeros(16 << 20, '\0');
  const int64_t before = PeakBytes();
  for (const auto* method : ContractMethods()) {
    SCOPED_TRACE(method->full_name());
    const grpc::Status status = Call(*method, zeros, GRPC_COMPRESS_GZIP);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
  }
  EXPECT_LT(PeakBytes() - before, int64_t{48} << 20);
}

TEST_F(MessageSizeTest, AFilterNamesEachStateOnce) {
  v1::ListJobsRequest request;
  for (int i = 0; i < 5000; ++i) request.add_state(v1::JOB_STATE_COMPLETED);
  grpc::ClientContext context;
  SetDeadline(context);
  v1::ListJobsResponse response;
  const grpc::Status status = jobs_->ListJobs(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(absl::StrContains(status.error_message(), "state has 5000 entries; legal is 0 to"))
      << status.error_message();
}

}  // namespace
}  // namespace isocenter::testing
