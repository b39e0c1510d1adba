// How the keys of a query match the values of attributes. Source: DICOM PS3.4, C.2.2.2.
#pragma once

#include "absl/strings/string_view.h"

namespace isocenter::dicom {

enum class Matching {
  kNone,        // returned, never matched
  kText,        // single value or wildcards; upper and lower case differ
  kPersonName,  // the same without regard to case (ASCII), for all or one of the component groups
  kUid,         // one of a list
  kDate,        // single date or range
  kTime,        // single time or range; missing digits stand for all of their values
  kNumber,      // single integer
};

/// Whether `value` matches `key`. Empty keys match everything, and so do keys of only "*" that are
/// not UIDs. Of several values in a key (separated by backslashes) one has to match.
bool Matches(Matching matching, absl::string_view key, absl::string_view value);

/// Whether `text` matches `pattern`, in which '*' stands for any and '?' for one character (UTF-8).
bool MatchesWildcard(absl::string_view pattern, absl::string_view text);

/// The ends of a key that is a date or a range of dates; both empty when it is neither.
struct DateRange {
  absl::string_view first, last;  // inclusive; empty: open
};
DateRange ParseDateRange(absl::string_view key);

}  // namespace isocenter::dicom
