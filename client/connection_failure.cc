#include "client/connection_failure.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace isocenter::client {
namespace {

/// "127.0.0.1:50051" of "...: ipv4:127.0.0.1:50051: Failed to ...", the path of a socket, or the
/// name that is not known; "the address" where gRPC tells none.
std::string PeerIn(absl::string_view text) {
  for (const absl::string_view before : {"ipv4:", "ipv6:", "unix:", "DNS resolution failed for "}) {
    const size_t at = text.find(before);
    if (at == absl::string_view::npos) continue;
    const absl::string_view peer = text.substr(at + before.size());
    // Addresses of IPv6 are written as in URIs there.
    return absl::StrReplaceAll(peer.substr(0, std::min(peer.find(": "), peer.size())),
                               {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  }
  return "the address";
}

/// What isocenterd has at this port unless its configuration says otherwise, as a clause; else
/// empty.
std::string DoorOf(absl::string_view peer) {
  for (const auto& [port, door] : {std::pair(":8080", "the operator page (web.address)"),
                                   {":9464", "metrics (metrics_address)"},
                                   {":11112", "DICOM (dicom_node.port)"},
                                   {":2762", "DICOM over TLS (dicom_node.tls_port)"}}) {
    if (absl::EndsWith(peer, port)) {
      return absl::StrCat("; isocenterd's port ", port + 1, " is that of ", door);
    }
  }
  return "";
}

/// That gRPC went to a proxy of the environment, as a clause; else empty. It takes the first
/// variable that is set, in small letters.
std::string ProxyOf(absl::string_view peer) {
  for (const char* variable : {"grpc_proxy", "https_proxy", "http_proxy"}) {
    const char* set = std::getenv(variable);
    if (set == nullptr || *set == '\0') continue;
    const absl::string_view proxy = absl::StripSuffix(set, "/");
    const size_t colon = proxy.rfind(':');
    if (colon == absl::string_view::npos || !absl::EndsWith(peer, proxy.substr(colon))) break;
    return absl::StrCat("; that is the proxy of ", variable, " in the environment: no_proxy, with ",
                        "the host or address of --server, leaves it out");
  }
  return "";
}

constexpr char kRightDoor[] =
    "legal is the host:port of isocenterd's grpc_address, by default port 50051";

}  // namespace

bool ContainsAny(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::ranges::any_of(
      words, [text](absl::string_view word) { return absl::StrContains(text, word); });
}

bool NeverStood(absl::string_view text) {
  return ContainsAny(text, {"failed to connect", "connections to all backends", "DNS resolution"});
}

bool IsMismatch(absl::string_view text) {
  return ContainsAny(text, {"certificate", "wrong version number", "WRONG_VERSION_NUMBER", "ALPN",
                            "http1.x", "Failed parsing HTTP/2"});
}

bool IsCutHandshake(absl::string_view text) {
  if (IsMismatch(text)) return false;
  return ContainsAny(text,
                     {"Socket closed", "handshake failed", "Connection reset", "Broken pipe"});
}

std::string ExplainDoor(absl::string_view peer, Door door) {
  switch (door) {
    case Door::kDicom:
      return absl::StrCat(peer, " speaks DICOM and no gRPC", DoorOf(peer), "; ", kRightDoor);
    case Door::kWeb:
      return absl::StrCat(peer,
                          " is a web server without TLS, perhaps the operator page or the metrics",
                          DoorOf(peer), "; ", kRightDoor);
    case Door::kTlsOfOthers:
      return absl::StrCat(
          peer,
          " has TLS but speaks no gRPC: it is a web server, such as the operator page, or "
          "DICOM over TLS",
          DoorOf(peer), "; ", kRightDoor);
    case Door::kWithoutTls:
      break;
  }
  return absl::StrCat(peer,
                      " speaks no TLS: leave out --ca, --cert and --key (ISOCENTER_CA, "
                      "ISOCENTER_CERT, ISOCENTER_KEY), or give the port that has TLS",
                      DoorOf(peer));
}

namespace {

std::string ExplainPeer(absl::string_view text, const std::string& peer) {
  if (absl::StrContains(text, "certificate verify failed")) {
    return absl::StrCat("the certificate of ", peer,
                        " is not of an authority in --ca, or has expired");
  }
  if (absl::StrContains(text, "is not in peer certificate")) {
    return "its certificate is for another name than that in --server";
  }
  if (ContainsAny(text, {"wrong version number", "WRONG_VERSION_NUMBER"})) {
    return ExplainDoor(peer, Door::kWithoutTls);
  }
  // A TLS server that agrees on no protocol has none that gRPC could speak.
  if (absl::StrContains(text, "ALPN")) return ExplainDoor(peer, Door::kTlsOfOthers);
  if (absl::StrContains(text, "http1.x")) return ExplainDoor(peer, Door::kWeb);
  if (absl::StrContains(text, "Failed parsing HTTP/2")) {
    return absl::StrCat(peer, " speaks no gRPC, or expects TLS", DoorOf(peer), "; ", kRightDoor);
  }
  // A server ends the connection without a word when it expects TLS, or does not take the
  // certificate.
  if (IsCutHandshake(text)) {
    return absl::StrCat(
        peer,
        " ended the connection: it expects TLS, or another certificate, or is another "
        "port than that of gRPC, by default 50051: look at "
        "--ca, --cert and --key, and at its log",
        DoorOf(peer));
  }
  if (absl::StrContains(text, "DNS resolution")) {
    return absl::StrCat("no address is known of ", peer,
                        "; check that the address is right, legal is host:port");
  }
  constexpr char kCheck[] = "; check that isocenterd runs and that the address is right";
  if (absl::StrContains(text, "refused")) {
    return absl::StrCat("connection refused, nothing listens at ", peer, kCheck);
  }
  if (absl::StrContains(text, "No such file")) {
    return absl::StrCat("there is no socket ", peer, kCheck);
  }
  if (ContainsAny(text, {"unreachable", "No route"})) {
    return absl::StrCat("no network leads to ", peer, kCheck);
  }
  return absl::StrCat("no answer from ", peer, kCheck, DoorOf(peer));
}

}  // namespace

std::string ExplainConnectionFailure(absl::string_view text) {
  const std::string peer = PeerIn(text);
  return absl::StrCat(ExplainPeer(text, peer), ProxyOf(peer));
}

}  // namespace isocenter::client
