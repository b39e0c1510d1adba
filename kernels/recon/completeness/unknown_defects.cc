#include "kernels/recon/completeness/unknown_defects.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace isocenter::recon {
namespace {

constexpr int kReach = 2;  // neighbours at either side
static_assert(UnknownDefects::kMostViews <= 255, "are counted in a byte");

}  // namespace

UnknownDefects::UnknownDefects(const Acquisition& acquisition) : acquisition_(acquisition) {
  const bool looks = acquisition.pixel_type == PixelType::kUint16Counts &&
                     acquisition.calibration != nullptr && acquisition.calibration->response &&
                     acquisition.detector.columns > 2 * kReach;
  const auto views = static_cast<int>(acquisition.trajectory.size());
  if (looks) step_ = (views + kMostViews - 1) / kMostViews;
}

void UnknownDefects::Prepare(std::span<const FrameRow> rows) {
  const int columns = acquisition_.detector.columns;
  const ops::Calibration& known = *acquisition_.calibration;
  signal_.resize(columns);
  times_.resize(rows.size() * columns);
  for (const FrameRow& row : rows) {
    rows_.push_back(row.v);
    const size_t first = static_cast<size_t>(row.v) * columns;
    std::vector<uint8_t> good(columns, 1);
    for (int u = 0; u < columns; ++u) {
      offset_.push_back(known.response->offset_counts[first + u]);
      factor_.push_back(1 / known.response->air_counts[first + u]);
    }
    const auto& pixels = known.defects.pixels;
    for (auto at = std::ranges::lower_bound(pixels, static_cast<int32_t>(first));
         at != pixels.end() && *at < static_cast<int32_t>(first + columns); ++at) {
      good[*at - first] = 0;
    }
    for (int u = 0; u < columns; ++u) {
      bool judged = u >= kReach && u < columns - kReach;
      for (int d = -kReach; judged && d <= kReach; ++d) judged = good[u + d] != 0;
      judged_.push_back(judged);
    }
  }
}

void UnknownDefects::Add(int view, std::span<const FrameRow> rows) {
  if (step_ == 0 || view % step_ != 0) return;
  if (rows_.empty()) Prepare(rows);
  ++views_;
  const int columns = acquisition_.detector.columns;
  std::vector<uint16_t> counts(columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(counts.data(), rows[i].pixels.data(), columns * sizeof(uint16_t));
    const float *offset = &offset_[i * columns], *factor = &factor_[i * columns];
    float* signal = signal_.data();
    for (int u = 0; u < columns; ++u) signal[u] = (counts[u] - offset[u]) * factor[u];
    uint8_t* times = &times_[i * columns];
    for (int u = kReach; u < columns - kReach; ++u) {
      const float p = std::min(signal[u - 2], signal[u - 1]);
      const float q = std::max(signal[u - 2], signal[u - 1]);
      const float r = std::min(signal[u + 1], signal[u + 2]);
      const float s = std::max(signal[u + 1], signal[u + 2]);
      const float inner = std::max(p, r), outer = std::min(q, s);  // the middle two
      const float low = std::min(inner, outer), high = std::max(inner, outer);
      const float margin = std::max(4 * (high - low), std::abs(low + high) / 20);
      times[u] += static_cast<uint8_t>((signal[u] < low - margin) | (signal[u] > high + margin));
    }
  }
}

std::optional<std::string> UnknownDefects::Text() const {
  if (views_ < kLeastViews) return std::nullopt;
  const int columns = acquisition_.detector.columns;
  int64_t found = 0, judged = 0;
  std::string places;
  for (size_t i = 0; i < times_.size(); ++i) {
    judged += judged_[i];
    if (!judged_[i] || times_[i] < kShare * views_) continue;
    if (++found <= 3) {
      absl::StrAppend(&places, places.empty() ? "" : ", ", i % columns, ",", rows_[i / columns]);
    }
  }
  if (found < kLeastPixels) return std::nullopt;
  return absl::StrFormat(
      "%d of %d pixels that were looked at are implausible beside their neighbours in most views, "
      "and the calibration does not have them as defects (column,row: %s%s): they make rings; "
      "pixels have died since the calibration was made, or it is of another detector",
      found, judged, places, found > 3 ? ", …" : "");
}

}  // namespace isocenter::recon
