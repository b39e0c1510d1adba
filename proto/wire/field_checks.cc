#include "proto/wire/field_checks.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/identifier.h"
#include "proto/wire/illegal.h"

namespace isocenter::wire {
namespace {

constexpr int kNameComponents = 5;  // of a DICOM person name's group (PS3.5, 6.2.1)

bool AllDigits(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

int Number(absl::string_view digits) {
  int value = 0;
  for (const char c : digits) value = 10 * value + (c - '0');
  return value;
}

// Protobuf has made sure that the text is UTF-8.
int64_t Characters(absl::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

bool HasForbiddenCharacter(absl::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_iscntrl(c) || c == '\\'; });
}

}  // namespace

std::string Shown(absl::string_view text) {
  constexpr size_t kShown = 80;
  if (text.size() <= kShown) return absl::StrCat("'", absl::CHexEscape(text), "'");
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kShown)), "'... (", text.size(),
                      " bytes)");
}

absl::Status CheckText(absl::string_view field, const std::string& text, int longest) {
  if (Characters(text) <= longest && !HasForbiddenCharacter(text)) return absl::OkStatus();
  return Illegal(
      field, Shown(text),
      absl::StrCat("at most ", longest, " characters, without control characters and backslashes"));
}

absl::Status CheckPersonName(absl::string_view field, const std::string& name) {
  const std::vector<std::string> groups = absl::StrSplit(name, '=');
  bool legal = groups.size() <= 3;
  for (const std::string& group : groups) {
    legal = legal && Characters(group) <= 64 && !HasForbiddenCharacter(group) &&
            std::ranges::count(group, '^') < kNameComponents;
  }
  if (legal) return absl::OkStatus();
  return Illegal(field, Shown(name),
                 "at most 3 groups separated by '=', each at most 64 characters in at most 5 "
                 "components separated by '^' (family, given, middle, prefix, suffix), without "
                 "control characters and backslashes");
}

std::optional<absl::CivilDay> DayOf(absl::string_view date) {
  if (date.size() != 8 || !AllDigits(date)) return std::nullopt;
  const int year = Number(date.substr(0, 4)), month = Number(date.substr(4, 2)),
            day = Number(date.substr(6, 2));
  const absl::CivilDay normalised(year, month, day);
  const bool exists =
      normalised.year() == year && normalised.month() == month && normalised.day() == day;
  return exists ? std::optional(normalised) : std::nullopt;
}

absl::Status CheckDate(absl::string_view field, const std::string& date) {
  if (date.empty() || DayOf(date)) return absl::OkStatus();
  return Illegal(field, Shown(date), "a date as YYYYMMDD, or empty");
}

absl::Status CheckTime(absl::string_view field, const std::string& time) {
  if (time.empty()) return absl::OkStatus();
  const absl::string_view text = time;
  if (text.size() == 6 && AllDigits(text) && Number(text.substr(0, 2)) < 24 &&
      Number(text.substr(2, 2)) < 60 && Number(text.substr(4, 2)) < 60) {
    return absl::OkStatus();
  }
  return Illegal(field, Shown(time), "a time as HHMMSS, or empty");
}

absl::Status CheckUid(absl::string_view field, const std::string& uid) {
  if (uid.empty()) return absl::OkStatus();
  const std::vector<std::string> parts = absl::StrSplit(uid, '.');
  bool legal = uid.size() <= 64 && parts.size() >= 2;
  for (const std::string& part : parts) {
    legal = legal && !part.empty() && AllDigits(part) && (part.size() == 1 || part[0] != '0');
  }
  if (legal) return absl::OkStatus();
  return Illegal(field, Shown(uid),
                 "a DICOM UID: at most 64 characters, numbers without leading zeros separated by "
                 "dots; or empty");
}

absl::Status CheckIdentifier(absl::string_view field, const std::string& text) {
  if (IsIdentifier(text, /*least=*/0)) return absl::OkStatus();
  return Illegal(field, Shown(text), "at most 64 characters of [A-Za-z0-9_.-]");
}

absl::Status CheckCodeString(absl::string_view field, const std::string& text) {
  const bool legal =
      text.size() <= 16 && std::all_of(text.begin(), text.end(), [](char c) {
        return absl::ascii_isupper(c) || absl::ascii_isdigit(c) || c == '_' || c == ' ';
      });
  if (legal) return absl::OkStatus();
  return Illegal(field, Shown(text), "at most 16 characters of [A-Z0-9_ ]");
}

}  // namespace isocenter::wire
