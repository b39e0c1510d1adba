#include "client/formats/json_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

constexpr char kBlanks[] = " \t\r\n";

/// Whether what the parser read last is a text that has no end yet.
bool IsUnclosedText(absl::string_view read) {
  if (!absl::ConsumePrefix(&read, "\"")) return false;
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i] == '"') return false;
    if (read[i] == '\\') ++i;
  }
  return true;
}

/// Follows the parser to where it gives up. The library's own words are for those who know its
/// grammar.
class FirstMistake : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit FirstMistake(absl::string_view text) : text_(text) {}

  bool null() override { return OnValue(); }
  bool boolean(bool) override { return OnValue(); }
  bool number_integer(number_integer_t) override { return OnValue(); }
  bool number_unsigned(number_unsigned_t) override { return OnValue(); }
  bool number_float(number_float_t, const string_t&) override { return OnValue(); }
  bool string(string_t&) override { return OnValue(); }
  bool binary(binary_t&) override { return OnValue(); }
  bool start_object(std::size_t) override { return Open('{'); }
  bool start_array(std::size_t) override { return Open('['); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t&) override {
    after_name_ = true;
    return true;
  }
  bool parse_error(std::size_t bytes_read, const std::string& last_read,
                   const nlohmann::detail::exception&) override {
    // One more than there are: the end was read.
    at_ = bytes_read > text_.size() ? text_.size() : bytes_read - std::min<size_t>(bytes_read, 1);
    in_text_ = IsUnclosedText(last_read);
    if (at_ < text_.size() && !in_text_) at_ = BeginOfWord(at_);
    return false;
  }

  /// "LINE:COLUMN: ..."; of a column, bytes count.
  std::string Told() const {
    const absl::string_view before = text_.substr(0, at_);
    const size_t line = 1 + std::ranges::count(before, '\n');
    const size_t begin = before.rfind('\n') == absl::string_view::npos ? 0 : before.rfind('\n') + 1;
    return absl::StrCat(line, ":", at_ - begin + 1, ": ", Found(), "; legal is ", Legal());
  }

 private:
  bool OnValue() {
    after_name_ = false;
    return true;
  }
  bool Open(char bracket) {
    open_.push_back(bracket);
    return OnValue();
  }
  bool Close() {
    open_.pop_back();
    return OnValue();
  }

  /// Of a text, number or word that ends at a byte; of a mark, the mark itself.
  size_t BeginOfWord(size_t end) const {
    size_t begin = end;
    if (text_[end] == '"') {
      do {
        if (begin == 0) return end;
        begin = text_.rfind('"', begin - 1);
        if (begin == absl::string_view::npos) return end;
      } while (begin > 0 && text_[begin - 1] == '\\');
      return begin;
    }
    const absl::string_view marks = "{}[],:\" \t\r\n";
    if (absl::StrContains(marks, text_[end])) return end;
    while (begin > 0 && !absl::StrContains(marks, text_[begin - 1])) --begin;
    return begin;
  }

  std::string Found() const {
    if (at_ == text_.size()) return in_text_ ? "the file ends in a text" : "the file ends here";
    constexpr size_t kShown = 20;
    const absl::string_view rest = text_.substr(at_);
    if (in_text_) {
      return absl::StrCat("'", absl::CHexEscape(rest.substr(0, 1)), "' cannot stand in a text");
    }
    const size_t length = rest[0] == '"' ? rest.size() : rest.find_first_of(",:{}[] \t\r\n", 1);
    return absl::StrCat("'", absl::CHexEscape(rest.substr(0, std::min(length, kShown))),
                        "' cannot stand here");
  }
  std::string Legal() const {
    if (in_text_) return "characters of UTF-8 on one line, \\ as \\\\, and '\"' at its end";
    const absl::string_view before = absl::StripAsciiWhitespace(text_.substr(0, at_));
    const char last = before.empty() ? '\0' : before.back();
    if (open_.empty()) {
      return before.empty() || last == '\xBF' ? "an object, which begins with '{'"
                                              : "nothing behind the object's '}'";
    }
    const bool in_object = open_.back() == '{';
    if (last == ',') return in_object ? "a name in \"...\" after a comma" : "a value after a comma";
    if (last == '{') return "a name in \"...\" or '}'";
    if (last == '[') return "a value or ']'";
    if (last == ':') return "a value, of which a text stands in \"...\" on one line";
    if (after_name_) return last == '"' ? "':' and a value" : "a value that is whole";
    return in_object ? "',' or '}'" : "',' or ']'";
  }

  const absl::string_view text_;
  std::vector<char> open_;  // brackets
  bool after_name_ = false;
  bool in_text_ = false;
  size_t at_ = 0;
};

/// Of two members of one name the library keeps the last, in silence.
class NamesOfObjects {
 public:
  bool Read(nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(parsed.get<std::string>()).second) {
      twice_ = parsed.get<std::string>();
    }
    return true;
  }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> twice_;
};

}  // namespace

absl::StatusOr<nlohmann::json> ParseJsonObject(absl::string_view text, absl::string_view file) {
  if (text.find_first_not_of(kBlanks) == absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, " is empty: it has ", text.size(), " bytes and no JSON; legal is an object, {...}"));
  }
  NamesOfObjects names;
  auto json = nlohmann::json::parse(
      text,
      [&](int, auto event, const nlohmann::json& parsed) { return names.Read(event, parsed); },
      /*allow_exceptions=*/false);
  if (names.twice() && json.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " has two members '", *names.twice(),
                                                   "' in one object; legal is one of a name"));
  }
  if (json.is_object()) return json;
  if (!json.is_discarded()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " is a JSON ", json.type_name(), "; legal is an object, {...}"));
  }
  FirstMistake mistake(text);
  nlohmann::json::sax_parse(text, &mistake);
  return absl::InvalidArgumentError(absl::StrCat(file, ":", mistake.Told()));
}

absl::StatusOr<nlohmann::json> ReadJsonObject(const std::filesystem::path& path,
                                              uint64_t limit_bytes) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadText(path, limit_bytes));
  return ParseJsonObject(text, path.string());
}

}  // namespace isocenter::formats
