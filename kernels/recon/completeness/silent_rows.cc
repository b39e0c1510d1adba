#include "kernels/recon/completeness/silent_rows.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::recon {

SilentRows::SilentRows(const Acquisition& acquisition)
    : acquisition_(acquisition),
      known_(acquisition.detector.rows),
      looks_(acquisition.detector.rows),
      silent_(acquisition.detector.rows) {
  if (acquisition.calibration == nullptr) return;
  for (const int32_t pixel : acquisition.calibration->defects.pixels) {
    ++known_[pixel / acquisition.detector.columns];
  }
}

int SilentRows::first_row(int view) const {
  return acquisition_.pixel_type == PixelType::kUint16Counts ? view % kStep
                                                             : acquisition_.detector.rows;
}

void SilentRows::Add(const FrameRow& row) {
  int64_t zeros = 0;
  for (size_t at = 0; at < row.pixels.size(); at += sizeof(uint16_t)) {
    uint16_t count = 0;
    std::memcpy(&count, &row.pixels[at], sizeof count);
    zeros += count == 0;
  }
  ++looks_[row.v];
  const double columns = acquisition_.detector.columns;
  silent_[row.v] += static_cast<double>(zeros) >= kSilent * columns;
}

std::optional<std::string> SilentRows::Text() const {
  const int rows = acquisition_.detector.rows;
  std::vector<int> found;
  for (int v = 0; v < rows; ++v) {
    const bool is_known = known_[v] >= kSilent * acquisition_.detector.columns;
    if (looks_[v] >= kLeastLooks && silent_[v] == looks_[v] && !is_known) found.push_back(v);
  }
  if (found.empty() || static_cast<double>(found.size()) > kMostRows * rows) return std::nullopt;
  constexpr size_t kShown = 5;
  const size_t count = found.size();
  found.resize(std::min(kShown, count));
  return absl::StrCat(count, " of ", rows, count == 1 ? " rows counts" : " rows count",
                      " nothing in any frame that was looked at (row ", absl::StrJoin(found, ", "),
                      count > kShown ? ", ..." : "",
                      "): what they hide is lost, and makes streaks, unless a calibration has them "
                      "as defects");
}

}  // namespace isocenter::recon
