// The two encodings of tokens and keys, read strictly: what two readers could understand in two
// ways is refused.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace isocenter::openid {

using Json = nlohmann::json;

/// RFC 4648, section 5, without padding. Empty: a character or a length that is none, or bits at
/// the end that belong to no byte.
std::optional<std::string> DecodeBase64Url(absl::string_view text);
std::string EncodeBase64Url(absl::string_view bytes);

/// A JSON object, nested at most 8 deep. Empty: it is none, it is not UTF-8, or a name stands twice
/// in an object.
std::optional<Json> ParseObject(absl::string_view text);

/// A text of an object. Empty: it is not there, or no text.
std::optional<std::string> TextOf(const Json& object, absl::string_view name);

/// What of a text may stand in a log or record: at most 64 characters, printable ones.
std::string Shown(absl::string_view text);

}  // namespace isocenter::openid
