#include "kernels/ops/matrix_gradient.h"

#include <cmath>

#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

struct Sample {
  double value = 0, along_u = 0, along_v = 0;
};

// Bilinear between pixel centres, zero outside of the detector, with its two derivatives.
Sample SampleAt(HostView3<const double> p, int64_t view, double u, double v) {
  const double iu = std::floor(u), iv = std::floor(v);
  if (!(iu >= -1 && iu < p.shape().fast && iv >= -1 && iv < p.shape().middle)) return {};
  const auto at = [&](int64_t y, int64_t x) {
    return x < 0 || x >= p.shape().fast || y < 0 || y >= p.shape().middle ? 0.0 : p(view, y, x);
  };
  const auto x = static_cast<int64_t>(iu), y = static_cast<int64_t>(iv);
  const double a = u - iu, b = v - iv;
  const double p00 = at(y, x), p01 = at(y, x + 1), p10 = at(y + 1, x), p11 = at(y + 1, x + 1);
  return {.value = (1 - b) * ((1 - a) * p00 + a * p01) + b * ((1 - a) * p10 + a * p11),
          .along_u = (1 - b) * (p01 - p00) + b * (p11 - p10),
          .along_v = (1 - a) * (p10 - p00) + a * (p11 - p01)};
}

class MatrixGradient final : public ops::MatrixGradient {
 public:
  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, const ops::VolumeBuffer& volume_slopes,
                     std::span<ops::MatrixSlope> slopes) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(const Volume* volume, AsVolume(volume_slopes));
    const VolumeGrid& grid = volume->grid();
    for (size_t view = 0; view < matrices.size(); ++view) {
      ops::MatrixSlope& slope = slopes[view];
      slope = {};
      for (int k = 0; k < grid.nz; ++k) {
        for (int j = 0; j < grid.ny; ++j) {
          for (int i = 0; i < grid.nx; ++i) {
            const Vec3 x = grid.VoxelToWorld(i, j, k);
            const Projected q = matrices[view].Project(x);
            if (!(q.w > 0)) continue;
            const Sample p = SampleAt(stack->view(), static_cast<int64_t>(view), q.u(), q.v());
            const double s = volume->view()(k, j, i);
            // f = p(uw / w, vw / w) / w², differentiated by uw, vw and w.
            const double by[3] = {
                s * p.along_u / (q.w * q.w * q.w), s * p.along_v / (q.w * q.w * q.w),
                -s * (2 * p.value + q.u() * p.along_u + q.v() * p.along_v) / (q.w * q.w * q.w)};
            for (int row = 0; row < 3; ++row) {
              slope[4 * row] += by[row] * x.x;
              slope[4 * row + 1] += by[row] * x.y;
              slope[4 * row + 2] += by[row] * x.z;
              slope[4 * row + 3] += by[row];
            }
          }
        }
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::MatrixGradient> NewMatrixGradient() {
  return std::make_unique<MatrixGradient>();
}

}  // namespace isocenter::reference
