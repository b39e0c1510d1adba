// Forward projection in Joseph's sense: the loop over planes, whatever holds them.
#pragma once

#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/joseph.cuh"
#include "kernels/cuda/joseph_planes.h"
#include "kernels/cuda/methods.h"

namespace isocenter::cuda {

/// Adds what the planes [run.first, run.end) give to the pixels whose rays have the major axis of
/// `axes`. Sampler: Sample<kInside>(plane of the run, b, c), bilinear and zero outside; kInside
/// promises that b is in [-1, n_b] and c in [-1, n_c].
///
/// Blocks start in the order of u, then views, then v: those that run at the same time see the same
/// few rows of voxels, which stay in the second-level cache from view to view.
template <int kWarpU, class Sampler>
__global__ __launch_bounds__(kRayThreads) void ProjectKernel(
    const __grid_constant__ JosephViews views, PlaneAxes axes, JosephExtent e, PlaneRange run,
    Sampler sampler, float* projections) {
  constexpr int kChunk = 8;
  const JosephView& view = views.of[blockIdx.y];
  const int2 own = RayOfThread<kWarpU>();
  constexpr int kU = kWarpU * (kWarpU == 32 ? 1 : 2), kV = kRayThreads / kU;
  const int column = blockIdx.x * kU + own.x, row = blockIdx.z * kV + own.y;
  const float u = column - 0.5f * (e.columns - 1), v = row - 0.5f * (e.rows - 1);
  JosephRay ray{};
  PlaneRange planes{0, 0};
  if (column < e.columns && row < e.rows && IsMajor(axes, view, u, v)) {
    ray = RayOf(view, e, u, v);
    planes = PlanesOf(view, e, ray, At(view.d_major, u, v), run);
  }
  const bool crosses = planes.end > planes.first;
  const int first = __reduce_min_sync(0xffffffffu, crosses ? planes.first : run.end);
  const int end = __reduce_max_sync(0xffffffffu, crosses ? planes.end : run.first);
  if (first >= end) return;

  const float middle = 0.5f * (e.n_major - 1);
  ray.b += Sampler::kOrigin;
  ray.c += Sampler::kOrigin;
  float sum = 0;
  int k = first;
  // Behind the source a ray counts no more: its own range, not the warp's.
  const bool near =
      (view.first > first && view.first < end) || (view.last + 1 > first && view.last + 1 < end);
  if (__any_sync(0xffffffffu, near)) {
    for (; k < end; ++k) {
      const float sample =
          sampler.template Sample<false>(k - run.first, fmaf(k - middle, ray.slope_b, ray.b),
                                         fmaf(k - middle, ray.slope_c, ray.c));
      if (k >= planes.first && k < planes.end) sum += sample;
    }
  }
  for (; k + kChunk <= end; k += kChunk) {
    const float b = fmaf(k - middle, ray.slope_b, ray.b), c = fmaf(k - middle, ray.slope_c, ray.c);
    const float last_b = fmaf(kChunk - 1, ray.slope_b, b);
    const float last_c = fmaf(kChunk - 1, ray.slope_c, c);
    constexpr float kLeast = Sampler::kOrigin - 0.999f, kBeyond = Sampler::kOrigin;
    const bool inside = fminf(b, last_b) >= kLeast && fmaxf(b, last_b) <= e.n_b + kBeyond &&
                        fminf(c, last_c) >= kLeast && fmaxf(c, last_c) <= e.n_c + kBeyond;
    const auto add = [&](auto sample) {
#pragma unroll
      for (int j = 0; j < kChunk; ++j) {
        sum += sample(k - run.first + j, fmaf(j, ray.slope_b, b), fmaf(j, ray.slope_c, c));
      }
    };
    if (__all_sync(0xffffffffu, inside)) {
      add([&](int plane, float b, float c) { return sampler.template Sample<true>(plane, b, c); });
    } else {
      add([&](int plane, float b, float c) { return sampler.template Sample<false>(plane, b, c); });
    }
  }
  for (; k < end; ++k) {
    sum += sampler.template Sample<false>(k - run.first, fmaf(k - middle, ray.slope_b, ray.b),
                                          fmaf(k - middle, ray.slope_c, ray.c));
  }
  if (!crosses) return;
  float* const pixel = projections +
                       (static_cast<int64_t>(views.index[blockIdx.y]) * e.rows + row) * e.columns +
                       column;
  *pixel = fmaf(sum, ray.length, *pixel);
}

/// What one launch needs.
struct ProjectLaunch {
  const JosephViews& views;
  int count;
  PlaneAxes axes;
  JosephExtent extent;
  PlaneRange run;
  float* projections;
  cudaStream_t stream;
};

/// ops::ForwardProject::Run: checks the arguments; for each axis that is the major one of some ray
/// and for each run of at most `most_planes(grid, axes)` planes, calls fill(PlaneSource) and then
/// launch(ProjectLaunch) for batches of views.
template <class MostPlanes, class Fill, class Launch>
absl::Status RunJoseph(CudaDevice& device, std::span<const ProjectionMatrix> world,
                       const ops::VolumeBuffer& volume, ops::ProjectionStack& projections,
                       MostPlanes most_planes, Fill fill, Launch launch) {
  ISO_ASSIGN_OR_RETURN(const Volume* from, ops::OwnVolume<Volume>(volume, "cuda"));
  ISO_ASSIGN_OR_RETURN(Stack * to, AsStack(projections, ops::StackUse::kProjections));
  const Shape3& shape = to->shape();
  ISO_RETURN_IF_ERROR(CheckMatrices(world.size(), shape));
  ISO_RETURN_IF_ERROR(device.MakeCurrent());
  const VolumeGrid& grid = from->grid();
  for (const PlaneAxes& axes : kPlaneAxes) {
    std::vector<JosephView> views;
    std::vector<int> index;
    for (int i = 0; i < static_cast<int>(world.size()); ++i) {
      const JosephView view = MakeJosephView(world[i], axes, grid, shape);
      if (!MayBeMajor(view, axes.major, shape)) continue;
      views.push_back(view);
      index.push_back(i);
    }
    if (views.empty()) continue;
    const JosephExtent extent = MakeJosephExtent(axes, grid, shape);
    const int most = most_planes(extent);
    for (int first = 0; first < extent.n_major; first += most) {
      const int planes = std::min(most, extent.n_major - first);
      ISO_RETURN_IF_ERROR(
          fill(PlaneSource{from->data(), grid.nx, grid.ny, grid.nz, axes, first, planes}));
      for (size_t i = 0; i < views.size(); i += kJosephViews) {
        const int count = static_cast<int>(std::min<size_t>(kJosephViews, views.size() - i));
        JosephViews batch;
        std::copy_n(views.begin() + i, count, batch.of);
        std::copy_n(index.begin() + i, count, batch.index);
        ISO_RETURN_IF_ERROR(launch(ProjectLaunch{
            batch, count, axes, extent, {first, first + planes}, to->data(), device.stream()}));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cuda
