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
  const bool looks = acquisition.detector.columns > 2 * kReach;
  const auto views = static_cast<int>(acquisition.trajectory.size());
  if (looks) step_ = (views + kMostViews - 1) / kMostViews;
}

void UnknownDefects::Prepare(std::span<const FrameRow> rows) {
  const int columns = acquisition_.detector.columns;
  const ops::Calibration none;
  const ops::Calibration& known =
      acquisition_.calibration != nullptr ? *acquisition_.calibration : none;
  signal_.resize(columns);
  times_.resize(rows.size() * columns);
  for (const FrameRow& row : rows) {
    rows_.push_back(row.v);
    const size_t first = static_cast<size_t>(row.v) * columns;
    std::vector<uint8_t> good(columns, 1);
    for (int u = 0; u < columns; ++u) {
      offset_.push_back(known.response ? known.response->offset_counts[first + u] : 0);
      factor_.push_back(known.response ? 1 / known.response->air_counts[first + u] : 1);
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
  for (size_t i = 0; i < rows.size(); ++i) {
    float* signal = signal_.data();
    ReadSignal(rows[i], i);
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

void UnknownDefects::ReadSignal(const FrameRow& row, size_t index) {
  const int columns = acquisition_.detector.columns;
  float* signal = signal_.data();
  if (acquisition_.pixel_type == PixelType::kFloat32LineIntegrals) {
    std::memcpy(signal, row.pixels.data(), columns * sizeof(float));
    // What is no number lets nothing through, and nothing lets through more than air.
    for (int u = 0; u < columns; ++u) {
      signal[u] = std::isfinite(signal[u]) ? std::exp(-std::max(signal[u], -1.0F)) : 0;
    }
    return;
  }
  const float *offset = &offset_[index * columns], *factor = &factor_[index * columns];
  for (int u = 0; u < columns; ++u) {
    uint16_t count;
    std::memcpy(&count, &row.pixels[u * sizeof count], sizeof count);
    signal[u] = (count - offset[u]) * factor[u];
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
  const char* unknown = "the calibration does not have them as defects";
  const char* reason =
      "pixels have died since the calibration was made, or it is of another detector, or rows or "
      "columns are read the other way round than when it was made";
  if (acquisition_.pixel_type == PixelType::kFloat32LineIntegrals) {
    unknown = "nobody has interpolated them";
    reason = "legal are line integrals of a detector that is corrected";
  } else if (acquisition_.calibration == nullptr) {
    unknown = "no calibration has them as defects";
    reason = "isocenter reconstruct --find-defects interpolates them";
  }
  return absl::StrFormat(
      "%d of %d pixels that were looked at are implausible beside their neighbours in most views, "
      "and %s (column,row: %s%s): they make rings; %s",
      found, judged, unknown, places, found > 3 ? ", …" : "", reason);
}

}  // namespace isocenter::recon
