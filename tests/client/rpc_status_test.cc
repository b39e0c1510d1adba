#include "client/rpc_status.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "client/flags/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace isocenter::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of a call that no server has ended.
absl::Status Answer(grpc::StatusCode code, const std::string& text) {
  const grpc::ClientContext call;
  return FromGrpc(grpc::Status(code, text), call);
}

absl::Status Unavailable(const std::string& text) {
  return Answer(grpc::StatusCode::UNAVAILABLE, text);
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(RpcStatusTest, KeepsCodesAndSentences) {
  EXPECT_TRUE(Answer(grpc::StatusCode::OK, "").ok());
  const absl::Status answered = Answer(grpc::StatusCode::NOT_FOUND, "there is no job 'x'");
  EXPECT_EQ(answered.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(answered.message(), "there is no job 'x'");
  // For exit codes.
  EXPECT_TRUE(answered.GetPayload(flags::kServiceAnswer).has_value());
  // A server that was reached speaks for itself.
  EXPECT_EQ(Unavailable("the node is drained: new filter; use another one"),
            absl::UnavailableError("the node is drained: new filter; use another one"));
}

TEST(RpcStatusTest, SaysWhatToLookAtWhenNoServerAnswered) {
  const std::string failed = "failed to connect to all addresses; last error: ";
  EXPECT_THAT(Message(Unavailable(failed + "UNKNOWN: ipv4:10.0.0.1:1: Connection refused")),
              AllOf(HasSubstr("cannot be reached"), HasSubstr("nothing listens at 10.0.0.1:1"),
                    HasSubstr("check that isocenterd runs"), Not(HasSubstr("--ca"))));
  EXPECT_THAT(Message(Unavailable(failed + "SSL routines::certificate verify failed")),
              HasSubstr("not of an authority in --ca"));
  EXPECT_THAT(Message(Unavailable(failed + "Peer name a is not in peer certificate")),
              HasSubstr("another name than that in --server"));
  EXPECT_THAT(Message(Unavailable(failed + "Socket closed")), HasSubstr("--ca, --cert and --key"));
  EXPECT_THAT(Message(Unavailable("DNS resolution failed for x:1")),
              AllOf(HasSubstr("no address is known of x:1"), HasSubstr("legal is host:port")));
  EXPECT_THAT(Message(Unavailable(failed + "UNKNOWN: ipv4:10.0.0.1:1: Ssl handshake failed: "
                                           "SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong "
                                           "version number")),
              AllOf(HasSubstr("10.0.0.1:1 speaks no TLS"), Not(HasSubstr("SSL"))));
  EXPECT_THAT(Message(Unavailable(failed + "INTERNAL: ipv4:10.0.0.1:1: Trying to connect an "
                                           "http1.x server")),
              HasSubstr("10.0.0.1:1 is a web server"));
}

TEST(RpcStatusTest, AServerThatIsGoneBeforeItAnsweredHasBrokenTheConnection) {
  const absl::Status gone = Answer(grpc::StatusCode::UNKNOWN, "No status received");
  EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(BreakOf(gone), Break::kConnection);
  EXPECT_EQ(flags::ExitCodeOf(gone), flags::kExitUnreachable);
  EXPECT_THAT(Message(gone), HasSubstr("the connection to the server broke"));
}

TEST(RpcStatusTest, WhatStaysIsNotCalledAgain) {
  const std::string failed = "failed to connect to all addresses; last error: UNKNOWN: ";
  for (const char* text : {"certificate verify failed", "Peer name a is not in peer certificate",
                           "wrong version number", "missing selected ALPN property",
                           "Trying to connect an http1.x server", "Failed parsing HTTP/2"}) {
    const absl::Status status = Unavailable(failed + text);
    EXPECT_EQ(BreakOf(status), Break::kMismatch) << text;
    EXPECT_EQ(flags::ExitCodeOf(status), flags::kExitFailed) << text;
  }
  for (const char* text : {"Connection refused", "Socket closed", "handshake failed"}) {
    EXPECT_EQ(flags::ExitCodeOf(Unavailable(failed + text)), flags::kExitUnreachable) << text;
  }
}

TEST(RpcStatusTest, SaysWhichDoorWasFound) {
  const std::string failed = "failed to connect to all addresses; last error: ";
  EXPECT_THAT(
      Message(Unavailable(failed + "UNKNOWN: ipv4:10.0.0.1:8443: Cannot check peer: missing "
                                   "selected ALPN property.")),
      AllOf(HasSubstr("10.0.0.1:8443 has TLS but speaks no gRPC: it is a web server"),
            HasSubstr("grpc_address, by default port 50051"), Not(HasSubstr("ALPN"))));
  EXPECT_THAT(Message(Unavailable(failed + "UNKNOWN: ipv4:10.0.0.1:2762: missing selected ALPN")),
              HasSubstr("isocenterd's port 2762 is that of DICOM over TLS (dicom_node.tls_port)"));
  EXPECT_THAT(Message(Unavailable(failed + "INTERNAL: ipv4:10.0.0.1:8080: Trying to connect an "
                                           "http1.x server")),
              HasSubstr("isocenterd's port 8080 is that of the operator page (web.address)"));
  EXPECT_THAT(Message(Unavailable(failed + "UNKNOWN: ipv4:10.0.0.1:11112: Socket closed")),
              HasSubstr("port 11112 is that of DICOM (dicom_node.port)"));
}

TEST(RpcStatusTest, NamesFlagsAndAddressesAsTheyAreTyped) {
  EXPECT_THAT(Message(Unavailable("failed to connect to all addresses; last error: UNKNOWN: "
                                  "ipv6:%5B::1%5D:51051: Connection refused")),
              HasSubstr("nothing listens at [::1]:51051;"));
  EXPECT_THAT(Message(Unavailable("isocenter-node is 'vm2', but this is node 'vm1'")),
              HasSubstr("--node (metadata isocenter-node) is 'vm2'"));
  EXPECT_THAT(
      Message(Answer(grpc::StatusCode::UNAUTHENTICATED,
                     "the token of metadata 'authorization' is not known; legal is 'Bearer TOKEN' "
                     "with one of the server's tokens")),
      AllOf(HasSubstr("--token-file (ISOCENTER_TOKEN_FILE) is not known"),
            HasSubstr("legal is one of the server's tokens")));
}

TEST(RpcStatusTest, FilesThatTlsCannotBeSetUpWithAreNoServerThatIsAway) {
  const absl::Status status = Unavailable("empty address list: ");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("is --key (ISOCENTER_KEY) the private key of --cert"),
                    Not(HasSubstr("address list"))));
}

TEST(RpcStatusTest, AConnectionThatBrokeIsNotOneThatNeverWas) {
  for (const char* text : {"Socket closed", "Connection reset by peer", "GOAWAY received", ""}) {
    EXPECT_THAT(Message(Unavailable(text)), HasSubstr("broke, or it is shutting down"));
  }
  EXPECT_THAT(Message(Unavailable("Received http2 header with status: 503")),
              HasSubstr("the proxy has no server"));
  EXPECT_THAT(Message(Unavailable("Received RST_STREAM with error code 7")),
              HasSubstr("could not begin the call"));
  EXPECT_THAT(Message(Unavailable("Received RST_STREAM with error code 2")), HasSubstr("broke"));
}

/// Of a server that answers a call with these, one after the other, the last again and again.
struct Answers {
  std::vector<grpc::Status> all;
  size_t calls = 0;
  grpc::Status operator()(grpc::ClientContext&) { return all[std::min(calls++, all.size() - 1)]; }
};

const grpc::Status kRefused(grpc::StatusCode::UNAVAILABLE, "Received RST_STREAM with error code 7");

TEST(CallTest, WhatWasNotBegunIsTriedAgain) {
  Answers answers{{kRefused, kRefused, grpc::Status::OK}};
  EXPECT_TRUE(Call(std::ref(answers)).ok());
  EXPECT_EQ(answers.calls, 3);
}

TEST(CallTest, WhatMayHaveBegunIsNot) {
  for (const grpc::Status& status :
       {grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed"),
        grpc::Status(grpc::StatusCode::INTERNAL, "Received RST_STREAM with error code 7"),
        grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such job")}) {
    Answers answers{{status}};
    EXPECT_FALSE(Call(std::ref(answers)).ok());
    EXPECT_EQ(answers.calls, 1) << status.error_message();
  }
}

TEST(CallTest, AServerThatBeginsNothingIsGivenUpAfterSeconds) {
  Answers answers{{kRefused}};
  const absl::Time begun = absl::Now();
  EXPECT_THAT(Message(Call(std::ref(answers))), HasSubstr("could not begin the call"));
  EXPECT_GT(answers.calls, 2);
  EXPECT_LT(absl::Now() - begun, absl::Seconds(15));
}

}  // namespace
}  // namespace isocenter::client
