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
#include "kernels/cpu/project_job.h"
#include "kernels/cpu/ray_block-inl.h"
#include "kernels/cpu/ray_corners-inl.h"
#include "kernels/cpu/scatter_windows-inl.h"

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
HWY_INLINE void AddToCell(const float* weights, float* cell) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < kCellFloats; ++i) cell[i] += weights[i];
#else
  const hn::FixedTag<float, kCellFloats> d;
  hn::Store(hn::Add(hn::Load(d, cell), hn::Load(d, weights)), d, cell);
#endif
}

// Adds a block of rows of a column to the cells of a tile.
template <class Model>
HWY_INLINE void ScatterToCells(const ScatterJob& job, const RayView& view, RayAxes axes, int u,
                               int row, const CellTile& tile) {
  const D d;
  const DI di;
  const RayBlock block = MakeRayBlock<Model>(view, job.volume, axes, u, row, false, tile.planes);
  const V pixels = hn::Mul(PixelsOf(job, view, u, row, false), block.length);
  HWY_ALIGN_MAX int32_t at[kRays];
  HWY_ALIGN_MAX float weights[kRays * kCellFloats];
  for (int plane = tile.planes.first; plane < tile.planes.last; ++plane) {
    const CellPlane& box = tile.boxes[plane - tile.planes.first];
    const Corners corners = CornersOf<Model>(block, pixels, plane - block.reference);
    const int first = (block.base_b - box.first_b) * box.row_cells + block.base_c - box.first_c;
    const V cell = hn::MulAdd(corners.floor_b, hn::Set(d, static_cast<float>(box.row_cells)),
                              hn::Add(corners.floor_c, hn::Set(d, static_cast<float>(first))));
    hn::Store(hn::ShiftLeft<2>(hn::ConvertTo(di, cell)), di, at);
    hn::StoreInterleaved4(corners.ll, corners.ul, corners.lu, corners.uu, d, weights);
    float* cells = job.cells + box.first_cell * kCellFloats;
    for (int ray = 0; ray < kRays; ++ray) AddToCell(weights + ray * kCellFloats, cells + at[ray]);
  }
}

// Adds the first `count` lanes to what is at `voxels`.
HWY_INLINE void AddTo(float* voxels, int count, V value) {
  const D d;
  if (count >= kRays) {
    hn::StoreU(hn::Add(hn::LoadU(d, voxels), value), d, voxels);
    return;
  }
  HWY_ALIGN_MAX float values[kRays];
  hn::Store(value, d, values);
  for (int i = 0; i < count; ++i) voxels[i] += values[i];
}

// Adds one plane's cells to the volume, whose c axis is dense.
HWY_INLINE void AddCellRows(const ScatterJob& job, RayAxes axes, int plane, const CellPlane& box) {
  const D d;
  const VolumeShape& volume = job.volume;
  const int begin = std::max(box.first_c, 0);
  const int end = std::min(box.first_c + box.cells_c + 1, volume.size[axes.c]);
  float* voxels = job.voxels + plane * volume.stride[axes.a];
  for (int i = 0; i < box.cells_b; ++i) {
    const int b = box.first_b + i;
    // In memory the upper two corners of the cell before a voxel and the lower two of the cell that
    // begins with it are neighbours.
    const float* cells =
        job.cells + (box.first_cell + int64_t{i} * box.row_cells - box.first_c) * kCellFloats - 2;
    const auto inside = [&](int at) { return at >= 0 && at < volume.size[axes.b]; };
    const bool lower_inside = inside(b), upper_inside = inside(b + 1);
    float* lower_column = voxels + b * volume.stride[axes.b];
    float* upper_column = lower_column + volume.stride[axes.b];
    for (int c = begin; c < end; c += kRays) {
      V lower_before, upper_before, lower, upper;
      hn::LoadInterleaved4(d, cells + int64_t{c} * kCellFloats, lower_before, upper_before, lower,
                           upper);
      if (lower_inside) AddTo(lower_column + c, end - c, hn::Add(lower_before, lower));
      if (upper_inside) AddTo(upper_column + c, end - c, hn::Add(upper_before, upper));
    }
  }
}

// The same for any c axis.
inline void AddCells(const ScatterJob& job, RayAxes axes, int plane, const CellPlane& box) {
  const VolumeShape& volume = job.volume;
  float* voxels = job.voxels + plane * volume.stride[axes.a];
  for (int i = 0; i < box.cells_b; ++i) {
    for (int k = 0; k < box.cells_c; ++k) {
      const float* cell =
          job.cells + (box.first_cell + int64_t{i} * box.row_cells + k) * kCellFloats;
      for (int corner = 0; corner < 4; ++corner) {
        const int b = box.first_b + i + corner % 2, c = box.first_c + k + corner / 2;
        if (b < 0 || b >= volume.size[axes.b] || c < 0 || c >= volume.size[axes.c]) continue;
        voxels[b * volume.stride[axes.b] + c * volume.stride[axes.c]] += cell[corner];
      }
    }
  }
}

// The rays of a tile, all of one heading.
template <class Model>
void ScatterTile(const ScatterJob& job, const RayView& view, RayAxes axes,
                 const DetectorTile& detector, PlaneRun planes) {
  while (planes.count() > 0) {
    const CellTile tile = NextPlanes(view, job.volume, axes, detector, planes, Model::kSlabs);
    const bool in_cells = tile.action == CellTile::Action::kCells;
    planes.at += tile.planes.count();
    planes.first = tile.planes.last;
    if (tile.action == CellTile::Action::kUnseen) continue;
    if (in_cells) std::fill_n(job.cells, tile.cells * kCellFloats, 0.0f);
    for (int u = detector.first_u; u < detector.last_u; ++u) {
      for (int v = detector.first_v; v < detector.last_v; v += kRays) {
        if (in_cells) {
          ScatterToCells<Model>(job, view, axes, u, v, tile);
        } else {
          ScatterDirectly<Model>(job, view, axes, u, v, false, tile.planes);
        }
      }
    }
    if (!in_cells) continue;
    for (int i = 0; i < tile.planes.count(); ++i) {
      if (axes.c == 2) {
        AddCellRows(job, axes, tile.planes.first + i, tile.boxes[i]);
      } else {
        AddCells(job, axes, tile.planes.first + i, tile.boxes[i]);
      }
    }
  }
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

template <class Model>
void ScatterRays(const ScatterJob& job) {
  constexpr int kTileColumns = 32;
  const int columns = job.views[0].columns;
  for (size_t group = 0; group < job.views.size(); group += kRayViews) {
    const auto views =
        job.views.subspan(group, std::min<size_t>(kRayViews, job.views.size() - group));
    for (int first = 0; first < columns; first += kTileColumns) {
      for (const RayView& view : views) {
        for (int u = first; u < std::min(first + kTileColumns, columns); ++u) {
          ScatterColumn<Model>(job, view, u);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
