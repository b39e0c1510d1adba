#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/cpu/corrections/second_pass_methods.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

class CorrectBone final : public ops::CorrectBone {
 public:
  CorrectBone(std::shared_ptr<ThreadPool> pool, const ops::BoneTable& table)
      : pool_(std::move(pool)),
        across_(table.line_integrals),
        down_(table.bones),
        per_line_integral_(static_cast<float>((across_ - 1) / table.most_line_integral)),
        per_mm_(static_cast<float>((down_ - 1) / table.most_bone_mm)),
        added_(table.added.begin(), table.added.end()) {}

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& bone,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* paths, AsStack(bone));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    const RowLayout layout(shape);
    pool_->ParallelFor(views * shape.middle, [&](int64_t row, int) {
      const int64_t at =
          row / shape.middle * layout.view_stride + row % shape.middle * layout.row_stride;
      const float* const mm = paths->data() + at;
      float* const p = stack->data() + at;
      for (int64_t u = 0; u < shape.fast; ++u) {
        // Without bone nothing is added.
        if (mm[u] > 0) p[u] += Added(p[u], mm[u]);
      }
    });
    return absl::OkStatus();
  }

  float Added(float p, float mm) const {
    const float x = std::clamp(p * per_line_integral_, 0.f, static_cast<float>(across_ - 1));
    const float y = std::clamp(mm * per_mm_, 0.f, static_cast<float>(down_ - 1));
    const int i = std::min(static_cast<int>(x), across_ - 2);
    const int j = std::min(static_cast<int>(y), down_ - 2);
    const float dx = x - static_cast<float>(i), dy = y - static_cast<float>(j);
    const float* const near = &added_[static_cast<size_t>(j) * across_ + i];
    const float* const far = near + across_;
    const float before = near[0] + dx * (near[1] - near[0]);
    return before + dy * (far[0] + dx * (far[1] - far[0]) - before);
  }

  const std::shared_ptr<ThreadPool> pool_;
  const int across_, down_;
  const float per_line_integral_, per_mm_;
  const std::vector<float> added_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    ops::Session& session, const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(ops::CheckHasBone(calibration));
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<CorrectBone>(own->pool(), *calibration.bone);
}

}  // namespace isocenter::cpu
