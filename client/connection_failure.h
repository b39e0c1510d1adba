// Why no connection came about, in our words: gRPC's are of its own parts and of OpenSSL's error
// codes.
#pragma once

#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::client {

/// What is wrong and what to look at, by what gRPC says of an attempt to connect: who was asked,
/// where gRPC tells it, and which kind of failure it was.
std::string ExplainConnectionFailure(absl::string_view grpc_text);

/// Whether gRPC speaks of a call for which there never was a connection.
bool NeverStood(absl::string_view grpc_text);

/// gRPC says of what no waiting mends: certificates, names or a port that do not fit.
bool IsMismatch(absl::string_view grpc_text);

/// gRPC says of ends of a handshake that a network may have brought about as well as a server.
bool IsCutHandshake(absl::string_view grpc_text);

/// What is found at an address in place of a gRPC service that takes this client's TLS, or has none
/// either.
enum class Door { kDicom, kWeb, kTlsOfOthers, kWithoutTls };
/// `peer`: host:port. What it is, as far as its port tells, and what to do.
std::string ExplainDoor(absl::string_view peer, Door door);

/// Whether a text holds one of the words.
bool ContainsAny(absl::string_view text, std::initializer_list<absl::string_view> words);

}  // namespace isocenter::client
