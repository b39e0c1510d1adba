// Forward projection of a view's columns. Included once per target by Highway's foreach_target.

#if defined(ISOCENTER_KERNELS_CPU_PROJECT_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_PROJECT_COLUMNS_INL_H_
#undef ISOCENTER_KERNELS_CPU_PROJECT_COLUMNS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_PROJECT_COLUMNS_INL_H_
#endif

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/cpu/projectors/project_gather-inl.h"
#include "kernels/cpu/projectors/project_job.h"
#include "kernels/cpu/projectors/project_windows-inl.h"
#include "kernels/cpu/projectors/ray_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

// Where a block's rays are among the voxels, in a run of planes.
struct BlockInGrid {
  static constexpr float kSlack = 1e-3f;  // rounding

  HWY_INLINE BlockInGrid(const RayBlock& block, const VolumeShape& volume, RayAxes axes,
                         const PlaneRun& planes)
      : all{planes.first - block.reference, planes.last - block.reference},
        ends_b(EndsOf(block.b, block.slope_b)),
        ends_c(EndsOf(block.c, block.slope_c)),
        low_b(static_cast<float>(-block.base_b)),
        low_c(static_cast<float>(-block.base_c)),
        high_b(low_b + static_cast<float>(volume.size[axes.b])),
        high_c(low_c + static_cast<float>(volume.size[axes.c])) {}

  // The planes in which all four neighbours of every ray are voxels.
  HWY_INLINE PlaneRange Inside() const {
    return WhereAll(WhereAll(all, ends_b, low_b + kSlack, high_b - 1 - kSlack), ends_c,
                    low_c + kSlack, high_c - 1 - kSlack);
  }
  // Beyond these no ray has a voxel for a neighbour.
  HWY_INLINE PlaneRange Seen() const {
    return WhereAny(WhereAny(all, ends_b, low_b - 1 - kSlack, high_b + kSlack), ends_c,
                    low_c - 1 - kSlack, high_c + kSlack);
  }

  PlaneRange all;
  BlockEnds ends_b, ends_c;
  float low_b, low_c, high_b, high_c;
};

// Adds what is seen but for `inside`.
template <class Model, class Voxels>
HWY_INLINE V AddAround(const RayBlock& block, const BlockInGrid& in, PlaneRange inside,
                       const VolumeShape& volume, const Voxels& voxels, RayAxes axes, V sum) {
  if (inside.first == in.all.first && inside.last == in.all.last) return sum;
  const PlaneRange seen = in.Seen();
  if (inside.empty()) return AddGathered<Model>(block, volume, voxels, axes, seen, sum);
  sum = AddGathered<Model>(block, volume, voxels, axes, {seen.first, inside.first}, sum);
  return AddGathered<Model>(block, volume, voxels, axes, {inside.last, seen.last}, sum);
}

// What the rays of a block see in a run of planes.
template <class Model>
HWY_INLINE V SumOfBlock(const RayBlock& block, const VolumeShape& volume, const GridVoxels& voxels,
                        RayAxes axes, const PlaneRun& planes) {
  const BlockInGrid in(block, volume, axes, planes);
  V sum = hn::Zero(D());
  PlaneRange inside{in.all.first, in.all.first};
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const PlaneRange whole = in.Inside();
  const int window = whole.empty() ? 0 : WindowFor(volume, axes, whole, in.ends_b, in.ends_c);
  if (window > 0) {
    inside = whole;
    sum = AddFromWindows<Model>(block, volume, voxels.data, axes, inside, in.ends_b, in.ends_c,
                                window, sum);
  }
#endif
  return AddAround<Model>(block, in, inside, volume, voxels, axes, sum);
}

// The four weights of a plane sum up to one.
template <class Model>
HWY_INLINE V SumOfBlock(const RayBlock& block, const VolumeShape& volume, const Ones& voxels,
                        RayAxes axes, const PlaneRun& planes) {
  const BlockInGrid in(block, volume, axes, planes);
  const PlaneRange inside = in.Inside();
  const V sum = hn::Set(D(), static_cast<float>(std::max(0, inside.last - inside.first)));
  return AddAround<Model>(block, in, inside, volume, voxels, axes, sum);
}

// Adds the sums of a block to the pixels of some rows of column u.
HWY_INLINE void AddToRows(const ForwardJob& job, const RayView& view, int u, int first_row,
                          int rows, V sum) {
  const D d;
  float* pixels = job.stack + view.image + u * view.stride + first_row;
  if (rows >= kRays) {
    hn::StoreU(hn::Add(sum, hn::LoadU(d, pixels)), d, pixels);
    return;
  }
  HWY_ALIGN_MAX float sums[kRays];
  hn::Store(sum, d, sums);
  for (int i = 0; i < rows; ++i) pixels[i] += sums[i];
}

// Adds the planes [first, last) of the rays' major axis to the pixels of some rows of column u.
template <class Model, class Voxels>
HWY_INLINE void AddToPixels(const ForwardJob& job, const Voxels& voxels, const RayView& view, int u,
                            int first_row, bool one_row, Heading heading, int first, int last) {
  const RayAxes axes(heading.axis);
  const auto add = [&](const PlaneRun& planes) HWY_ATTR {
    if (planes.count() <= 0) return;
    const RayBlock block =
        MakeRayBlock<Model>(view, job.volume, axes, u, first_row, one_row, planes);
    const V sum = hn::Mul(SumOfBlock<Model>(block, job.volume, voxels, axes, planes), block.length);
    AddToRows(job, view, u, first_row, one_row ? 1 : view.rows - first_row, sum);
  };
  last = std::min(last, job.volume.size[heading.axis]);
  if (first >= last) return;
  const double source = view.source[heading.axis];
  if constexpr (Model::kSlabs) {
    const SlabRuns runs = SlabsInFront(source, heading, first, last);
    add(runs.whole);
    add(runs.part);
  } else {
    add(PlanesInFront(source, heading, first, last));
  }
}

// The same for all rows of a column.
template <class Model, class Voxels>
HWY_INLINE void AddToColumn(const ForwardJob& job, const Voxels& voxels, const RayView& view, int u,
                            int first, int last) {
  Heading heading;
  const bool one_heading = view.IsUniform(u, 0, view.rows - 1, heading);
  for (int v = 0; v < view.rows; v += kRays) {
    const int end = std::min(v + kRays, view.rows);
    if (one_heading || view.IsUniform(u, v, end - 1, heading)) {
      AddToPixels<Model>(job, voxels, view, u, v, false, heading, first, last);
      continue;
    }
    for (int row = v; row < end; ++row) {
      AddToPixels<Model>(job, voxels, view, u, row, true, view.HeadingOf(u, row), first, last);
    }
  }
}

// Calls column(view, u, first, last) for runs of planes that a core's caches hold.
template <class Column>
HWY_INLINE void ForPlanesOfColumns(const ForwardJob& job, int run_planes, Column column) {
  const int planes = job.volume.planes();
  for (int first = 0; first < planes; first += run_planes) {
    for (const RayView& view : job.views) {
      for (int u = job.first_column; u < job.last_column; ++u) {
        column(view, u, first, first + run_planes);
      }
    }
  }
}

template <class Model>
void ForwardColumns(const ForwardJob& job) {
  const GridVoxels voxels{job.voxels};
  ForPlanesOfColumns(job, kRunPlanes,
                     [&](const RayView& view, int u, int first, int last)
                         HWY_ATTR { AddToColumn<Model>(job, voxels, view, u, first, last); });
}

// Adds the lengths of rays in the grid; the job's voxels are not read.
template <class Model>
void SumRowsOfColumns(const ForwardJob& job) {
  ForPlanesOfColumns(job, job.volume.planes(),
                     [&](const RayView& view, int u, int first, int last)
                         HWY_ATTR { AddToColumn<Model>(job, Ones(), view, u, first, last); });
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
