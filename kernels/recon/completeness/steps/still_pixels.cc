#include "kernels/recon/completeness/steps/still_pixels.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

static_assert(StillPixels::kMostViews <= 255, "are counted in a byte");

constexpr uint32_t kCounterEnd = 65535;

}  // namespace

StillPixels::StillPixels(const Acquisition& acquisition)
    : acquisition_(acquisition),
      step_((static_cast<int>(acquisition.trajectory.size()) + kMostViews - 1) / kMostViews) {}

void StillPixels::Add(int view, std::span<const FrameRow> rows) {
  if (view % step_ != 0) return;
  const size_t columns = acquisition_.detector.columns;
  if (views_ == 0) {
    for (const FrameRow& row : rows) rows_.push_back(row.v);
    last_.resize(rows.size() * columns);
    repeats_.resize(rows.size() * columns);
  }
  const size_t bytes =
      acquisition_.pixel_type == PixelType::kUint16Counts ? sizeof(uint16_t) : sizeof(float);
  size_t at = 0;
  for (const FrameRow& row : rows) {
    for (size_t u = 0; u < columns; ++u, ++at) {
      uint32_t value = 0;
      std::memcpy(&value, &row.pixels[u * bytes], bytes);
      repeats_[at] += static_cast<uint8_t>(views_ > 0 && value == last_[at]);
      last_[at] = value;
    }
  }
  ++views_;
}

bool StillPixels::IsStill(size_t at) const {
  if (repeats_[at] != views_ - 1 || last_[at] == 0) return false;
  if (acquisition_.pixel_type == PixelType::kUint16Counts && last_[at] == kCounterEnd) return false;
  const size_t columns = acquisition_.detector.columns, u = at % columns;
  const auto is_filled_as = [&](size_t other) {
    return repeats_[other] == views_ - 1 && last_[other] == last_[at];
  };
  if ((u > 0 && is_filled_as(at - 1)) || (u + 1 < columns && is_filled_as(at + 1))) return false;
  if (acquisition_.calibration == nullptr) return true;
  const auto pixel = static_cast<int32_t>(rows_[at / columns] * columns + u);
  return !std::ranges::binary_search(acquisition_.calibration->defects.pixels, pixel);
}

std::optional<std::string> StillPixels::Text() const {
  if (views_ < kLeastViews) return std::nullopt;
  const size_t columns = acquisition_.detector.columns;
  int64_t still = 0, moving = 0, repeats = 0;
  std::string places;
  for (size_t at = 0; at < last_.size(); ++at) {
    if (repeats_[at] < views_ - 1) {
      ++moving;
      repeats += repeats_[at];
    }
    if (!IsStill(at)) continue;
    if (++still <= 3) {
      absl::StrAppend(&places, places.empty() ? "" : ", ", at % columns, ",", rows_[at / columns]);
    }
  }
  if (still < kLeastPixels || static_cast<double>(still) > kMost * static_cast<double>(moving) ||
      static_cast<double>(repeats) > kMostRepeats * (views_ - 1) * static_cast<double>(moving)) {
    return std::nullopt;
  }
  return absl::StrFormat(
      "%d of %d pixels that were looked at have one value each in all views (column,row: %s%s), "
      "where all others have noise: a part of the detector, or of what delivers its frames, stands "
      "still, and what it hides is made into rings and streaks",
      still, last_.size(), places, still > 3 ? ", …" : "");
}

}  // namespace isocenter::recon
