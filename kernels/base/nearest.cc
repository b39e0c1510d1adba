#include "kernels/base/nearest.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"

namespace isocenter {
namespace {

constexpr size_t kLongestWord = 64;
constexpr size_t kShortestPart = 3;
constexpr size_t kMostOffered = 4;

/// Without what is no mistake.
std::string Plain(absl::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  return absl::StrReplaceAll(absl::AsciiStrToLower(word), {{"-", "_"}});
}

size_t Mistakes(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

std::vector<std::string> Those(const std::vector<std::string>& candidates,
                               bool (*fits)(absl::string_view, absl::string_view),
                               absl::string_view plain) {
  std::vector<std::string> found;
  for (const std::string& candidate : candidates) {
    if (fits(Plain(candidate), plain)) found.push_back(candidate);
  }
  return found;
}

/// The candidates that begin with the word, else those that end with it.
std::vector<std::string> Completed(absl::string_view word,
                                   const std::vector<std::string>& candidates) {
  const std::string plain = Plain(word);
  if (plain.size() < kShortestPart) return {};
  const auto begins = [](absl::string_view a, absl::string_view b) {
    return absl::StartsWith(a, b);
  };
  const auto ends = [](absl::string_view a, absl::string_view b) { return absl::EndsWith(a, b); };
  std::vector<std::string> found = Those(candidates, begins, plain);
  return found.empty() ? Those(candidates, ends, plain) : found;
}

/// "A", "A or B", "A, B or C".
std::string OneOf(const std::vector<std::string>& names) {
  const absl::Span<const std::string> but_last(names.data(), names.size() - 1);
  return but_last.empty() ? names.front()
                          : absl::StrCat(absl::StrJoin(but_last, ", "), " or ", names.back());
}

}  // namespace

std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates) {
  const std::string plain = Plain(word);
  if (plain.empty() || plain.size() > kLongestWord) return "";
  // One letter from a processor, and no processor: whoever writes it means the backend of GPUs.
  const bool is_gpu = plain == "gpu";
  if (is_gpu && std::ranges::find(candidates, "cuda") != candidates.end()) return "cuda";
  std::string nearest;
  size_t fewest = std::max<size_t>(1, plain.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string other = Plain(candidate);
    if (other.size() > kLongestWord + fewest) continue;
    const size_t mistakes = Mistakes(plain, other);
    // All letters of a short name wrong is another name.
    if (mistakes >= fewest || mistakes >= other.size() || (is_gpu && other == "cpu")) continue;
    fewest = mistakes;
    nearest = candidate;
  }
  if (!nearest.empty()) return nearest;
  const std::vector<std::string> completed = Completed(word, candidates);
  return completed.size() == 1 ? completed.front() : "";
}

std::string DidYouMean(absl::string_view word, const std::vector<std::string>& candidates) {
  if (const std::string nearest = Nearest(word, candidates); !nearest.empty()) {
    return absl::StrCat("; did you mean ", nearest, "?");
  }
  const std::vector<std::string> completed = Completed(word, candidates);
  if (completed.empty() || completed.size() > kMostOffered || word.size() > kLongestWord) return "";
  return absl::StrCat("; did you mean ", OneOf(completed), "?");
}

}  // namespace isocenter
