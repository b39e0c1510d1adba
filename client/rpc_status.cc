#include "client/rpc_status.h"

#include <grpcpp/client_context.h>

#include <initializer_list>
#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"

namespace isocenter::client {
namespace {

constexpr char kBreak[] = "isocenter/break";

absl::Status Broken(Break how, absl::string_view message) {
  absl::Status status = absl::UnavailableError(message);
  status.SetPayload(kBreak, absl::Cord(absl::StrCat(static_cast<int>(how))));
  return status;
}

bool ContainsAny(absl::string_view text, std::initializer_list<absl::string_view> words) {
  for (const absl::string_view word : words) {
    if (absl::StrContains(text, word)) return true;
  }
  return false;
}

/// What to look at, by what gRPC says of the handshake.
absl::string_view Advice(absl::string_view text) {
  if (absl::StrContains(text, "certificate verify failed")) {
    return "its certificate is not of an authority in --ca, or has expired";
  }
  if (absl::StrContains(text, "is not in peer certificate")) {
    return "its certificate is for another name than that in --server";
  }
  // A server ends the connection without a word when it expects TLS, or does not take the
  // certificate.
  if (ContainsAny(text, {"Socket closed", "handshake failed", "Connection reset"})) {
    return "it expects TLS, or another certificate: look at --ca, --cert and --key, and at its log";
  }
  return "check that isocenterd runs and that the address is right";
}

/// Ends of a handshake that a network may have brought about as well as a server.
bool IsCut(absl::string_view text) {
  return ContainsAny(text,
                     {"Socket closed", "handshake failed", "Connection reset", "Broken pipe"});
}

}  // namespace

Break BreakOf(const absl::Status& status) {
  const absl::optional<absl::Cord> how = status.GetPayload(kBreak);
  int number = 0;
  if (!how || !absl::SimpleAtoi(std::string(*how), &number)) return Break::kNone;
  return static_cast<Break>(number);
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string& text = status.error_message();
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), text);
  }
  if (ContainsAny(text, {"failed to connect", "connections to all backends", "DNS resolution"})) {
    const bool wrong_certificate = ContainsAny(text, {"certificate"});
    return Broken(IsCut(text) && !wrong_certificate ? Break::kHandshake : Break::kUnreachable,
                  absl::StrCat("the server cannot be reached (", text, "); ", Advice(text)));
  }
  // gRPC's words for a connection that was there, and a proxy's answer.
  if (text.empty() ||
      ContainsAny(text, {"Socket closed", "Connection reset", "Broken pipe", "GOAWAY", "ransport",
                         "Endpoint", "keepalive", "http2", "Stream removed"})) {
    // 503: a proxy has no server for the call, which therefore began nothing.
    const bool no_server = ContainsAny(text, {"http2 header with status: 503"});
    return Broken(no_server ? Break::kUnreachable : Break::kConnection,
                  absl::StrCat("the connection to the server broke, or it is shutting down (", text,
                               "); try again"));
  }
  return absl::UnavailableError(text);
}

void SetShortDeadline(grpc::ClientContext& context) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(30)));
}

}  // namespace isocenter::client
