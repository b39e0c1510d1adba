// The adjoint of forward projection: every ray adds its pixel to the voxels that it sees. Included
// once per target by Highway's foreach_target.
//
// A job owns some planes of the volume and takes all rays through them in a fixed order, so the
// result does not depend on the number of threads.

#if defined(ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_
#undef ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "kernels/cpu/projectors/project_job.h"
#include "kernels/cpu/projectors/ray_block-inl.h"
#include "kernels/cpu/projectors/ray_corners-inl.h"
#include "kernels/cpu/projectors/scatter_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

HWY_INLINE V PixelsOf(const ScatterJob& job, const RayView& view, int u, int row, bool one_row) {
  // Behind the last row there are zeros.
  const float* pixels = job.stack + view.image + u * view.stride + row;
  return one_row ? hn::Set(D(), *pixels) : hn::LoadU(D(), pixels);
}

// Adds the first `rays` lanes to the volume voxel by voxel.
template <class Model>
void ScatterDirectly(const ScatterJob& job, const RayBlock& block, RayAxes axes, int rays,
                     PlaneRange range, V pixels) {
  const D d;
  const DI di;
  const VolumeShape& volume = job.volume;
  const auto size_b = static_cast<uint32_t>(volume.size[axes.b]);
  const auto size_c = static_cast<uint32_t>(volume.size[axes.c]);
  range = WhereAny(range, EndsOf(block.b, block.slope_b), -1.001f - block.base_b,
                   0.001f + volume.size[axes.b] - block.base_b);
  const V one = hn::Set(d, 1.0f);
  HWY_ALIGN_MAX int32_t b[kRays], c[kRays];
  HWY_ALIGN_MAX float weights[4][kRays];
  for (int plane = range.first; plane < range.last; ++plane) {
    const V step = hn::Set(d, static_cast<float>(plane));
    const V at_b = hn::MulAdd(step, block.slope_b, block.b);
    const V at_c = hn::MulAdd(step, block.slope_c, block.c);
    const V floor_b = hn::Floor(at_b), floor_c = hn::Floor(at_c);
    const Corners corners = CornersOf<Model>(
        pixels, Model::Share(hn::Sub(hn::Add(floor_b, one), at_b), block.inverse_b),
        Model::Share(hn::Sub(hn::Add(floor_c, one), at_c), block.inverse_c), block.agree);
    hn::Store(hn::Add(hn::ConvertTo(di, floor_b), hn::Set(di, block.base_b)), di, b);
    hn::Store(hn::Add(hn::ConvertTo(di, floor_c), hn::Set(di, block.base_c)), di, c);
    hn::Store(corners.ll, d, weights[0]);
    hn::Store(corners.lu, d, weights[1]);
    hn::Store(corners.ul, d, weights[2]);
    hn::Store(corners.uu, d, weights[3]);
    float* voxels = job.voxels + (block.reference + plane) * volume.stride[axes.a];
    for (int ray = 0; ray < rays; ++ray) {
      for (int corner = 0; corner < 4; ++corner) {
        const auto voxel_b = static_cast<uint32_t>(b[ray] + corner / 2);
        const auto voxel_c = static_cast<uint32_t>(c[ray] + corner % 2);
        if (voxel_b >= size_b || voxel_c >= size_c) continue;  // negative ones too
        voxels[voxel_b * volume.stride[axes.b] + voxel_c * volume.stride[axes.c]] +=
            weights[corner][ray];
      }
    }
  }
}

// Adds some rows of a column to the planes of a run.
template <class Model>
HWY_INLINE void ScatterBlock(const ScatterJob& job, const RayView& view, RayAxes axes, int u,
                             int row, bool one_row, const PlaneRun& planes) {
  const RayBlock block = MakeRayBlock<Model>(view, job.volume, axes, u, row, one_row, planes);
  const V pixels = hn::Mul(PixelsOf(job, view, u, row, one_row), block.length);
  const PlaneRange all{planes.first - block.reference, planes.last - block.reference};
  const int rays = one_row ? 1 : std::min(kRays, view.rows - row);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  const PlaneRange windowed =
      one_row ? PlaneRange{all.first, all.first}
              : ScatterToWindows<Model>(block, job.volume, job.voxels, axes, all, pixels);
  ScatterDirectly<Model>(job, block, axes, rays, {all.first, windowed.first}, pixels);
  ScatterDirectly<Model>(job, block, axes, rays, {windowed.last, all.last}, pixels);
#else
  ScatterDirectly<Model>(job, block, axes, rays, all, pixels);
#endif
}

// Calls body(planes) for the job's planes in front of the source.
template <class Model, class Body>
HWY_INLINE void ForPlanes(const ScatterJob& job, const RayView& view, Heading heading, Body body) {
  const double source = view.source[heading.axis];
  const auto call = [&](const PlaneRun& planes) {
    if (planes.count() > 0) body(planes);
  };
  if constexpr (Model::kSlabs) {
    const SlabRuns runs = SlabsInFront(source, heading, job.first_plane, job.last_plane);
    call(runs.whole);
    call(runs.part);
  } else {
    call(PlanesInFront(source, heading, job.first_plane, job.last_plane));
  }
}

// All rows of a column.
template <class Model>
HWY_INLINE void ScatterColumn(const ScatterJob& job, const RayView& view, int u) {
  const RayAxes axes(job.axis);
  const auto scatter = [&](int row, bool one_row, Heading heading) HWY_ATTR {
    if (heading.axis != job.axis) return;
    ForPlanes<Model>(job, view, heading, [&](const PlaneRun& planes) HWY_ATTR {
      ScatterBlock<Model>(job, view, axes, u, row, one_row, planes);
    });
  };
  Heading heading;
  const bool one_heading = view.IsUniform(u, 0, view.rows - 1, heading);
  if (one_heading && heading.axis != job.axis) return;
  for (int v = 0; v < view.rows; v += kRays) {
    const int end = std::min(v + kRays, view.rows);
    if (one_heading || view.IsUniform(u, v, end - 1, heading)) {
      scatter(v, false, heading);
      continue;
    }
    for (int row = v; row < end; ++row) scatter(row, true, view.HeadingOf(u, row));
  }
}

// Calls column(view, u) in an order in which neighbours see the same voxels.
template <class Column>
HWY_INLINE void ForColumnsOfViews(const ScatterJob& job, Column column) {
  constexpr int kTileColumns = 16;
  const int columns = job.views[0].columns;
  for (size_t group = 0; group < job.views.size(); group += kRayViews) {
    const auto views =
        job.views.subspan(group, std::min<size_t>(kRayViews, job.views.size() - group));
    for (int first = 0; first < columns; first += kTileColumns) {
      for (const RayView& view : views) {
        for (int u = first; u < std::min(first + kTileColumns, columns); ++u) {
          column(view, u);
        }
      }
    }
  }
}

template <class Model>
void ScatterRays(const ScatterJob& job) {
  ForColumnsOfViews(
      job, [&](const RayView& view, int u) HWY_ATTR { ScatterColumn<Model>(job, view, u); });
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
