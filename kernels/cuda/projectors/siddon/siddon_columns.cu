// The algorithm of Thompson & Lionheart (MIMS EPrint 2016.48, 2014): all rays of a detector column
// go through the same columns of voxels in lock step, and within one through one voxel or two. The
// crossings are found on the way instead of in tables, and each thread takes several rays, which
// share them.
#include "kernels/cuda/device/status.h"
#include "kernels/cuda/projectors/siddon/siddon_columns.h"

namespace isocenter::cuda {
namespace {

constexpr int kWarps = 8;  // of a block: neighbouring detector columns
constexpr int kRays = 4;   // of a thread, a warp's width apart

// floor(z) + kShift has the integer floor(z) in its low bits, for |z| < 2^22.
constexpr float kShift = 12582912.f;
constexpr int kShiftBits = 0x4B400000;

// Faces that the rays cross along x or y, mirrored where they come from above: one at `face` is
// crossed at t = (face - from)·step, where the grid goes from -half to half.
struct Faces {
  float from, step, half;
  int n;
  bool up;
  __device__ float At(float face) const { return (face - from) * step; }
};
__device__ Faces FacesOf(float p, float d, int n) {
  // A ray along the faces never crosses them; any direction this small does as well.
  constexpr float kLeast = 1e-20f;
  const bool up = !(d < -kLeast);
  return {up ? p : -p, 1 / fmaxf(fabsf(d), kLeast), 0.5f * n, n, up};
}
// Voxels that are passed at t, of those that the rays come to.
__device__ int PassedAt(const Faces& faces, float t) {
  const float inside = t / faces.step + faces.from + faces.half;
  return inside > 0 ? min(static_cast<int>(inside), faces.n - 1) : 0;
}

// The rays of a thread along z: in voxels from the grid's lowest face, z + t·d.
struct ColumnRays {
  float z[kRays], d[kRays], per_d[kRays];
  float first[kRays], last[kRays];  // t within the grid's z
};

// kClip: some ray leaves the grid through its lowest or highest face.
template <bool kClip>
__device__ void Follow(const ColumnRays& rays, const Faces& along_x, const Faces& along_y, float t,
                       float end, int nz, int64_t stride_x, int64_t stride_y, const float* volume,
                       float (&sum)[kRays]) {
  const int x = PassedAt(along_x, t), y = PassedAt(along_y, t);
  const float* voxels = volume + (along_x.up ? x : along_x.n - 1 - x) * stride_x +
                        (along_y.up ? y : along_y.n - 1 - y) * stride_y - kShiftBits;
  const int64_t next_x = along_x.up ? stride_x : -stride_x;
  const int64_t next_y = along_y.up ? stride_y : -stride_y;
  float face_x = x + 1 - along_x.half, face_y = y + 1 - along_y.half;
  float at_x = along_x.At(face_x), at_y = along_y.At(face_y);
  float z[kRays], voxel[kRays], from[kRays];
  const auto move = [&](int i, float to, float& z_there, float& voxel_there) {
    z_there = fmaf(to, rays.d[i], rays.z[i]);
    voxel_there = __fadd_rd(z_there, kShift);
    if (kClip) voxel_there = fminf(fmaxf(voxel_there, kShift), kShift + (nz - 1));
  };
#pragma unroll
  for (int i = 0; i < kRays; ++i) {
    from[i] = kClip ? fminf(fmaxf(t, rays.first[i]), rays.last[i]) : t;
    move(i, from[i], z[i], voxel[i]);
  }
  while (true) {
    const float nearest = fminf(at_x, at_y), until = fminf(nearest, end);
#pragma unroll
    for (int i = 0; i < kRays; ++i) {
      const float to = kClip ? fminf(fmaxf(until, rays.first[i]), rays.last[i]) : until;
      float z_there, voxel_there;
      move(i, to, z_there, voxel_there);
      const float here = __ldg(voxels + __float_as_int(voxel[i]));
      const float there = __ldg(voxels + __float_as_int(voxel_there));
      // Where both are one voxel, when it is left does not matter.
      const float face = fmaxf(voxel[i], voxel_there) - kShift;
      sum[i] = fmaf(there, to - (kClip ? from[i] : t), sum[i]);
      sum[i] = fmaf(here - there, (face - z[i]) * rays.per_d[i], sum[i]);
      z[i] = z_there;
      voxel[i] = voxel_there;
      if (kClip) from[i] = to;
    }
    if (!(nearest < end)) return;
    t = nearest;
    if (at_x == nearest) {
      face_x += 1;
      voxels += next_x;
      at_x = along_x.At(face_x);
    } else {
      face_y += 1;
      voxels += next_y;
      at_y = along_y.At(face_y);
    }
  }
}

__global__ __launch_bounds__(32 * kWarps) void ColumnsKernel(
    const __grid_constant__ TracedViews<float> views, int3 n, float3 spacing, const float* volume,
    int rows, int columns, int begin_row, int end_row, float* projections) {
  const TracedView<float>& view = views.view[blockIdx.z];
  const int lane = threadIdx.x % 32;
  const int u = blockIdx.x * kWarps + threadIdx.x / 32;
  const int first_row = begin_row + blockIdx.y * (32 * kRays) + lane;
  if (u >= columns) return;
  const float from_middle = u - 0.5f * (columns - 1);
  const auto of_column = [&](auto at_middle, auto per_column) {
    return fma(static_cast<decltype(at_middle)>(from_middle), per_column, at_middle);
  };
  const float dx = of_column(view.d[0], view.d_column[0]);
  const float dy = of_column(view.d[1], view.d_column[1]);
  const Faces along_x =
      FacesOf(static_cast<float>(of_column(view.p[0], view.p_column[0])), dx, n.x);
  const Faces along_y =
      FacesOf(static_cast<float>(of_column(view.p[1], view.p_column[1])), dy, n.y);
  const float t = fmaxf(view.first, fmaxf(along_x.At(-along_x.half), along_y.At(-along_y.half)));
  const float end = fminf(along_x.At(along_x.half), along_y.At(along_y.half));
  if (!(t < end)) return;

  ColumnRays rays;
  bool clip = false;
#pragma unroll
  for (int i = 0; i < kRays; ++i) {
    const float row = min(first_row + 32 * i, end_row - 1) - 0.5f * (rows - 1);
    rays.z[i] = static_cast<float>(
        fma(static_cast<double>(row), view.p_row[2], of_column(view.p[2], view.p_column[2])) +
        0.5 * n.z);
    rays.d[i] = fmaf(row, view.d_row[2], of_column(view.d[2], view.d_column[2]));
    constexpr float kLeast = 1e-20f;
    rays.per_d[i] = 1 / (fabsf(rays.d[i]) > kLeast ? rays.d[i] : kLeast);
    const float low = -rays.z[i] * rays.per_d[i], high = (n.z - rays.z[i]) * rays.per_d[i];
    rays.first[i] = fmaxf(t, fminf(low, high));
    rays.last[i] = fmaxf(rays.first[i], fminf(end, fmaxf(low, high)));
    // The margin covers the rounding of z.
    constexpr float kMargin = 0.01f;
    const float z0 = fmaf(t, rays.d[i], rays.z[i]), z1 = fmaf(end, rays.d[i], rays.z[i]);
    clip = clip || fminf(z0, z1) < kMargin || fmaxf(z0, z1) > n.z - kMargin;
  }
  float sum[kRays] = {};
  const int64_t stride_x = n.z, stride_y = stride_x * n.x;
  if (__any_sync(0xffffffffu, clip)) {
    Follow<true>(rays, along_x, along_y, t, end, n.z, stride_x, stride_y, volume, sum);
  } else {
    Follow<false>(rays, along_x, along_y, t, end, n.z, stride_x, stride_y, volume, sum);
  }
#pragma unroll
  for (int i = 0; i < kRays; ++i) {
    const int v = first_row + 32 * i;
    if (v >= end_row) break;
    const float length = norm3df(dx * spacing.x, dy * spacing.y, rays.d[i] * spacing.z);
    projections[(static_cast<int64_t>(blockIdx.z) * rows + v) * columns + u] += sum[i] * length;
  }
}

}  // namespace

absl::Status LaunchSiddonColumns(const TracedViews<float>& views, int count, const float* volume,
                                 const VolumeGrid& grid, const Shape3& stack, RowRange seen,
                                 float* projections, cudaStream_t stream) {
  const int rows = static_cast<int>(stack.middle), columns = static_cast<int>(stack.fast);
  const dim3 blocks((columns + kWarps - 1) / kWarps, (seen.count + 32 * kRays - 1) / (32 * kRays),
                    count);
  const float3 spacing =
      make_float3(static_cast<float>(grid.spacing.x), static_cast<float>(grid.spacing.y),
                  static_cast<float>(grid.spacing.z));
  ColumnsKernel<<<blocks, 32 * kWarps, 0, stream>>>(views, make_int3(grid.nx, grid.ny, grid.nz),
                                                    spacing, volume, rows, columns, seen.first,
                                                    seen.end(), projections);
  return ToStatus(cudaGetLastError(), "ColumnsKernel");
}

}  // namespace isocenter::cuda
