// Rules for single text fields. All errors are INVALID_ARGUMENT naming field, value and what is
// legal.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"

namespace isocenter::wire {

/// A client's text, quoted, cut short, without control characters.
std::string Shown(absl::string_view text);

/// At most `longest` characters (UTF-8), no control characters, no backslash (DICOM's separator).
absl::Status CheckText(absl::string_view field, const std::string& text, int longest);
/// DICOM's PN: at most 3 component groups, each a text of at most 64 characters.
absl::Status CheckPersonName(absl::string_view field, const std::string& name);
/// The day of YYYYMMDD, where there is one.
std::optional<absl::CivilDay> DayOf(absl::string_view date);
/// Empty, or YYYYMMDD of a day that exists.
absl::Status CheckDate(absl::string_view field, const std::string& date);
/// Empty, or HHMMSS.
absl::Status CheckTime(absl::string_view field, const std::string& time);
/// Empty, or a DICOM UID (PS3.5 section 9.1).
absl::Status CheckUid(absl::string_view field, const std::string& uid);
/// At most 64 characters of [A-Za-z0-9_.-].
absl::Status CheckIdentifier(absl::string_view field, const std::string& text);
/// DICOM's CS: at most 16 characters of [A-Z0-9_ ].
absl::Status CheckCodeString(absl::string_view field, const std::string& text);

}  // namespace isocenter::wire
