#include "server/http/transport/http.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace isocenter::http {

absl::string_view Request::Header(const std::string& lower_case_name) const {
  const auto found = headers.find(lower_case_name);
  return found == headers.end() ? absl::string_view() : absl::string_view(found->second);
}

std::optional<std::string> Request::Parameter(absl::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Request::List(absl::string_view name) const {
  std::vector<std::string> list;
  for (const auto& [key, value] : query) {
    if (key != name) continue;
    for (const absl::string_view part : absl::StrSplit(value, ',', absl::SkipEmpty())) {
      list.emplace_back(part);
    }
  }
  return list;
}

absl::string_view Request::Cookie(absl::string_view name) const {
  for (absl::string_view pair : absl::StrSplit(Header("cookie"), ';')) {
    pair = absl::StripAsciiWhitespace(pair);
    if (absl::ConsumePrefix(&pair, name) && absl::ConsumePrefix(&pair, "=")) return pair;
  }
  return {};
}

bool Request::AcceptsGzip() const {
  for (const absl::string_view coding : absl::StrSplit(Header("accept-encoding"), ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(coding, ';');
    const absl::string_view name = absl::StripAsciiWhitespace(parts.front());
    if (!absl::EqualsIgnoreCase(name, "gzip")) continue;
    double quality = 1;
    if (parts.size() > 1) {
      absl::string_view weight = absl::StripAsciiWhitespace(parts[1]);
      if (!absl::ConsumePrefix(&weight, "q=") || !absl::SimpleAtod(weight, &quality)) return false;
    }
    return quality > 0;
  }
  return false;
}

bool Matches(absl::string_view if_none_match, absl::string_view etag) {
  for (absl::string_view tag : absl::StrSplit(if_none_match, ',')) {
    tag = absl::StripAsciiWhitespace(tag);
    absl::ConsumePrefix(&tag, "W/");
    if (tag == etag || tag == "*") return true;
  }
  return false;
}

std::optional<std::string> Decode(absl::string_view text, bool plus) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      uint32_t value = 0;
      if (i + 2 >= text.size() || !absl::ascii_isxdigit(text[i + 1]) ||
          !absl::ascii_isxdigit(text[i + 2]) ||
          !absl::SimpleHexAtoi(text.substr(i + 1, 2), &value)) {
        return std::nullopt;
      }
      c = static_cast<char>(value);
      i += 2;
    } else if (plus && c == '+') {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    decoded.push_back(c);
  }
  return decoded;
}

std::optional<std::vector<std::pair<std::string, std::string>>> ParseQuery(absl::string_view text) {
  std::vector<std::pair<std::string, std::string>> query;
  for (const absl::string_view pair : absl::StrSplit(text, '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(pair, absl::MaxSplits('=', 1));
    std::optional<std::string> name = Decode(parts.first, true);
    std::optional<std::string> value = Decode(parts.second, true);
    if (!name || !value) return std::nullopt;
    query.emplace_back(*std::move(name), *std::move(value));
  }
  return query;
}

}  // namespace isocenter::http
