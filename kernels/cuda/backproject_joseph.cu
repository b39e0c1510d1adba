// The exact adjoint of Joseph's forward projector, by gathering. For each major axis and view the
// pixels are first multiplied by the length of their rays between two planes, and set to zero where
// the axis is another one. A voxel then takes the pixels whose rays cross its plane less than one
// voxel away along both of the other axes, each times a tent along both.
//
// Where a pixel's ray crosses the plane is computed from the pixel's distance to where the voxel is
// seen: nothing cancels, so that float32 is enough. With s_b the slope of the ray through the voxel
// along b, and w the voxel's depth,
//   b - j = w ((d_b,u - s_b d_a,u) δu + (d_b,v - s_b d_a,v) δv) / (1 + (d_a,u δu + d_a,v δv) / d_a)
// exactly, and c likewise.
#include <algorithm>
#include <vector>

#include "kernels/cuda/backproject_common.cuh"
#include "kernels/cuda/joseph.cuh"
#include "kernels/cuda/joseph_adjoint_view.h"
#include "kernels/cuda/methods.h"

namespace isocenter::cuda {
namespace {

constexpr int kDepth = 8;

// Length of the ray times pixel, where the ray's major axis is that of `axes`; else zero.
__global__ __launch_bounds__(kRayThreads) void WeighKernel(
    const __grid_constant__ JosephAdjointViews views, PlaneAxes axes, JosephExtent e,
    const float* projections, float* weighed) {
  const int column = blockIdx.x * 32 + threadIdx.x % 32, row = blockIdx.y * 8 + threadIdx.x / 32;
  if (column >= e.columns || row >= e.rows) return;
  const JosephView& view = views.of[blockIdx.z].rays;
  const float u = column - 0.5f * (e.columns - 1), v = row - 0.5f * (e.rows - 1);
  const auto at = [&](int i) {
    return (static_cast<int64_t>(i) * e.rows + row) * e.columns + column;
  };
  weighed[at(blockIdx.z)] =
      IsMajor(axes, view, u, v)
          ? RayOf(view, e, u, v).length * projections[at(views.of[blockIdx.z].index)]
          : 0.f;
}

// What a view needs of a block of voxels.
struct Reach {
  bool touches;  // some pixel may be crossed by a ray that counts
  bool near;     // float32 does not serve, or perspective changes much over a voxel
  float u, v;    // how far pixels may be from where a voxel is seen
};

// Of kBlockX x kBlockY x kDepth voxels from (x0, y0, z0).
__device__ Reach ReachOf(const JosephAdjointView& view, const PlaneAxes& axes,
                         const JosephExtent& e, int x0, int y0, int z0) {
  const float* const m = view.m;
  float least_w = INFINITY, most_w = -INFINITY;
  float u_low = INFINITY, u_high = -INFINITY, v_low = INFINITY, v_high = -INFINITY;
  float along_u = 0, along_v = 0;  // times w
  for (int corner = 0; corner < 8; ++corner) {
    const float x = x0 + ((corner & 1) ? kBlockX - 1 : 0);
    const float y = y0 + ((corner & 2) ? kBlockY - 1 : 0);
    const float z = z0 + ((corner & 4) ? kDepth - 1 : 0);
    const float w = m[8] * x + m[9] * y + m[10] * z + m[11], r = 1 / w;
    const float u = (m[0] * x + m[1] * y + m[2] * z + m[3]) * r;
    const float v = (m[4] * x + m[5] * y + m[6] * z + m[7]) * r;
    least_w = fminf(least_w, w);
    most_w = fmaxf(most_w, w);
    u_low = fminf(u_low, u);
    u_high = fmaxf(u_high, u);
    v_low = fminf(v_low, v);
    v_high = fmaxf(v_high, v);
    along_u =
        fmaxf(along_u, fabsf(m[axes.b] - u * m[8 + axes.b]) + fabsf(m[axes.c] - u * m[8 + axes.c]));
    along_v = fmaxf(along_v, fabsf(m[4 + axes.b] - v * m[8 + axes.b]) +
                                 fabsf(m[4 + axes.c] - v * m[8 + axes.c]));
  }
  const float half_u = 0.5f * (e.columns - 1), half_v = 0.5f * (e.rows - 1);
  const JosephView& rays = view.rays;
  Reach reach{false, false, 0, 0};
  // A voxel's square, two voxels wide, may be nearer to the source than its centre.
  const float change = fabsf(m[8 + axes.b]) + fabsf(m[8 + axes.c]);
  if (least_w > 10 * change && most_w < 1.5f * least_w) {
    const float widened = 1 / least_w * (1 + 1.2f * change / least_w);
    reach.u = fmaf(along_u, widened, 0.01f);
    reach.v = fmaf(along_v, widened, 0.01f);
    u_low = fmaxf(u_low - reach.u, -half_u);
    u_high = fminf(u_high + reach.u, half_u);
    v_low = fmaxf(v_low - reach.v, -half_v);
    v_high = fminf(v_high + reach.v, half_v);
    if (u_low > u_high || v_low > v_high) return reach;
  } else {
    if (!(most_w > -change)) return reach;  // behind the source
    reach.near = true;
    u_low = -half_u;
    u_high = half_u;
    v_low = -half_v;
    v_high = half_v;
  }
  const auto middle = [&](const AffineInPixels& d) {
    return fabsf(At(d, 0.5f * (u_low + u_high), 0.5f * (v_low + v_high)));
  };
  const auto around = [&](const AffineInPixels& d) {
    return 0.5f * (fabsf(d.du) * (u_high - u_low) + fabsf(d.dv) * (v_high - v_low));
  };
  const auto least = [&](const AffineInPixels& d) { return middle(d) - around(d); };
  const float most_major = 1.0001f * (middle(rays.d_major) + around(rays.d_major));
  reach.touches = most_major >= least(rays.d_b) && most_major >= least(rays.d_c);
  // Far from the middle of a wide fan the plane may be seen from its edge.
  reach.near = reach.near || !(least(rays.d_major) > 0.1f * most_major);
  return reach;
}

// Adds one view to one voxel (i, j, k), in float64. Slow: near a source a voxel's pixels may be the
// whole detector.
__device__ float GatherNear(const JosephAdjointView& view, const PlaneAxes& axes,
                            const JosephExtent& e, const float* pixels, const int (&voxel)[3]) {
  const double half_u = 0.5 * (e.columns - 1), half_v = 0.5 * (e.rows - 1);
  double u_low = INFINITY, u_high = -INFINITY, v_low = INFINITY, v_high = -INFINITY;
  for (int corner = 0; corner < 4; ++corner) {
    double at[3] = {1. * voxel[0], 1. * voxel[1], 1. * voxel[2]};
    at[axes.b] += (corner & 1) ? 1 : -1;
    at[axes.c] += (corner & 2) ? 1 : -1;
    const auto row = [&](int first) {
      const double* const m = view.exact_m + first;
      return m[0] * at[0] + m[1] * at[1] + m[2] * at[2] + m[3];
    };
    const double w = row(8);
    if (!(w > 1e-9)) {  // the pixels are not a bounded set
      u_low = -half_u;
      u_high = half_u;
      v_low = -half_v;
      v_high = half_v;
      break;
    }
    u_low = fmin(u_low, row(0) / w);
    u_high = fmax(u_high, row(0) / w);
    v_low = fmin(v_low, row(4) / w);
    v_high = fmax(v_high, row(4) / w);
  }
  const int first_column = static_cast<int>(ceil(fmax(u_low, -half_u) + half_u));
  const int last_column = static_cast<int>(floor(fmin(u_high, half_u) + half_u));
  const int first_row = static_cast<int>(ceil(fmax(v_low, -half_v) + half_v));
  const int last_row = static_cast<int>(floor(fmin(v_high, half_v) + half_v));
  const double* const source = view.exact_source;
  float sum = 0;
  for (int row = first_row; row <= last_row; ++row) {
    for (int column = first_column; column <= last_column; ++column) {
      const float pixel = pixels[row * e.columns + column];
      if (pixel == 0) continue;
      const double u = column - half_u, v = row - half_v;
      const auto d = [&](int axis) {
        const double* const along = view.rays.d + 3 * axis;
        return along[0] + along[1] * u + along[2] * v;
      };
      const double w = (voxel[axes.major] - source[axes.major]) / d(axes.major);
      if (!(w > 0)) continue;
      const double b = source[axes.b] + w * d(axes.b) - voxel[axes.b];
      const double c = source[axes.c] + w * d(axes.c) - voxel[axes.c];
      sum += pixel * static_cast<float>(fmax(0., 1 - fabs(b)) * fmax(0., 1 - fabs(c)));
    }
  }
  return sum;
}

__global__ __launch_bounds__(kThreads) void GatherKernel(
    const __grid_constant__ JosephAdjointViews views, int count, PlaneAxes axes, JosephExtent e,
    Extent extent, const float* weighed, float* volume) {
  __shared__ Reach reaches[kAdjointViews];
  const int x0 = blockIdx.x * kBlockX, y0 = blockIdx.y * kBlockY, z0 = blockIdx.z * kDepth;
  if (threadIdx.x < count) {
    reaches[threadIdx.x] = ReachOf(views.of[threadIdx.x], axes, e, x0, y0, z0);
  }
  const bool any = __syncthreads_or(threadIdx.x < count && reaches[threadIdx.x].touches);
  if (!any) return;
  const int2 column = ColumnOfThread();
  const int x = x0 + column.x, y = y0 + column.y;
  float sum[kDepth];
  LoadRun(volume, extent, x, y, z0, sum);
  const float half_u = 0.5f * (e.columns - 1), half_v = 0.5f * (e.rows - 1);
  for (int i = 0; i < count; ++i) {
    const Reach reach = reaches[i];
    if (!reach.touches) continue;
    const JosephAdjointView& view = views.of[i];
    const float* const pixels = weighed + static_cast<int64_t>(i) * e.rows * e.columns;
    const JosephView& rays = view.rays;
    const float* const m = view.m;
#pragma unroll 1
    for (int k = 0; k < kDepth; ++k) {
      const int voxel[] = {x, y, z0 + k};
      float added = 0;
      if (reach.near) {
        if (x < extent.nx && y < extent.ny && z0 + k < extent.nz) {
          added = GatherNear(view, axes, e, pixels, voxel);
        }
      } else {
        const auto row = [&](int first) {
          return fmaf(m[first], voxel[0],
                      fmaf(m[first + 1], voxel[1], fmaf(m[first + 2], voxel[2], m[first + 3])));
        };
        const float w = row(8), r = Reciprocal(w), u = row(0) * r, v = row(4) * r;
        const float d = At(rays.d_major, u, v);
        const float r_d = Reciprocal(d);
        const float slope_b = At(rays.d_b, u, v) * r_d, slope_c = At(rays.d_c, u, v) * r_d;
        const float b_u = w * fmaf(-slope_b, rays.d_major.du, rays.d_b.du);
        const float b_v = w * fmaf(-slope_b, rays.d_major.dv, rays.d_b.dv);
        const float c_u = w * fmaf(-slope_c, rays.d_major.du, rays.d_c.du);
        const float c_v = w * fmaf(-slope_c, rays.d_major.dv, rays.d_c.dv);
        const float bend_u = rays.d_major.du * r_d, bend_v = rays.d_major.dv * r_d;
        const float at_u = u + half_u, at_v = v + half_v;  // in the view
        const int first_column = static_cast<int>(ceilf(fmaxf(at_u - reach.u, 0.f)));
        const int last_column = static_cast<int>(floorf(fminf(at_u + reach.u, 2 * half_u)));
        const int first_row = static_cast<int>(ceilf(fmaxf(at_v - reach.v, 0.f)));
        const int last_row = static_cast<int>(floorf(fminf(at_v + reach.v, 2 * half_v)));
        for (int q = first_row; q <= last_row; ++q) {
          const float dv = q - half_v - v;
          for (int p = first_column; p <= last_column; ++p) {
            const float du = p - half_u - u;
            const float g = Reciprocal(1 + fmaf(bend_u, du, bend_v * dv));
            const float b = fmaf(b_u, du, b_v * dv) * g, c = fmaf(c_u, du, c_v * dv) * g;
            const float weight = __saturatef(1 - fabsf(b)) * __saturatef(1 - fabsf(c));
            added = fmaf(weight, __ldg(pixels + q * e.columns + p), added);
          }
        }
      }
#pragma unroll
      for (int n = 0; n < kDepth; ++n) {
        if (n == k) sum[n] += added;
      }
    }
  }
  StoreRun(sum, extent, x, y, z0, volume);
}

class BackprojectJoseph final : public ops::MatchedBackproject {
 public:
  explicit BackprojectJoseph(CudaDevice& device) : device_(device) {}

  absl::Status Run(std::span<const ProjectionMatrix> world, const ops::ProjectionStack& projections,
                   ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections, ops::StackUse::kProjections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(CheckMatrices(world.size(), shape));
    ISO_RETURN_IF_ERROR(device_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const int64_t pixels = shape.middle * shape.fast;
    const int64_t needed = std::min<int64_t>(kAdjointViews, shape.slow) * pixels;
    if (needed > weighed_.count()) {
      ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(device_.stream()));
    }
    ISO_RETURN_IF_ERROR(weighed_.Reserve(needed));
    for (size_t first = 0; first < world.size();) {
      size_t end = first + 1;
      while (end < world.size() && end - first < kAdjointViews) ++end;
      for (const PlaneAxes& axes : kPlaneAxes) {
        JosephAdjointViews views;
        int count = 0;
        for (size_t i = first; i < end; ++i) {
          JosephAdjointView& view = views.of[count];
          view = MakeJosephAdjointView(world[i], axes, grid, shape);
          view.index = static_cast<int>(i);
          if (MayBeMajor(view.rays, axes.major, shape)) ++count;
        }
        if (count == 0) continue;
        ISO_RETURN_IF_ERROR(Add(views, count, axes, shape, stack->data(), *target));
      }
      first = end;
    }
    return absl::OkStatus();
  }

  int64_t WorkspaceBytes(const VolumeGrid&, Shape3 projections) const override {
    return std::min<int64_t>(kAdjointViews, projections.slow) * projections.middle *
           projections.fast * int64_t{sizeof(float)};
  }

 private:
  absl::Status Add(const JosephAdjointViews& views, int count, const PlaneAxes& axes,
                   const Shape3& shape, const float* projections, Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    const JosephExtent e = MakeJosephExtent(axes, grid, shape);
    const dim3 tiles((e.columns + 31) / 32, (e.rows + 7) / 8, count);
    WeighKernel<<<tiles, kRayThreads, 0, device_.stream()>>>(views, axes, e, projections,
                                                             weighed_.data());
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
    GatherKernel<<<BlocksOf<kDepth>(grid), kThreads, 0, device_.stream()>>>(
        views, count, axes, e, ExtentOf(grid, shape), weighed_.data(), volume.data());
    return ToStatus(cudaGetLastError(), "GatherKernel");
  }

  CudaDevice& device_;
  DeviceBuffer<float> weighed_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectJoseph(CudaDevice& device) {
  return std::make_unique<BackprojectJoseph>(device);
}

}  // namespace isocenter::cuda
