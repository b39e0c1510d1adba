// What the forward projections in Joseph's sense share: how rays are divided between launches, and
// which planes are copied when.
#pragma once

#include <algorithm>
#include <compare>
#include <map>
#include <memory>
#include <vector>

#include "kernels/cuda/device/session.h"
#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/joseph/joseph.cuh"
#include "kernels/cuda/projectors/joseph/joseph_planes.h"
#include "kernels/cuda/projectors/methods.h"

namespace isocenter::cuda {

inline constexpr unsigned kWholeWarp = 0xffffffffu;
inline constexpr int kRayThreads = 256;  // of a block
/// Planes are copied in runs of at most so many bytes, which bounds the workspace; and at 1024³ all
/// that rays of neighbouring views need of a run stays in the second-level cache. Every run costs
/// the setting up of all rays: 512³ voxels are one run in every layout.
inline constexpr int64_t kMostRunBytes = int64_t{1100} << 20;
inline constexpr int64_t kMostLayers = 2048;  // of a layered texture

/// How a method treats a view: by which of its copies of the planes, and by which of its kernels.
struct ViewKind {
  int copy = 0, kernel = 0;
  friend auto operator<=>(const ViewKind&, const ViewKind&) = default;
};

/// One launch. Blocks start in the order of u, then views, then v: those that run at the same time
/// see the same few rows of voxels, which stay in the second-level cache from view to view.
struct ProjectLaunch {
  const JosephViews& views;
  int count;
  ViewKind kind;
  PlaneAxes axes;
  JosephExtent extent;
  PlaneRange run;
  float* projections;
};

inline dim3 RayBlocks(const ProjectLaunch& launch, int columns, int rows) {
  const JosephExtent& e = launch.extent;
  return dim3((e.columns + columns - 1) / columns, launch.count, (e.rows + rows - 1) / rows);
}

/// Whether rays may start between planes [first, end): then not all planes of a warp count for all
/// of its rays.
__device__ inline bool StartsWithin(const JosephView& view, int first, int end) {
  return (view.first > first && view.first < end) || (view.last + 1 > first && view.last + 1 < end);
}

__device__ inline float* PixelOf(float* projections, int view, const JosephExtent& e, int row,
                                 int column) {
  return projections + (static_cast<int64_t>(view) * e.rows + row) * e.columns + column;
}

/// Planes of one run, where one takes so many bytes; all runs are about as long.
inline int PlanesOfRun(int n_major, int64_t plane_bytes) {
  const int64_t most = std::clamp<int64_t>(kMostRunBytes / plane_bytes, 1, kMostLayers);
  const int64_t runs = (n_major + most - 1) / most;
  return static_cast<int>((n_major + runs - 1) / runs);
}

/// Device memory of the largest run; plane_bytes(n_b, n_c).
template <class PlaneBytes>
int64_t RunBytes(const VolumeGrid& grid, PlaneBytes plane_bytes) {
  int64_t most = 0;
  for (const PlaneAxes& axes : kPlaneAxes) {
    const JosephExtent e = MakeJosephExtent(axes, grid, {1, 1, 1});
    const int64_t bytes = plane_bytes(e.n_b, e.n_c);
    most = std::max(most, bytes * PlanesOfRun(e.n_major, bytes));
  }
  return most;
}

/// ops::ForwardProject::Run for a Method with
///   static ViewKind KindOf(const ProjectionMatrix&, const PlaneAxes&, const VolumeGrid&, Shape3);
///   static int64_t PlaneBytes(int copy, n_b, n_c);
///   absl::Status Fill(int copy, const PlaneSource&);  // a run of planes
///   absl::Status Launch(const ProjectLaunch&);        // views of one kind, from that run
/// Goes through the major axes that occur, for each through the copies that views need, for each of
/// them through the runs of planes. What a view gets depends on nothing but its own matrix and the
/// shapes.
template <class Method>
absl::Status RunJoseph(Method& method, CudaSession& session,
                       std::span<const ProjectionMatrix> world, const ops::VolumeBuffer& volume,
                       ops::ProjectionStack& projections) {
  ISO_ASSIGN_OR_RETURN(const Volume* from, AsVolume(volume));
  ISO_ASSIGN_OR_RETURN(Stack * to, AsStack(projections));
  const Shape3& shape = to->shape();
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  const VolumeGrid& grid = from->grid();
  struct Batch {
    JosephViews views;
    int count = 0;
  };
  for (const PlaneAxes& axes : kPlaneAxes) {
    std::map<ViewKind, std::vector<Batch>> kinds;  // in the order of the copies
    for (int i = 0; i < static_cast<int>(world.size()); ++i) {
      const JosephView view = MakeJosephView(world[i], axes, grid, shape);
      if (!MayBeMajor(view, axes.major, shape)) continue;
      std::vector<Batch>& batches = kinds[Method::KindOf(world[i], axes, grid, shape)];
      if (batches.empty() || batches.back().count == kJosephViews) batches.emplace_back();
      Batch& batch = batches.back();
      batch.views.of[batch.count] = view;
      batch.views.index[batch.count] = i;
      ++batch.count;
    }
    const JosephExtent extent = MakeJosephExtent(axes, grid, shape);
    for (auto kind = kinds.begin(); kind != kinds.end();) {
      const int copy = kind->first.copy;
      const auto next = kinds.lower_bound({copy + 1, 0});
      const int most =
          PlanesOfRun(extent.n_major, Method::PlaneBytes(copy, extent.n_b, extent.n_c));
      for (int first = 0; first < extent.n_major; first += most) {
        const int planes = std::min(most, extent.n_major - first);
        ISO_RETURN_IF_ERROR(method.Fill(
            copy, PlaneSource{from->data(), grid.nx, grid.ny, grid.nz, axes, first, planes}));
        for (auto of_copy = kind; of_copy != next; ++of_copy) {
          for (const Batch& batch : of_copy->second) {
            ISO_RETURN_IF_ERROR(method.Launch({batch.views,
                                               batch.count,
                                               of_copy->first,
                                               axes,
                                               extent,
                                               {first, first + planes},
                                               to->data()}));
          }
        }
      }
      kind = next;
    }
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cuda
