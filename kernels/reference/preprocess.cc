#include <algorithm>
#include <cmath>

#include "kernels/ops/check.h"
#include "kernels/ops/operations.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

// 1 / (|m3| · |M⁻¹ (u,v,1)|), with the adjugate inverse of the left 3x3 part, written out.
class Cosines {
 public:
  explicit Cosines(const ProjectionMatrix& p)
      : a_{p(0, 0), p(0, 1), p(0, 2)},
        b_{p(1, 0), p(1, 1), p(1, 2)},
        c_{p(2, 0), p(2, 1), p(2, 2)} {}
  double At(double u, double v) const {
    const double determinant = Dot(a_, Cross(b_, c_));
    const Vec3 bc = Cross(b_, c_), ca = Cross(c_, a_), ab = Cross(a_, b_);
    const Vec3 ray = (1 / determinant) * (u * bc + v * ca + ab);
    return 1 / (Norm(c_) * Norm(ray));
  }

 private:
  Vec3 a_, b_, c_;
};

class PreprocessPlain final : public ops::Preprocess {
 public:
  absl::Status DoRun(const ops::RawFrames& frames, const ops::CountRange& range,
                     std::span<const ops::ViewWeights> weights, int64_t first_column,
                     ops::ProjectionStack& out) override {
    return Weighted(
        frames.shape(), weights, first_column, out, [&](int64_t i, int64_t v, int64_t u) {
          if (frames.counts) {
            return -std::log(std::max<double>(frames.counts(i, v, u), range.lowest) / range.i0);
          }
          const double line = frames.line_integrals(i, v, u);
          return std::isfinite(line) ? line : 0;
        });
  }

  absl::Status DoWeigh(const ops::ProjectionStack& line_integrals, int64_t first_view,
                       RowRange rows, std::span<const ops::ViewWeights> weights,
                       int64_t first_column, ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(const Stack* source, AsStack(line_integrals));
    const Shape3 shape{static_cast<int64_t>(weights.size()), rows.count, source->shape().fast};
    return Weighted(shape, weights, first_column, out, [&](int64_t i, int64_t v, int64_t u) {
      return source->view()(first_view + i, rows.first + v, u);
    });
  }

 private:
  template <class LineIntegral>
  static absl::Status Weighted(const Shape3& shape, std::span<const ops::ViewWeights> weights,
                               int64_t first_column, ops::ProjectionStack& out,
                               const LineIntegral& line_integral) {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    for (int64_t i = 0; i < shape.slow; ++i) {
      const Cosines cosines(weights[i].matrix);
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < stack->shape().fast; ++u) stack->view()(i, v, u) = 0;
        for (int64_t u = 0; u < shape.fast; ++u) {
          const double cosine = weights[i].cosine ? cosines.At(double(u), double(v)) : 1;
          stack->view()(i, v, first_column + u) =
              line_integral(i, v, u) * cosine * weights[i].column_weight[u];
        }
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::Preprocess> NewPreprocess() { return std::make_unique<PreprocessPlain>(); }

}  // namespace isocenter::reference
