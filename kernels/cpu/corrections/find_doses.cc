#include <algorithm>
#include <vector>

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

constexpr int kTile = ops::kAirTile;

float TileMean(const float* pixels, int64_t row_stride) {
  float sums[kTile] = {};
  for (int v = 0; v < kTile; ++v) {
    for (int u = 0; u < kTile; ++u) sums[u] += pixels[v * row_stride + u];
  }
  double sum = 0;
  for (const float of_column : sums) sum += of_column;
  return static_cast<float>(sum / (kTile * kTile));
}

class FindDoses final : public ops::FindDoses {
 public:
  FindDoses(std::shared_ptr<ThreadPool> pool, const ops::Calibration& calibration)
      : ops::FindDoses(calibration.detector),
        pool_(std::move(pool)),
        tiles_across_(calibration.air.columns / kTile) {}

 private:
  absl::Status DoRun(std::span<const float> given, const ops::ProjectionStack& frames,
                     ops::ProjectionStack& doses) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(frames));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(doses));
    const RowLayout layout(stack->shape()), out_layout(out->shape());
    pool_->ParallelFor(static_cast<int64_t>(given.size()), [&](int64_t view, int) {
      out->data()[view * out_layout.view_stride] =
          given[view] != 0 ? given[view]
                           : Estimate(stack->data() + view * layout.view_stride, layout.row_stride);
    });
    return absl::OkStatus();
  }

  float Estimate(const float* frame, int64_t row_stride) const {
    std::vector<float> means;
    for (int v = 0; v + kTile <= detector().rows; v += kTile) {
      const float* const left = frame + v * row_stride;
      const float* const right = left + detector().columns - kTile;
      for (int tile = 0; tile < tiles_across_; ++tile) {
        means.push_back(TileMean(left + int64_t{tile} * kTile, row_stride));
        means.push_back(TileMean(right - int64_t{tile} * kTile, row_stride));
      }
    }
    if (means.empty()) return 1;
    const double least =
        (1 - ops::kAirTolerance) * double{*std::max_element(means.begin(), means.end())};
    double sum = 0;
    int air = 0;
    for (const float mean : means) {
      if (mean >= least) {
        sum += mean;
        ++air;
      }
    }
    const double dose = sum / air;
    return dose >= ops::kLeastDose && dose <= ops::kMostDose ? static_cast<float>(dose) : 1.f;
  }

  const std::shared_ptr<ThreadPool> pool_;
  const int tiles_across_;  // in each strip
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::FindDoses>> NewFindDoses(ops::Session& session,
                                                             const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<FindDoses>(own->pool(), calibration);
}

}  // namespace isocenter::cpu
