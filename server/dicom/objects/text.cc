#include "server/dicom/objects/text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace isocenter::dicom {
namespace {

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

bool AllDigits(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

int Number(absl::string_view digits) {
  int value = -1;
  return absl::SimpleAtoi(digits, &value) ? value : -1;
}

}  // namespace

std::string Text(absl::string_view utf8, int max_characters) {
  std::string text(utf8);
  for (char& c : text) {
    if (c == '\\' || absl::ascii_iscntrl(c)) c = ' ';
  }
  absl::StripAsciiWhitespace(&text);
  int characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (ContinuesCharacter(text[i])) continue;
    if (characters++ == max_characters) {
      text.resize(i);
      absl::StripAsciiWhitespace(&text);
      break;
    }
  }
  return text;
}

std::string CodeString(absl::string_view text) {
  std::string code = absl::AsciiStrToUpper(text);
  for (char& c : code) {
    if (!absl::ascii_isupper(c) && !absl::ascii_isdigit(c) && c != '_') c = ' ';
  }
  return Text(code, 16);
}

std::string PersonName(absl::string_view utf8) {
  std::vector<std::string> groups;
  for (absl::string_view group : absl::StrSplit(utf8, absl::MaxSplits('=', 2))) {
    groups.push_back(Text(group, 64));
  }
  return absl::StrJoin(groups, "=");
}

std::string DecimalString(double value) {
  if (value == 0) return "0";  // and not "-0"
  for (int digits = 16; digits > 1; --digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    if (text.size() <= 16) return text;
  }
  return absl::StrFormat("%.1g", value);
}

std::string DateOrNothing(absl::string_view text) {
  const bool legal = text.size() == 8 && AllDigits(text) && Number(text.substr(4, 2)) >= 1 &&
                     Number(text.substr(4, 2)) <= 12 && Number(text.substr(6, 2)) >= 1 &&
                     Number(text.substr(6, 2)) <= 31;
  return legal ? std::string(text) : "";
}

std::string TimeOrNothing(absl::string_view text) {
  const bool legal = text.size() == 6 && AllDigits(text) && Number(text.substr(0, 2)) < 24 &&
                     Number(text.substr(2, 2)) < 60 && Number(text.substr(4, 2)) < 60;
  return legal ? std::string(text) : "";
}

std::string LocalDate(absl::Time time) {
  return absl::FormatTime("%Y%m%d", time, absl::LocalTimeZone());
}

std::string LocalTime(absl::Time time) {
  return absl::FormatTime("%H%M%S", time, absl::LocalTimeZone());
}

std::string SexCode(const std::string& sex) {
  return sex == "M" || sex == "F" || sex == "O" ? sex : "";
}

}  // namespace isocenter::dicom
