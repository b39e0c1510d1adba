#include "client/rpc_status.h"

#include <grpcpp/client_context.h>

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "client/connection_failure.h"
#include "client/flags/exit_code.h"
#include "client/reconnect.h"
#include "kernels/base/steady_clock.h"

namespace isocenter::client {
namespace {

constexpr char kBreak[] = "isocenter/break";
constexpr char kConnectionBroke[] =
    "the connection to the server broke, or it is shutting down; try again";

absl::Status Broken(Break how, absl::string_view message) {
  return AsBreak(absl::UnavailableError(message), how);
}

absl::Status NoConnection(Break how, absl::string_view why) {
  absl::Status status = Broken(how, absl::StrCat("the server cannot be reached: ", why));
  if (how == Break::kMismatch) status.SetPayload(flags::kNoUseWaiting, absl::Cord());
  return status;
}

/// What gRPC itself says, without the server, where it is for those who program with it.
std::string OwnWords(const grpc::Status& status) {
  const std::string& text = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      if (text != "Deadline Exceeded") break;
      return "the server has not answered in time; `isocenter health` says whether it serves";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "the server does not know this call: it is no isocenterd, or one of another version";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      if (!absl::StrContains(text, "essage larger than max")) break;
      return "a message is larger than the server takes; limits.max_message_bytes of its "
             "configuration says how large it may be";
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNKNOWN:
      if (!text.empty() && !ContainsAny(text, {"RST_STREAM", "Stream removed", "http2"})) break;
      return "the server, or a proxy before it, ended the call without saying why; its log may";
    case grpc::StatusCode::CANCELLED:
      if (absl::AsciiStrToLower(text) == "cancelled") return "the call was cancelled";
      break;
    default:
      break;
  }
  return text;
}

/// The server speaks of metadata, which are flags here.
std::string InFlags(absl::string_view text) {
  return absl::StrReplaceAll(
      text,
      {{"the token of metadata 'authorization' is not known; legal is 'Bearer TOKEN' with one of",
        "the token of --token-file (ISOCENTER_TOKEN_FILE) is not known, or none is given; legal is "
        "one of"},
       {"isocenter-node is '", "--node (metadata isocenter-node) is '"}});
}

/// REFUSED_STREAM (RFC 9113, 8.7): nothing of the call was done.
bool WasRefused(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         absl::StrContains(status.error_message(), "RST_STREAM with error code 7");
}

}  // namespace

absl::Status AsBreak(absl::Status status, Break how) {
  status.SetPayload(kBreak, absl::Cord(absl::StrCat(static_cast<int>(how))));
  return status;
}

Break BreakOf(const absl::Status& status) {
  const absl::optional<absl::Cord> how = status.GetPayload(kBreak);
  int number = 0;
  if (!how || !absl::SimpleAtoi(std::string(*how), &number)) return Break::kNone;
  return static_cast<Break>(number);
}

absl::Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& call) {
  if (status.ok()) return absl::OkStatus();
  const std::string& text = status.error_message();
  // gRPC's word for a call whose server was gone before it told how the call ended.
  if (status.error_code() == grpc::StatusCode::UNKNOWN && text == "No status received") {
    return Broken(Break::kConnection, kConnectionBroke);
  }
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
    absl::Status answer(static_cast<absl::StatusCode>(status.error_code()),
                        InFlags(OwnWords(status)));
    answer.SetPayload(flags::kServiceAnswer, absl::Cord());
    if (call.GetServerTrailingMetadata().contains("isocenter-try-again")) {
      answer.SetPayload(flags::kTryAgain, absl::Cord());
    }
    return answer;
  }
  if (status.error_details() == kMismatchDetails) return NoConnection(Break::kMismatch, text);
  // No connection is tried: TLS could not be set up on this side.
  if (absl::StartsWith(text, "empty address list")) {
    return absl::InvalidArgumentError(
        "TLS cannot be set up with these files: is --key (ISOCENTER_KEY) the private key of "
        "--cert, "
        "and are the certificates of --ca and --cert undamaged?");
  }
  if (NeverStood(text)) {
    const Break how = IsMismatch(text)       ? Break::kMismatch
                      : IsCutHandshake(text) ? Break::kHandshake
                                             : Break::kUnreachable;
    return NoConnection(how, ExplainConnectionFailure(text));
  }
  if (WasRefused(status)) {
    return Broken(Break::kConnection,
                  "the server, or a proxy before it, could not begin the call; try again");
  }
  // gRPC's words for a connection that was there, and a proxy's answer.
  if (text.empty() ||
      ContainsAny(text, {"Socket closed", "Connection reset", "Broken pipe", "GOAWAY", "ransport",
                         "Endpoint", "keepalive", "http2", "RST_STREAM", "Stream removed"})) {
    // 503: a proxy has no server for the call, which therefore began nothing.
    const bool no_server = ContainsAny(text, {"http2 header with status: 503"});
    return Broken(no_server ? Break::kNoServer : Break::kConnection,
                  no_server ? "the proxy has no server for the call; try again" : kConnectionBroke);
  }
  return absl::UnavailableError(InFlags(text));
}

absl::Status Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call,
                  absl::Duration limit) {
  constexpr absl::Duration kTriedFor = absl::Seconds(8);
  Reconnect refused(kTriedFor);
  for (;;) {
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(limit));
    const grpc::Status status = call(context);
    if (!WasRefused(status) ||
        !refused.MayTryAgain(FromGrpc(status, context), false, SteadyNow()).ok()) {
      return FromGrpc(status, context);
    }
    absl::SleepFor(refused.Pause());
  }
}

}  // namespace isocenter::client
