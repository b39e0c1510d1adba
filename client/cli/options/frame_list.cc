#include "client/cli/options/frame_list.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/flags/wrong_usage.h"

namespace isocenter::cli {

absl::StatusOr<std::set<uint32_t>> ParseFrameList(const std::string& text, uint32_t frame_count) {
  std::set<uint32_t> frames;
  if (text.empty()) return frames;
  for (const absl::string_view item : absl::StrSplit(text, ',')) {
    std::pair<std::string, std::string> ends{item, item};
    if (absl::StrContains(item, "-")) ends = absl::StrSplit(item, absl::MaxSplits('-', 1));
    uint32_t first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first) || !absl::SimpleAtoi(ends.second, &last) ||
        first > last || last >= frame_count) {
      return flags::WrongUsage(absl::StrCat("--skip-frames has '", item,
                                            "'; legal is e.g. 10,20-22 with frames from 0 to ",
                                            int64_t{frame_count} - 1));
    }
    for (uint32_t i = first; i <= last; ++i) frames.insert(i);
  }
  if (frames.size() == frame_count) {
    return flags::WrongUsage(absl::StrCat("--skip-frames is '", text, "', which is all ",
                                          frame_count, "; legal is fewer"));
  }
  return frames;
}

}  // namespace isocenter::cli
