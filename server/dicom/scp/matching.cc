#include "server/dicom/scp/matching.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace isocenter::dicom {
namespace {

/// Bytes of the UTF-8 character that begins `text`.
size_t CharacterLength(absl::string_view text) {
  size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) {
    ++length;
  }
  return length;
}

/// Without the delimiters at the end that may be left out: "Doe^Jane^^^" is "Doe^Jane".
absl::string_view WithoutTrailing(absl::string_view text, char delimiter) {
  while (!text.empty() && (text.back() == delimiter || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

bool MatchesName(absl::string_view key, absl::string_view value) {
  const std::string pattern = absl::AsciiStrToLower(WithoutTrailing(key, '^'));
  const std::string name = absl::AsciiStrToLower(value);
  const std::vector<absl::string_view> groups = absl::StrSplit(name, '=');
  if (!absl::StrContains(pattern, '=')) {
    return MatchesWildcard(pattern, WithoutTrailing(name, '^')) ||
           std::any_of(groups.begin(), groups.end(), [&](absl::string_view group) {
             return MatchesWildcard(pattern, WithoutTrailing(group, '^'));
           });
  }
  const std::vector<absl::string_view> wanted = absl::StrSplit(pattern, '=');
  for (size_t i = 0; i < wanted.size(); ++i) {
    const absl::string_view group = i < groups.size() ? groups[i] : absl::string_view();
    if (!wanted[i].empty() &&
        !MatchesWildcard(WithoutTrailing(wanted[i], '^'), WithoutTrailing(group, '^'))) {
      return false;
    }
  }
  return true;
}

/// Digits up to the fraction, filled up to HHMMSS.
std::string FullTime(absl::string_view time, char fill) {
  std::string digits(time.substr(0, time.find('.')));
  constexpr absl::string_view kLatest = "235959";
  for (size_t i = digits.size(); i < 6; ++i) digits.push_back(fill == '0' ? '0' : kLatest[i]);
  return digits;
}

bool MatchesTime(absl::string_view key, absl::string_view value) {
  if (value.empty()) return false;
  const size_t dash = key.find('-');
  const absl::string_view first = key.substr(0, dash);
  const absl::string_view last = dash == absl::string_view::npos ? first : key.substr(dash + 1);
  const std::string time = FullTime(value, '0');
  return (first.empty() || FullTime(first, '0') <= time) &&
         (last.empty() || time <= FullTime(last, '9'));
}

bool MatchesDate(absl::string_view key, absl::string_view value) {
  const DateRange range = ParseDateRange(key);
  if (range.first.empty() && range.last.empty()) return key == value;
  return !value.empty() && (range.first.empty() || range.first <= value) &&
         (range.last.empty() || value <= range.last);
}

bool MatchesNumber(absl::string_view key, absl::string_view value) {
  int64_t a = 0, b = 0;
  return absl::SimpleAtoi(key, &a) && absl::SimpleAtoi(value, &b) && a == b;
}

bool MatchesOne(Matching matching, absl::string_view key, absl::string_view value) {
  if (key.empty() || (key == "*" && matching != Matching::kUid)) return true;
  switch (matching) {
    case Matching::kNone:
      return true;
    case Matching::kText:
      return MatchesWildcard(key, value);
    case Matching::kPersonName:
      return MatchesName(key, value);
    case Matching::kUid:
      return key == value;
    case Matching::kDate:
      return MatchesDate(key, value);
    case Matching::kTime:
      return MatchesTime(key, value);
    case Matching::kNumber:
      return MatchesNumber(key, value);
  }
  return false;
}

}  // namespace

bool MatchesWildcard(absl::string_view pattern, absl::string_view text) {
  // Greedy with one point of return: linear but for patterns made to be slow, and those cost no
  // more than the product of both lengths.
  size_t p = 0, t = 0, star = absl::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t += CharacterLength(text.substr(t));
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      after_star += CharacterLength(text.substr(after_star));
      t = after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

DateRange ParseDateRange(absl::string_view key) {
  key = absl::StripAsciiWhitespace(key);
  const size_t dash = key.find('-');
  const DateRange range = dash == absl::string_view::npos
                              ? DateRange{key, key}
                              : DateRange{key.substr(0, dash), key.substr(dash + 1)};
  const auto is_date = [](absl::string_view date) {
    return date.size() == 8 && std::all_of(date.begin(), date.end(), absl::ascii_isdigit);
  };
  for (absl::string_view end : {range.first, range.last}) {
    if (!end.empty() && !is_date(end)) return {};
  }
  return range;
}

bool Matches(Matching matching, absl::string_view key, absl::string_view value) {
  for (absl::string_view one : absl::StrSplit(key, '\\')) {
    if (MatchesOne(matching, absl::StripAsciiWhitespace(one), value)) return true;
  }
  return false;
}

}  // namespace isocenter::dicom
