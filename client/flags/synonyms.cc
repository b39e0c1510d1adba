#include "client/flags/synonyms.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/nearest.h"

namespace isocenter::flags {
namespace {

/// Of several with one word, the first that a command has is meant.
struct Synonym {
  absl::string_view word, ours;
  absl::string_view value = "";  // of a flag, as its help names it
};

constexpr Synonym kSynonyms[] = {
    {"--port", "--grpc_address", " HOST:PORT"},
    {"--port", "--server", " HOST:PORT"},
    {"--host", "--grpc_address", " HOST:PORT"},
    {"--host", "--server", " HOST:PORT"},
    {"--method", "--algorithm", " NAME"},
    {"--method", "--protocol", " NAME"},
    {"--algorithm", "--protocol", " NAME"},
    {"--iterations", "--protocol", " NAME"},  // which has them
    {"--correct", "--calibration"},
    {"--corrections", "--calibration"},
    {"--destination", "--to", " AE"},
    {"--pacs", "--to", " AE"},
    {"put", "add"},
    {"push", "add"},
    {"upload", "add"},
    {"delete", "withdraw"},
    {"remove", "withdraw"},
    {"remove", "delete"},
};

}  // namespace

std::string SynonymMeant(absl::string_view word, const std::vector<std::string>& names) {
  for (const Synonym& synonym : kSynonyms) {
    if (synonym.word != word || std::ranges::find(names, synonym.ours) == names.end()) continue;
    return absl::StrCat("; did you mean ", synonym.ours, synonym.value, "?");
  }
  return "";
}

std::string NearSynonymMeant(absl::string_view word, const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const Synonym& synonym : kSynonyms) words.emplace_back(synonym.word);
  return SynonymMeant(Nearest(word, words), names);
}

}  // namespace isocenter::flags
