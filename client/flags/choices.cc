#include "client/flags/choices.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "kernels/base/nearest.h"

namespace isocenter::flags {

CLI::Validator ChoiceOf(const std::vector<std::string>& legal) {
  const auto check = [legal](std::string& text) -> std::string {
    if (std::ranges::find(legal, text) != legal.end()) return "";
    return absl::StrCat("'", text, "'", LegalText(legal), DidYouMean(text, legal));
  };
  return CLI::Validator(check, absl::StrCat("{", absl::StrJoin(legal, ","), "}"));
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  // The help shows the list behind the type: "TEXT:{a,b}".
  const std::string shown = option.get_type_name();
  const size_t open = shown.find('{'), close = shown.find('}');
  if (open == std::string::npos || close == std::string::npos || close <= open) return {};
  return absl::StrSplit(shown.substr(open + 1, close - open - 1), ',');
}

std::vector<std::string> WordsOf(const CLI::Option& option) {
  const std::vector<std::string> parts = absl::StrSplit(option.get_type_name(), '|');
  std::vector<std::string> words;
  for (const std::string& part : parts) {
    if (parts.size() > 1 && !part.empty() && absl::ascii_islower(part.front())) {
      words.push_back(part);
    }
  }
  return words;
}

std::string Either(const std::vector<std::string>& names) {
  if (names.size() < 2) return absl::StrJoin(names, "");
  return absl::StrCat(absl::StrJoin(names.begin(), names.end() - 1, ", "), " or ", names.back());
}

std::string LegalText(const std::vector<std::string>& legal) {
  return legal.empty() ? "" : absl::StrCat("; legal is ", Either(legal));
}

}  // namespace isocenter::flags
