#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/check.h"

namespace isocenter::cpu {
namespace {

/// A row of a frame with the values above which its pixels are overexposed, not a number where one
/// is defective.
struct Row {
  const float* bounds;
  float* pixels;
  int columns;
  int fit;  // pixels that tell of an edge
  double dose;

  bool overexposed(int u) const { return pixels[u] > bounds[u]; }
  bool good(int u) const { return pixels[u] <= bounds[u]; }
  // Vectorised by the compiler.
  bool AnyOverexposed() const {
    int any = 0;
    for (int u = 0; u < columns; ++u) any |= static_cast<int>(pixels[u] > bounds[u]);
    return any != 0;
  }
};

/// p² at the end of a run, and by how much it falls with each pixel into it. `known`: there are
/// pixels that tell.
struct Edge {
  double square = 0, fall = 0;
  bool known = false;

  double SquareAt(int distance) const { return known ? square - fall * distance : 0; }
};

Edge FindEdge(const Row& row, int end, int direction) {
  double n = 0, s_sum = 0, q_sum = 0, ss = 0, sq = 0;
  for (int s = 1; s <= 2 * row.fit && n < row.fit; ++s) {
    const int u = end + s * direction;
    if (u < 0 || u >= row.columns || row.overexposed(u)) break;
    if (!row.good(u)) continue;
    const double through = std::max(row.pixels[u] / row.dose, std::exp(-ops::kLongestLineIntegral));
    const double p = std::max(0.0, -std::log(through));
    n += 1;
    s_sum += s;
    q_sum += p * p;
    ss += double(s) * s;
    sq += s * p * p;
  }
  if (n == 0) return {};
  const double covariance = sq - s_sum * q_sum / n, variance = ss - s_sum * s_sum / n;
  const double fall = covariance > 0 ? covariance / variance : 0;
  return {.square = (q_sum - fall * s_sum) / n, .fall = fall, .known = true};
}

void RecoverRow(const Row& row) {
  for (int first = 0; first < row.columns; ++first) {
    if (row.good(first)) continue;
    int last = first;
    bool any = row.overexposed(first);
    while (last + 1 < row.columns && !row.good(last + 1)) any |= row.overexposed(++last);
    if (any) {
      const Edge before = FindEdge(row, first, -1), after = FindEdge(row, last, 1);
      for (int u = first; u <= last; ++u) {
        if (!row.overexposed(u)) continue;
        const double square = std::max({0.0, before.SquareAt(u - first), after.SquareAt(last - u)});
        row.pixels[u] =
            std::max(row.pixels[u], static_cast<float>(row.dose * std::exp(-std::sqrt(square))));
      }
    }
    first = last;
  }
}

class RecoverOverexposedRows final : public ops::RecoverOverexposed {
 public:
  RecoverOverexposedRows(const ops::Calibration& calibration, std::shared_ptr<ThreadPool> pool,
                         DeviceMemory memory)
      : RecoverOverexposed(calibration.detector),
        known_(calibration.response->full_scale_counts > 0),
        fit_(ops::OverexposedFit(detector())),
        layout_({1, detector().rows, detector().columns}),
        pool_(std::move(pool)),
        bounds_(std::move(memory)) {
    if (!known_) return;
    std::fill_n(bounds_.data(), bounds_.floats(), std::numeric_limits<float>::infinity());
    const ops::PixelResponse& response = *calibration.response;
    for (int v = 0; v < detector().rows; ++v) {
      for (int u = 0; u < detector().columns; ++u) {
        const size_t pixel = size_t(v) * detector().columns + u;
        // Half a count below: readings are whole numbers.
        bounds(v)[u] =
            static_cast<float>((response.full_scale_counts - 0.5 - response.offset_counts[pixel]) /
                               response.air_counts[pixel]);
      }
    }
    for (const int32_t pixel : calibration.defects.pixels) {
      bounds(pixel / detector().columns)[pixel % detector().columns] =
          std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  absl::Status DoRun(std::span<const float> given, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (!known_) return absl::OkStatus();
    const int64_t rows = detector().rows;
    pool_->ParallelFor(static_cast<int64_t>(given.size()) * rows, [&](int64_t index, int) {
      const int64_t view = index / rows, v = index % rows;
      if (given[view] == 0) return;
      const Row row{.bounds = bounds(v),
                    .pixels = stack->data() + view * layout_.view_stride + v * layout_.row_stride,
                    .columns = detector().columns,
                    .fit = fit_,
                    .dose = given[view]};
      if (row.AnyOverexposed()) RecoverRow(row);
    });
    return absl::OkStatus();
  }

  float* bounds(int64_t v) { return bounds_.data() + v * layout_.row_stride; }

  const bool known_;
  const int fit_;
  const RowLayout layout_;
  const std::shared_ptr<ThreadPool> pool_;
  DeviceMemory bounds_;  // in RowLayout
};

int64_t BoundFloats(const ops::Calibration& calibration) {
  return RowLayout::Floats({1, calibration.detector.rows, calibration.detector.columns});
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RecoverOverexposed>> NewRecoverOverexposed(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  ISO_ASSIGN_OR_RETURN(DeviceMemory bounds,
                       DeviceMemory::Create(own->budget(), BoundFloats(calibration)));
  return std::make_unique<RecoverOverexposedRows>(calibration, own->pool(), std::move(bounds));
}

int64_t RecoverOverexposedBytes(const ops::Device&, const ops::Extents&,
                                const ops::Calibration& calibration) {
  return BoundFloats(calibration) * static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
