#include "kernels/calibrate/new_defects.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/defects.h"
#include "kernels/calibrate/transmission.h"

namespace isocenter::calibrate {
namespace {

constexpr size_t kLeastNeighbours = 5;

/// Without offsets and gains, counts themselves; not a number where a pixel is known to be
/// defective.
std::vector<float> Signals(std::span<const uint16_t> counts, const ops::Calibration& known) {
  if (known.response) return Normalized(counts, *known.response, known.defects);
  std::vector<float> signals(counts.begin(), counts.end());
  for (const int32_t pixel : known.defects.pixels) {
    signals[pixel] = std::numeric_limits<float>::quiet_NaN();
  }
  return signals;
}

bool IsImplausible(const std::vector<float>& frame, const Detector& detector, int u, int v) {
  const auto at = [&](int x, int y) { return frame[size_t(y) * detector.columns + x]; };
  const float own = at(u, v);
  if (std::isnan(own)) return false;
  std::array<float, 8> around;  // ascending
  size_t count = 0;
  for (int y = std::max(v - 1, 0); y <= std::min(v + 1, detector.rows - 1); ++y) {
    for (int x = std::max(u - 1, 0); x <= std::min(u + 1, detector.columns - 1); ++x) {
      const float value = at(x, y);
      if ((x == u && y == v) || std::isnan(value)) continue;
      size_t place = count++;
      for (; place > 0 && around[place - 1] > value; --place) around[place] = around[place - 1];
      around[place] = value;
    }
  }
  if (count < kLeastNeighbours) return false;
  const size_t left_out = count / 4;
  const float low = around[left_out], high = around[count - 1 - left_out];
  const float margin = std::max(2 * (high - low), std::abs(low + high) / 20);
  return own < low - margin || own > high + margin;
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> FindNewDefects(StridedView3<const uint16_t> frames,
                                                    const ops::Calibration& known,
                                                    ThreadPool& pool) {
  const Shape3 shape = frames.shape();
  if (shape.slow < kLeastScanFrames) {
    return absl::InvalidArgumentError(absl::StrCat("new defects cannot be found in ", shape.slow,
                                                   " frames; legal is ", kLeastScanFrames,
                                                   " or more"));
  }
  const Detector& detector = known.detector;
  const size_t pixels = size_t(shape.middle) * shape.fast;
  const int64_t step = (shape.slow + kMostScanFrames - 1) / kMostScanFrames;
  std::vector<uint16_t> times(pixels);
  int looked_at = 0;
  for (int64_t view = 0; view < shape.slow; view += step, ++looked_at) {
    const std::vector<float> frame = Signals({frames.row(view, 0), pixels}, known);
    pool.ParallelFor(detector.rows, [&](int64_t v, int) {
      for (int u = 0; u < detector.columns; ++u) {
        times[v * detector.columns + u] +=
            static_cast<uint16_t>(IsImplausible(frame, detector, u, static_cast<int>(v)));
      }
    });
  }
  std::vector<int32_t> found;
  for (size_t i = 0; i < pixels; ++i) {
    if (times[i] >= kDefectiveShare * looked_at) found.push_back(static_cast<int32_t>(i));
  }
  const double percent = 100.0 * static_cast<double>(found.size()) / static_cast<double>(pixels);
  if (percent > kMostDefectivePercent) {
    return NotGoodEnough({"the share of pixels that are new defects", percent, "%"},
                         absl::StrCat("at most ", kMostDefectivePercent, " %"),
                         "the calibration is not of this detector, or it has to be made again");
  }
  ops::DefectMap all = known.defects;
  all.pixels.insert(all.pixels.end(), found.begin(), found.end());
  std::sort(all.pixels.begin(), all.pixels.end());
  const absl::Status bridged = ops::CheckDefectMap(all, detector);
  if (bridged.ok()) return found;
  return absl::FailedPreconditionError(absl::StrCat("with new defects, ", bridged.message()));
}

}  // namespace isocenter::calibrate
