#include <cmath>

#include "kernels/ops/check.h"
#include "kernels/ops/operations.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

// Bilinear between pixel centres, zero outside of the detector.
double Sample(HostView3<const double> p, int64_t view, double u, double v) {
  const double iu = std::floor(u), iv = std::floor(v);
  if (!(iu >= -1 && iu < p.shape().fast && iv >= -1 && iv < p.shape().middle)) return 0;
  const auto at = [&](int64_t y, int64_t x) {
    return x < 0 || x >= p.shape().fast || y < 0 || y >= p.shape().middle ? 0.0 : p(view, y, x);
  };
  const auto x = static_cast<int64_t>(iu), y = static_cast<int64_t>(iv);
  const double a = u - iu, b = v - iv;
  return (1 - b) * ((1 - a) * at(y, x) + a * at(y, x + 1)) +
         b * ((1 - a) * at(y + 1, x) + a * at(y + 1, x + 1));
}

class BackprojectVoxel final : public ops::Backproject {
 public:
  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const VolumeGrid& grid = target->grid();
    for (int k = 0; k < grid.nz; ++k) {
      for (int j = 0; j < grid.ny; ++j) {
        for (int i = 0; i < grid.nx; ++i) {
          const Vec3 point = grid.VoxelToWorld(i, j, k);
          double sum = 0;
          for (size_t view = 0; view < matrices.size(); ++view) {
            const Projected q = matrices[view].Project(point);
            if (!(q.w > 0)) continue;
            sum += Sample(stack->view(), static_cast<int64_t>(view), q.u(), q.v()) / (q.w * q.w);
          }
          target->view()(k, j, i) += sum;
        }
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<ops::Backproject> NewBackprojectVoxel() {
  return std::make_unique<BackprojectVoxel>();
}

}  // namespace isocenter::reference
