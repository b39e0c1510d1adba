// Values as DICOM's value representations want them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace isocenter::dicom {

/// UTF-8 text as one value of at most `max_characters`: control characters and backslashes (which
/// separate values) become spaces, spaces at both ends go, the rest is cut between characters.
std::string Text(absl::string_view utf8, int max_characters);

/// A code string (CS): upper case, only [A-Z0-9_ ], at most 16.
std::string CodeString(absl::string_view text);

/// A person name (PN): every component group is cut to 64 characters.
std::string PersonName(absl::string_view utf8);

/// A decimal string (DS) of at most 16 characters, as near to `value` as that allows.
std::string DecimalString(double value);

/// A date (YYYYMMDD) or time (HHMMSS) that is what it claims to be, or "".
std::string DateOrNothing(absl::string_view text);
std::string TimeOrNothing(absl::string_view text);
/// A moment's date and time in this machine's time zone.
std::string LocalDate(absl::Time time);
std::string LocalTime(absl::Time time);

/// A patient's sex if it is one of DICOM's codes (M, F, O), or "".
std::string SexCode(const std::string& sex);

}  // namespace isocenter::dicom
