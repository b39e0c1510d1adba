#include <algorithm>
#include <cmath>

#include "kernels/ops/check.h"
#include "kernels/ops/operations.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class PreprocessPlain final : public ops::Preprocess {
 public:
  absl::Status DoRun(const ops::RawFrames& frames, const ops::CountRange& range,
                     std::span<const ops::ViewWeights> weights, int64_t first_column,
                     ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    const Shape3 shape = frames.shape();
    for (int64_t i = 0; i < shape.slow; ++i) {
      // Adjugate inverse of the left 3x3 part, written out.
      const ProjectionMatrix& p = weights[i].matrix;
      const Vec3 a{p(0, 0), p(0, 1), p(0, 2)}, b{p(1, 0), p(1, 1), p(1, 2)},
          c{p(2, 0), p(2, 1), p(2, 2)};
      const double determinant = Dot(a, Cross(b, c));
      const Vec3 bc = Cross(b, c), ca = Cross(c, a), ab = Cross(a, b);
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < stack->shape().fast; ++u) stack->view()(i, v, u) = 0;
        for (int64_t u = 0; u < shape.fast; ++u) {
          double line = 0;
          if (frames.counts) {
            line = -std::log(std::max<double>(frames.counts(i, v, u), range.lowest) / range.i0);
          } else {
            line = frames.line_integrals(i, v, u);
            if (!std::isfinite(line)) line = 0;
          }
          const Vec3 ray = (1 / determinant) * (double(u) * bc + double(v) * ca + ab);
          const double cosine = weights[i].cosine ? 1 / (Norm(c) * Norm(ray)) : 1;
          stack->view()(i, v, first_column + u) = line * cosine * weights[i].column_weight[u];
        }
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::Preprocess> NewPreprocess() { return std::make_unique<PreprocessPlain>(); }

}  // namespace isocenter::reference
