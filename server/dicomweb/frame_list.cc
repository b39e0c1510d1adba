#include "server/dicomweb/frame_list.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace isocenter::dicomweb {

absl::StatusOr<std::vector<int>> ParseFrames(absl::string_view text, int frames) {
  std::vector<int> list;
  std::set<int> seen;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int frame = 0;
    const bool is_number = !part.empty() && std::ranges::all_of(part, absl::ascii_isdigit);
    if (!is_number) {
      return absl::InvalidArgumentError(absl::StrCat("a frame is '", part.substr(0, 40),
                                                     "'; legal are 1 to ", frames,
                                                     ", with commas between them"));
    }
    if (!absl::SimpleAtoi(part, &frame) || frame < 1 || frame > frames) {
      return absl::NotFoundError(
          absl::StrCat("there is no frame ", part.substr(0, 40), "; legal are 1 to ", frames));
    }
    if (!seen.insert(frame).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame ", frame, " is asked for twice; legal is once"));
    }
    list.push_back(frame);
  }
  return list;
}

}  // namespace isocenter::dicomweb
