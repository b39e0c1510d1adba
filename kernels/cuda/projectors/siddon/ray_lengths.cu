#include "kernels/cuda/device/status.h"
#include "kernels/cuda/projectors/siddon/ray_lengths.h"

namespace isocenter::cuda {
namespace {

constexpr int kThreads = 256;

// Components in voxels along the grid's axes.
struct Directions {
  float base[3], per_column[3], per_row[3];
};
struct DirectionsOfViews {
  Directions view[kMostScaledViews];
};

__global__ void ScaleKernel(const __grid_constant__ DirectionsOfViews views, float3 spacing,
                            int columns, int rows, ScaledLayout layout, const float* from,
                            float* to) {
  const int u = blockIdx.x * kThreads + threadIdx.x, row = blockIdx.y;
  if (u >= columns) return;
  to += (static_cast<int64_t>(blockIdx.z) * layout.rows + row) * layout.pitch + u;
  if (row >= rows) {
    *to = 0;
    return;
  }
  const int v = layout.flipped ? rows - 1 - row : row;
  const Directions& view = views.view[blockIdx.z];
  float d[3];
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    d[i] = fmaf(u, view.per_column[i], fmaf(v, view.per_row[i], view.base[i]));
  }
  const int64_t at = (static_cast<int64_t>(blockIdx.z) * rows + v) * columns + u;
  const float length = norm3df(d[0] * spacing.x, d[1] * spacing.y, d[2] * spacing.z);
  *to = __ldcs(from + at) * (layout.by_plane ? length / fmaxf(fabsf(d[0]), fabsf(d[1])) : length);
}

}  // namespace

ScaledLayout PlainLayout(const Shape3& stack) {
  return {.pitch = static_cast<int>(stack.fast), .rows = static_cast<int>(stack.middle)};
}

absl::Status ScaleByRayLength(std::span<const Rays> rays, Vec3 spacing, const Shape3& stack,
                              const float* from, float* to, const ScaledLayout& layout,
                              cudaStream_t stream) {
  DirectionsOfViews views;
  for (size_t i = 0; i < rays.size(); ++i) {
    Assign(rays[i].base, views.view[i].base);
    Assign(rays[i].per_column, views.view[i].per_column);
    Assign(rays[i].per_row, views.view[i].per_row);
  }
  const float3 mm = make_float3(static_cast<float>(spacing.x), static_cast<float>(spacing.y),
                                static_cast<float>(spacing.z));
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  ScaleKernel<<<dim3((columns + kThreads - 1) / kThreads, layout.rows, rays.size()), kThreads, 0,
                stream>>>(views, mm, columns, rows, layout, from, to);
  return ToStatus(cudaGetLastError(), "ScaleKernel");
}

}  // namespace isocenter::cuda
