#include "kernels/cuda/device/status.h"
#include "kernels/cuda/projectors/siddon/ray_lengths.h"

namespace isocenter::cuda {
namespace {

constexpr int kThreads = 256;

// Components in mm along the grid's axes.
struct Directions {
  float base[3], per_column[3], per_row[3];
};
struct DirectionsOfViews {
  Directions view[kMostScaledViews];
};

__global__ void ScaleKernel(const __grid_constant__ DirectionsOfViews views, int columns, int rows,
                            const float* from, float* to) {
  const int u = blockIdx.x * kThreads + threadIdx.x, v = blockIdx.y;
  if (u >= columns) return;
  const Directions& view = views.view[blockIdx.z];
  float d[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    d[i] = fmaf(u, view.per_column[i], fmaf(v, view.per_row[i], view.base[i]));
  }
  const int64_t at = (static_cast<int64_t>(blockIdx.z) * rows + v) * columns + u;
  to[at] = __ldcs(from + at) * norm3df(d[0], d[1], d[2]);
}

void Assign(Vec3 direction, Vec3 spacing, float (&to)[3]) {
  to[0] = static_cast<float>(direction.x * spacing.x);
  to[1] = static_cast<float>(direction.y * spacing.y);
  to[2] = static_cast<float>(direction.z * spacing.z);
}

}  // namespace

absl::Status ScaleByRayLength(std::span<const Rays> rays, Vec3 spacing, const Shape3& stack,
                              const float* from, float* to, cudaStream_t stream) {
  DirectionsOfViews views;
  for (size_t i = 0; i < rays.size(); ++i) {
    Assign(rays[i].base, spacing, views.view[i].base);
    Assign(rays[i].per_column, spacing, views.view[i].per_column);
    Assign(rays[i].per_row, spacing, views.view[i].per_row);
  }
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  ScaleKernel<<<dim3((columns + kThreads - 1) / kThreads, rows, rays.size()), kThreads, 0,
                stream>>>(views, columns, rows, from, to);
  return ToStatus(cudaGetLastError(), "ScaleKernel");
}

}  // namespace isocenter::cuda
