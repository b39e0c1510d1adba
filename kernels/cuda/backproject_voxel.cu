// Voxel-driven back-projection from linear memory with float32 interpolation: exact, no texture
// unit. A thread updates kDepth voxels along z from up to 32 views (kernel B of Zinsser & Keck
// 2013); a lane of each warp tests one view against the block of voxels, so that views that miss
// the block cost nothing and blocks that lie inside the detector need no tests per sample.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/cuda/methods.h"

namespace isocenter::cuda {
namespace {

constexpr int kMaxViews = 32;  // one per lane
constexpr int kBlockX = 32, kBlockY = 8, kDepth = 8;

// Below this depth (1 is the isocentre's) the sums cancel too much for float32.
constexpr float kLeastDepth = 0.25f;

// Voxel indices to detector pixels. By kernel parameter, not in a __constant__ symbol: concurrent
// jobs share nothing.
struct Matrices {
  float m[kMaxViews][12];
  double exact[kMaxViews][12];
};

struct Extent {
  int nx, ny, nz, columns, rows;
};

// How a block of voxels lies on the detector in one view.
struct Footprint {
  bool touches, inside;
};

__device__ Footprint FootprintOf(const float* m, int x0, int y0, int z0, const Extent& e) {
  float u_low = INFINITY, u_high = -INFINITY, v_low = INFINITY, v_high = -INFINITY;
  bool in_front = true;
#pragma unroll
  for (int corner = 0; corner < 8; ++corner) {
    const float x = x0 + ((corner & 1) ? kBlockX - 1 : 0);
    const float y = y0 + ((corner & 2) ? kBlockY - 1 : 0);
    const float z = z0 + ((corner & 4) ? kDepth - 1 : 0);
    const float w = m[8] * x + m[9] * y + m[10] * z + m[11];
    in_front = in_front && w > kLeastDepth;
    const float u = (m[0] * x + m[1] * y + m[2] * z + m[3]) / w;
    const float v = (m[4] * x + m[5] * y + m[6] * z + m[7]) / w;
    u_low = fminf(u_low, u);
    u_high = fmaxf(u_high, u);
    v_low = fminf(v_low, v);
    v_high = fmaxf(v_high, v);
  }
  // The margins cover the rounding of u and v along the run.
  if (!in_front) return {true, false};
  return {u_high > -1.1f && u_low < e.columns + 0.1f && v_high > -1.1f &&
          v_low<e.rows + 0.1f, u_low> 0.1f && u_high < e.columns - 1.1f && v_low > 0.1f &&
          v_high < e.rows - 1.1f};
}

__device__ float SampleInside(const float* view, int columns, float u, float v) {
  const float fu = floorf(u), fv = floorf(v);
  const float* p = view + static_cast<int>(fv) * columns + static_cast<int>(fu);
  const float top = fmaf(u - fu, __ldg(p + 1) - __ldg(p), __ldg(p));
  const float bottom =
      fmaf(u - fu, __ldg(p + columns + 1) - __ldg(p + columns), __ldg(p + columns));
  return fmaf(v - fv, bottom - top, top);
}

__device__ float SampleAnywhere(const float* view, const Extent& e, float u, float v) {
  if (!(u > -1.f && u < e.columns && v > -1.f && v < e.rows)) return 0;  // false for NaN
  const float fu = floorf(u), fv = floorf(v);
  const int x = static_cast<int>(fu), y = static_cast<int>(fv);
  const auto at = [&](int row, int column) {
    return row >= 0 && row < e.rows && column >= 0 && column < e.columns
               ? __ldg(view + row * e.columns + column)
               : 0.f;
  };
  const float top = fmaf(u - fu, at(y, x + 1) - at(y, x), at(y, x));
  const float bottom = fmaf(u - fu, at(y + 1, x + 1) - at(y + 1, x), at(y + 1, x));
  return fmaf(v - fv, bottom - top, top);
}

__global__ __launch_bounds__(kBlockX* kBlockY) void BackprojectKernel(
    const __grid_constant__ Matrices matrices, int views, const float* projections, Extent e,
    float* volume) {
  const int x0 = blockIdx.x * kBlockX, y0 = blockIdx.y * kBlockY, z0 = blockIdx.z * kDepth;
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  Footprint own{false, false};
  if (threadIdx.x < views) own = FootprintOf(matrices.m[threadIdx.x], x0, y0, z0, e);
  const unsigned touching = __ballot_sync(0xffffffffu, own.touches);
  const unsigned inside = __ballot_sync(0xffffffffu, own.inside);

  if (touching == 0) return;
  // The sum goes on from the volume's value, so that it does not depend on how views are divided
  // between calls.
  const bool stored = x < e.nx && y < e.ny;
  float* const target = volume + (static_cast<int64_t>(z0) * e.ny + y) * e.nx + x;
  const int64_t slice = static_cast<int64_t>(e.ny) * e.nx;
  float sum[kDepth] = {};
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    if (stored && z0 + k < e.nz) sum[k] = target[k * slice];
  }
  const int64_t view_size = static_cast<int64_t>(e.rows) * e.columns;
  for (unsigned rest = touching; rest != 0; rest &= rest - 1) {
    const int view = __ffs(rest) - 1;
    const float* m = matrices.m[view];
    const float* p = projections + view * view_size;
    if ((inside >> view) & 1) {
      float uw = m[0] * x + m[1] * y + m[2] * z0 + m[3];
      float vw = m[4] * x + m[5] * y + m[6] * z0 + m[7];
      float w = m[8] * x + m[9] * y + m[10] * z0 + m[11];
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const float r = __frcp_rn(w);
        sum[k] = fmaf(r * r, SampleInside(p, e.columns, uw * r, vw * r), sum[k]);
        uw += m[2];
        vw += m[6];
        w += m[10];
      }
    } else {
      // Blocks at the detector's border, or around the source, where w cancels: few, in float64.
      const double* exact = matrices.exact[view];
      const auto row = [&](int first, int z) {
        return exact[first] * x + exact[first + 1] * y + exact[first + 2] * z + exact[first + 3];
      };
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        const double w = row(8, z0 + k);
        if (!(w > 0)) continue;
        const float u = static_cast<float>(row(0, z0 + k) / w),
                    v = static_cast<float>(row(4, z0 + k) / w);
        const float sample = SampleAnywhere(p, e, u, v);
        if (sample != 0) sum[k] += static_cast<float>(sample / (w * w));
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    if (stored && z0 + k < e.nz) target[k * slice] = sum[k];
  }
}

class BackprojectVoxel final : public ops::Backproject {
 public:
  explicit BackprojectVoxel(CudaDevice& device) : device_(device) {}

  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ops::ProjectionStack& filtered,
                   ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered, ops::StackUse::kFiltered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    if (static_cast<int64_t>(matrices.size()) > shape.slow) {
      return absl::InvalidArgumentError(
          absl::StrCat(matrices.size(), " matrices for a stack of ", shape.slow, " views"));
    }
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const Extent extent{grid.nx, grid.ny, grid.nz, static_cast<int>(shape.fast),
                        static_cast<int>(shape.middle)};
    const dim3 blocks((grid.nx + kBlockX - 1) / kBlockX, (grid.ny + kBlockY - 1) / kBlockY,
                      (grid.nz + kDepth - 1) / kDepth);
    for (size_t first = 0; first < matrices.size(); first += kMaxViews) {
      const int views = static_cast<int>(std::min<size_t>(kMaxViews, matrices.size() - first));
      Matrices parameters;
      for (int i = 0; i < views; ++i) {
        const ProjectionMatrix indexed = ToVoxelIndices(matrices[first + i], grid);
        std::copy(indexed.m.begin(), indexed.m.end(), parameters.m[i]);
        std::copy(indexed.m.begin(), indexed.m.end(), parameters.exact[i]);
      }
      BackprojectKernel<<<blocks, dim3(kBlockX, kBlockY), 0, device_.stream()>>>(
          parameters, views, stack->data() + first * shape.middle * shape.fast, extent,
          target->data());
      ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    }
    return absl::OkStatus();
  }

 private:
  CudaDevice& device_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::Backproject>> NewBackprojectVoxel(CudaDevice& device) {
  return std::make_unique<BackprojectVoxel>(device);
}

}  // namespace isocenter::cuda
