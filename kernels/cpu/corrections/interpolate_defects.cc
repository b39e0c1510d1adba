#include <utility>
#include <vector>

#include "kernels/cpu/corrections/methods.h"
#include "kernels/cpu/device/session.h"
#include "kernels/ops/check.h"
#include "kernels/ops/defect_neighbours.h"

namespace isocenter::cpu {
namespace {

// Few pixels are defective: plain code.
class InterpolateDefectsScalar final : public ops::InterpolateDefects {
 public:
  InterpolateDefectsScalar(const ops::Calibration& calibration, std::shared_ptr<ThreadPool> pool)
      : InterpolateDefects(calibration.detector),
        neighbours_(ops::FindDefectNeighbours(calibration.defects, calibration.detector)),
        layout_({1, detector().rows, detector().columns}),
        pool_(std::move(pool)) {}

 private:
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    pool_->ParallelFor(views, [&](int64_t view, int) {
      float* frame = stack->data() + view * layout_.view_stride;
      for (size_t i = 0; i < neighbours_.pixels.size(); ++i) {
        frame[PlaceOf(neighbours_.pixels[i])] = Interpolated(frame, i);
      }
    });
    return absl::OkStatus();
  }

  // In a frame with padded rows.
  int64_t PlaceOf(int32_t pixel) const {
    return pixel / detector().columns * layout_.row_stride + pixel % detector().columns;
  }

  float Interpolated(const float* frame, size_t defect) const {
    float sum = 0, weights = 0;
    for (int32_t i = neighbours_.first_pair[defect]; i < neighbours_.first_pair[defect + 1]; ++i) {
      const ops::DefectPair& pair = neighbours_.pairs[i];
      const float a = frame[PlaceOf(pair.before)], b = frame[PlaceOf(pair.after)];
      const float level = 0.02f * (a + b);
      const float weight =
          pair.inverse_square_length / ((a - b) * (a - b) + level * level + 1e-12f);
      sum += weight * (pair.before_weight * a + pair.after_weight * b);
      weights += weight;
    }
    return sum / weights;
  }

  const ops::DefectNeighbours neighbours_;
  const RowLayout layout_;
  const std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::InterpolateDefects>> NewInterpolateDefects(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<InterpolateDefectsScalar>(calibration, own->pool());
}

}  // namespace isocenter::cpu
