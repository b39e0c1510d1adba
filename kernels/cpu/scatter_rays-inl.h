// The adjoint of forward projection: every ray adds its pixel to the voxels that it sees. Included
// once per target by Highway's foreach_target.
//
// A job owns some planes of the volume and takes all rays through them in a fixed order, so the
// result does not depend on the number of threads. Rays of a tile of the detector add to bilinear
// cells (project_job.h), which are then added to the volume; what does not fit goes to the volume
// directly.

#if defined(ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_
#undef ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_
#else
#define ISOCENTER_KERNELS_CPU_SCATTER_RAYS_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "hwy/highway.h"
#include "kernels/cpu/cell_tile.h"
#include "kernels/cpu/project_job.h"
#include "kernels/cpu/ray_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

// The pixels of a block of rays times the weights of the four voxels in one plane, and where the
// lower ones are relative to the block's base.
struct Corners {
  V floor_b, floor_c, ll, lu, ul, uu;
};

template <class Model>
HWY_INLINE Corners CornersOf(const RayBlock& block, V pixels, int plane) {
  const D d;
  const V one = hn::Set(d, 1.0f), step = hn::Set(d, static_cast<float>(plane));
  const V b = hn::MulAdd(step, block.slope_b, block.b);
  const V c = hn::MulAdd(step, block.slope_c, block.c);
  Corners corners;
  corners.floor_b = hn::Floor(b);
  corners.floor_c = hn::Floor(c);
  const V share_b = Model::Share(hn::Sub(hn::Add(corners.floor_b, one), b), block.inverse_b);
  const V share_c = Model::Share(hn::Sub(hn::Add(corners.floor_c, one), c), block.inverse_c);
  const V lower_b = hn::Mul(pixels, share_b), lower_c = hn::Mul(pixels, share_c);
  corners.ll = hn::Mul(pixels, Model::BothLow(share_b, share_c, block.agree));
  corners.lu = hn::Sub(lower_b, corners.ll);
  corners.ul = hn::Sub(lower_c, corners.ll);
  corners.uu = hn::Sub(hn::Sub(pixels, lower_b), corners.ul);
  return corners;
}

HWY_INLINE V PixelsOf(const ScatterJob& job, const RayView& view, int u, int row, bool one_row) {
  // Behind the last row there are zeros.
  const float* pixels = job.stack + view.image + u * view.stride + row;
  return one_row ? hn::Set(D(), *pixels) : hn::LoadU(D(), pixels);
}

// Adds some rows of a column to the volume itself, voxel by voxel.
template <class Model>
void ScatterDirectly(const ScatterJob& job, const RayView& view, RayAxes axes, int u, int row,
                     bool one_row, const PlaneRun& planes) {
  const D d;
  const DI di;
  const VolumeShape& volume = job.volume;
  const RayBlock block = MakeRayBlock<Model>(view, volume, axes, u, row, one_row, planes);
  const V pixels = hn::Mul(PixelsOf(job, view, u, row, one_row), block.length);
  const int rays = one_row ? 1 : std::min(kRays, view.rows - row);
  HWY_ALIGN_MAX int32_t b[kRays], c[kRays];
  HWY_ALIGN_MAX float weights[4][kRays];
  for (int plane = planes.first; plane < planes.last; ++plane) {
    const Corners corners = CornersOf<Model>(block, pixels, plane - block.reference);
    hn::Store(hn::Add(hn::ConvertTo(di, corners.floor_b), hn::Set(di, block.base_b)), di, b);
    hn::Store(hn::Add(hn::ConvertTo(di, corners.floor_c), hn::Set(di, block.base_c)), di, c);
    hn::Store(corners.ll, d, weights[0]);
    hn::Store(corners.lu, d, weights[1]);
    hn::Store(corners.ul, d, weights[2]);
    hn::Store(corners.uu, d, weights[3]);
    float* voxels = job.voxels + plane * volume.stride[axes.a];
    for (int ray = 0; ray < rays; ++ray) {
      for (int corner = 0; corner < 4; ++corner) {
        const int at_b = b[ray] + corner / 2, at_c = c[ray] + corner % 2;
        if (at_b < 0 || at_b >= volume.size[axes.b] || at_c < 0 || at_c >= volume.size[axes.c]) {
          continue;
        }
        voxels[at_b * volume.stride[axes.b] + at_c * volume.stride[axes.c]] += weights[corner][ray];
      }
    }
  }
}

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

// A column of a tile whose rays have several headings.
template <class Model>
void ScatterMixedColumn(const ScatterJob& job, const RayView& view, int u, int first_v,
                        int last_v) {
  const RayAxes axes(job.axis);
  const auto scatter = [&](int row, bool one_row, Heading heading) {
    if (heading.axis != job.axis) return;
    ForPlanes<Model>(job, view, heading, [&](const PlaneRun& planes) {
      ScatterDirectly<Model>(job, view, axes, u, row, one_row, planes);
    });
  };
  for (int v = first_v; v < last_v; v += kRays) {
    const int end = std::min(v + kRays, last_v);
    Heading heading;
    if (view.IsUniform(u, v, end - 1, heading)) {
      scatter(v, false, heading);
      continue;
    }
    for (int row = v; row < end; ++row) scatter(row, true, view.HeadingOf(u, row));
  }
}

template <class Model>
void ScatterRays(const ScatterJob& job) {
  constexpr int kTileColumns = 32, kTileRows = 128;
  static_assert(kTileRows % kRays == 0);
  const RayAxes axes(job.axis);
  for (const RayView& view : job.views) {
    Heading whole_view;
    if (view.IsUniform(whole_view) && whole_view.axis != job.axis) {
      continue;
    }
    for (int u = 0; u < view.columns; u += kTileColumns) {
      const int last_u = std::min(u + kTileColumns, view.columns);
      for (int v = 0; v < view.rows; v += kTileRows) {
        const int last_v = std::min(v + kTileRows, view.rows);
        const auto scatter = [&](int first, int last, Heading heading) {
          if (heading.axis != job.axis) return;
          ForPlanes<Model>(job, view, heading, [&](const PlaneRun& planes) {
            ScatterTile<Model>(job, view, axes, {first, last, v, last_v}, planes);
          });
        };
        // Neighbouring columns of one heading together.
        int first = u;
        Heading heading;
        bool uniform = false;
        for (int column = u; column < last_u; ++column) {
          Heading own;
          const bool own_uniform = view.IsUniform(column, v, last_v - 1, own);
          if (uniform && !(own_uniform && own == heading)) scatter(first, column, heading);
          if (!own_uniform) ScatterMixedColumn<Model>(job, view, column, v, last_v);
          if (own_uniform && !(uniform && own == heading)) first = column;
          uniform = own_uniform;
          heading = own;
        }
        if (uniform) scatter(first, last_u, heading);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
