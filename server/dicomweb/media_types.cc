#include "server/dicomweb/media_types.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace isocenter::dicomweb {
namespace {

constexpr size_t kMostRanges = 64;
constexpr char kMultipart[] = "multipart/related";

absl::Status Malformed(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Accept is '", text.substr(0, 200), "', which is none; legal is a list of media types"));
}

/// Takes the text up to the first of `ends`, which stays; blanks around it go.
absl::string_view TakeUntil(absl::string_view ends, absl::string_view& text) {
  const absl::string_view token = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(token.size());
  return absl::StripAsciiWhitespace(token);
}

/// A token or a text in quotes, of which `text` begins with the first character. Empty: neither.
std::optional<std::string> TakeValue(absl::string_view& text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "\"")) return std::string(TakeUntil(";,", text));
  std::string value;
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\') text.remove_prefix(1);
    if (text.empty()) return std::nullopt;
    value.push_back(text.front());
    text.remove_prefix(1);
  }
  if (!absl::ConsumePrefix(&text, "\"")) return std::nullopt;
  text = absl::StripLeadingAsciiWhitespace(text);
  if (!text.empty() && text.front() != ';' && text.front() != ',') return std::nullopt;
  return value;
}

bool IsType(absl::string_view text) {
  const size_t slash = text.find('/');
  return slash != absl::string_view::npos && slash > 0 && slash + 1 < text.size() &&
         std::ranges::all_of(text, [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("!#$&^_.+-*/", c);
         });
}

/// Takes one element; what follows begins with ',' or is empty.
absl::StatusOr<MediaRange> TakeRange(absl::string_view& text) {
  const absl::string_view all = text;
  MediaRange range;
  range.type = absl::AsciiStrToLower(TakeUntil(";,", text));
  if (!IsType(range.type)) return Malformed(all);
  while (absl::ConsumePrefix(&text, ";")) {
    const std::string name = absl::AsciiStrToLower(TakeUntil("=;,", text));
    if (!absl::ConsumePrefix(&text, "=")) {
      if (name.empty()) continue;  // ";;", which does no harm
      return Malformed(all);
    }
    std::optional<std::string> value = TakeValue(text);
    if (!value || name.empty()) return Malformed(all);
    if (name == "q") {
      if (!absl::SimpleAtod(*value, &range.quality) || !(range.quality >= 0) || range.quality > 1) {
        return Malformed(all);
      }
      continue;
    }
    range.parameters[name] = *std::move(value);
  }
  return range;
}

/// Whether `pattern` is the type, or a range that holds it.
bool Holds(absl::string_view pattern, absl::string_view type) {
  if (pattern == "*/*" || pattern == type) return true;
  return absl::ConsumeSuffix(&pattern, "*") && absl::EndsWith(pattern, "/") &&
         absl::StartsWith(type, pattern);
}

bool Accepts(const MediaRange& range, const Form& form) {
  const auto parameter = [&](const char* name) -> absl::string_view {
    const auto found = range.parameters.find(name);
    return found == range.parameters.end() ? absl::string_view() : found->second;
  };
  if (form.multipart && range.type != "*/*") {
    const std::string of_parts = absl::AsciiStrToLower(parameter("type"));
    if (!Holds(range.type, kMultipart)) return false;
    if (!of_parts.empty() && !Holds(of_parts, form.type)) return false;
  } else if (!Holds(range.type, form.type)) {
    return false;
  }
  const absl::string_view syntax = parameter("transfer-syntax");
  return syntax.empty() || syntax == "*" || form.transfer_syntax.empty() ||
         syntax == form.transfer_syntax;
}

}  // namespace

std::string Form::Text() const {
  const std::string syntax =
      transfer_syntax.empty() ? "" : absl::StrCat("; transfer-syntax=", transfer_syntax);
  if (multipart) return absl::StrCat(kMultipart, "; type=\"", type, "\"", syntax);
  return absl::StrCat(type, syntax);
}

absl::StatusOr<std::vector<MediaRange>> ParseAccept(absl::string_view text) {
  const absl::string_view all = text;
  std::vector<MediaRange> ranges;
  while (true) {
    text = absl::StripLeadingAsciiWhitespace(text);
    if (text.empty()) return ranges;
    if (absl::ConsumePrefix(&text, ",")) continue;
    if (ranges.size() == kMostRanges) {
      return absl::InvalidArgumentError(
          absl::StrCat("Accept has more media types than ", kMostRanges, ", which are legal"));
    }
    absl::StatusOr<MediaRange> range = TakeRange(text);
    if (!range.ok()) return Malformed(all);
    ranges.push_back(*std::move(range));
  }
}

std::optional<Form> Choose(std::span<const MediaRange> accepted, std::span<const Form> forms) {
  if (accepted.empty()) return forms.front();
  const Form* best = nullptr;
  double best_quality = 0;
  for (const Form& form : forms) {
    for (const MediaRange& range : accepted) {
      if (range.quality > best_quality && Accepts(range, form)) {
        best = &form;
        best_quality = range.quality;
      }
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace isocenter::dicomweb
