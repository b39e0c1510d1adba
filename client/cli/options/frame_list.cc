#include "client/cli/options/frame_list.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace isocenter::cli {
namespace {

constexpr uint32_t kMaxIndex = 9999;  // AcquisitionHeader.frame_count is at most 10000

}  // namespace

absl::StatusOr<std::set<uint32_t>> ParseFrameList(const std::string& text) {
  std::set<uint32_t> frames;
  if (text.empty()) return frames;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    std::pair<std::string, std::string> ends{item, item};
    if (absl::StrContains(item, "-")) ends = absl::StrSplit(item, absl::MaxSplits('-', 1));
    uint32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first) || !absl::SimpleAtoi(ends.second, &last) ||
        first > last || last > kMaxIndex) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the list of frames has '", item, "'; legal is e.g. 10,20-22 with 0 to ", kMaxIndex));
    }
    for (uint32_t i = first; i <= last; ++i) frames.insert(i);
  }
  return frames;
}

}  // namespace isocenter::cli
