#include "kernels/cpu/published/jacobs_path.h"
#include "kernels/cpu/published/jacobs_rays.h"
#include "kernels/cpu/published/jacobs_views.h"

namespace isocenter::cpu {
namespace {

template <bool kAlone>
void Spread(const RayView& view, int column, const VolumeShape& volume, float* voxels,
            const float* stack) {
  const float* pixels = stack + view.image + column * view.stride;
  for (int row = 0; row < view.rows; ++row) {
    const double value = pixels[row] * MillimetresPerW(view, column, row);
    Follow(PathOf(view, column, row, volume), [&](int64_t offset, double length) {
      AddTo<kAlone>(voxels[offset], static_cast<float>(length * value));
    });
  }
}

}  // namespace

void ProjectRays(const RayView& view, int column, const VolumeShape& volume, const float* voxels,
                 float* stack) {
  float* pixels = stack + view.image + column * view.stride;
  for (int row = 0; row < view.rows; ++row) {
    double sum = 0;
    Follow(PathOf(view, column, row, volume),
           [&](int64_t offset, double length) { sum += length * voxels[offset]; });
    pixels[row] += static_cast<float>(sum * MillimetresPerW(view, column, row));
  }
}

void SpreadRays(const RayView& view, int column, const VolumeShape& volume, float* voxels,
                const float* stack, bool alone) {
  if (alone) {
    Spread<true>(view, column, volume, voxels, stack);
  } else {
    Spread<false>(view, column, volume, voxels, stack);
  }
}

ForwardProjectOr NewProjectJacobs(ops::Session& session) {
  return NewColumnForward(session, ProjectRays);
}

MatchedBackprojectOr NewMatchedBackprojectJacobs(ops::Session& session) {
  return NewColumnBack(session, SpreadRays);
}

}  // namespace isocenter::cpu
