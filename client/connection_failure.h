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

/// gRPC says of ends of a handshake that a network may have brought about as well as a server.
bool IsCutHandshake(absl::string_view grpc_text);

/// Whether a text holds one of the words.
bool ContainsAny(absl::string_view text, std::initializer_list<absl::string_view> words);

}  // namespace isocenter::client
