#include <algorithm>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/ops/second_pass.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class CorrectBonePlain final : public ops::CorrectBone {
 public:
  explicit CorrectBonePlain(const ops::BoneTable& table) : table_(table) {}

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& bone,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* paths, AsStack(bone));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    for (int64_t view = 0; view < views; ++view) {
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < shape.fast; ++u) {
          double& p = stack->view()(view, v, u);
          p += Added(p, paths->view()(view, v, u));
        }
      }
    }
    return absl::OkStatus();
  }

  // Each of the four points around counts by its closeness along both axes.
  double Added(double p, double mm) const {
    const double x =
        std::clamp(p / table_.most_line_integral, 0.0, 1.0) * (table_.line_integrals - 1);
    const double y = std::clamp(mm / table_.most_bone_mm, 0.0, 1.0) * (table_.bones - 1);
    double sum = 0;
    for (int j = 0; j < table_.bones; ++j) {
      for (int i = 0; i < table_.line_integrals; ++i) {
        const double closeness =
            std::max(0.0, 1 - std::abs(x - i)) * std::max(0.0, 1 - std::abs(y - j));
        if (closeness > 0) sum += closeness * table_.added[j * table_.line_integrals + i];
      }
    }
    return sum;
  }

  const ops::BoneTable table_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectBone>> NewCorrectBone(
    const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(ops::CheckHasBone(calibration));
  return std::make_unique<CorrectBonePlain>(*calibration.bone);
}

}  // namespace isocenter::reference
