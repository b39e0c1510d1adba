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

// What the rays of a block see in a run of planes.
template <class Model>
HWY_INLINE V SumOfBlock(const RayBlock& block, const VolumeShape& volume, const float* voxels,
                        RayAxes axes, const PlaneRun& planes) {
  constexpr float kSlack = 1e-3f;  // rounding
  const PlaneRange all{planes.first - block.reference, planes.last - block.reference};
  const BlockEnds ends_b = EndsOf(block.b, block.slope_b);
  const BlockEnds ends_c = EndsOf(block.c, block.slope_c);
  const float low_b = static_cast<float>(-block.base_b);
  const float low_c = static_cast<float>(-block.base_c);
  const float high_b = low_b + static_cast<float>(volume.size[axes.b]);
  const float high_c = low_c + static_cast<float>(volume.size[axes.c]);
  V sum = hn::Zero(D());
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  // Where all lower neighbours are in the grid, and the upper ones too.
  const PlaneRange inside = WhereAll(WhereAll(all, ends_b, low_b + kSlack, high_b - 1 - kSlack),
                                     ends_c, low_c + kSlack, high_c - 1 - kSlack);
  const int window = inside.empty() ? 0 : WindowFor(volume, axes, inside, ends_b, ends_c);
  if (window > 0) {
    sum = AddFromWindows<Model>(block, volume, voxels, axes, inside, ends_b, ends_c, window, sum);
    if (inside.first == all.first && inside.last == all.last) return sum;
  }
#endif
  const PlaneRange seen = WhereAny(WhereAny(all, ends_b, low_b - 1 - kSlack, high_b + kSlack),
                                   ends_c, low_c - 1 - kSlack, high_c + kSlack);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if (window > 0) {
    sum = AddGathered<Model>(block, volume, voxels, axes, {seen.first, inside.first}, sum);
    return AddGathered<Model>(block, volume, voxels, axes, {inside.last, seen.last}, sum);
  }
#endif
  return AddGathered<Model>(block, volume, voxels, axes, seen, sum);
}

// Adds the planes [first, last) of the rays' major axis to the pixels of some rows of column u.
template <class Model>
HWY_INLINE void AddToPixels(const ForwardJob& job, const RayView& view, int u, int first_row,
                            bool one_row, Heading heading, int first, int last) {
  const D d;
  const RayAxes axes(heading.axis);
  const auto add = [&](const PlaneRun& planes) HWY_ATTR {
    if (planes.count() <= 0) return;
    const RayBlock block =
        MakeRayBlock<Model>(view, job.volume, axes, u, first_row, one_row, planes);
    const V sum =
        hn::Mul(SumOfBlock<Model>(block, job.volume, job.voxels, axes, planes), block.length);
    float* pixels = job.stack + view.image + u * view.stride + first_row;
    const int rows = one_row ? 1 : view.rows - first_row;
    if (rows >= kRays) {
      hn::StoreU(hn::Add(sum, hn::LoadU(d, pixels)), d, pixels);
    } else {
      HWY_ALIGN_MAX float sums[kRays];
      hn::Store(sum, d, sums);
      for (int i = 0; i < rows; ++i) pixels[i] += sums[i];
    }
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
template <class Model>
HWY_INLINE void AddToColumn(const ForwardJob& job, const RayView& view, int u, int first,
                            int last) {
  Heading heading;
  const bool one_heading = view.IsUniform(u, 0, view.rows - 1, heading);
  for (int v = 0; v < view.rows; v += kRays) {
    const int end = std::min(v + kRays, view.rows);
    if (one_heading || view.IsUniform(u, v, end - 1, heading)) {
      AddToPixels<Model>(job, view, u, v, false, heading, first, last);
      continue;
    }
    for (int row = v; row < end; ++row) {
      AddToPixels<Model>(job, view, u, row, true, view.HeadingOf(u, row), first, last);
    }
  }
}

// Calls column(view, u, first, last) for runs of planes that a core's caches hold.
template <class Column>
HWY_INLINE void ForPlanesOfColumns(const ForwardJob& job, Column column) {
  const auto& size = job.volume.size;
  const int planes = std::max({size[0], size[1], size[2]});
  for (int first = 0; first < planes; first += kRunPlanes) {
    for (const RayView& view : job.views) {
      for (int u = job.first_column; u < job.last_column; ++u) {
        column(view, u, first, first + kRunPlanes);
      }
    }
  }
}

template <class Model>
void ForwardColumns(const ForwardJob& job) {
  ForPlanesOfColumns(job, [&](const RayView& view, int u, int first, int last)
                              HWY_ATTR { AddToColumn<Model>(job, view, u, first, last); });
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
