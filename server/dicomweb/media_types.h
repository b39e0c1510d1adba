// What a client accepts, and which of the forms of an answer that leaves. Source: RFC 9110, 12.5.1;
// DICOM PS3.18, 8.7.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace isocenter::dicomweb {

/// One element of an Accept header. Types and names of parameters are in lower case.
struct MediaRange {
  std::string type;  // "multipart/related", "image/*"
  std::map<std::string, std::string> parameters;
  double quality = 1;
};

/// As long as it is legal: at most 64 elements. Errors: INVALID_ARGUMENT, with what is wrong.
absl::StatusOr<std::vector<MediaRange>> ParseAccept(absl::string_view text);

/// A form that an answer may have.
struct Form {
  std::string type;             // of the answer, or of each of its parts
  bool multipart = false;       // multipart/related of such parts
  std::string transfer_syntax;  // UID; empty: the type has none

  /// As an Accept header names it.
  std::string Text() const;
};

/// The form of `forms` that the client wants most; of equal ones the first. Without an Accept
/// header that is the first of all. Empty: none is acceptable.
std::optional<Form> Choose(std::span<const MediaRange> accepted, std::span<const Form> forms);

}  // namespace isocenter::dicomweb
