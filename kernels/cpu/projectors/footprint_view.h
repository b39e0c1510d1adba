// Projectors that give each voxel a footprint on the detector: a share of every pixel that is a
// function of its column times a function of its row. What their parts hand to each other.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/geometry/projection_matrix.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cpu {

enum class Footprint {
  kHat,        // bilinear interpolation: ProjectorModel::kVoxelDriven
  kTrapezoid,  // trapezoid by rectangle: ProjectorModel::kSeparableFootprint
};

/// A run of voxels along z is worked on at a time: short enough for its footprints to stay within a
/// few detector columns, long enough to be worth the preparation.
inline constexpr int kRunHeight = 128;

/// One view of a stack in ColumnLayout. Voxels may be cut into parts: then indices are those of the
/// parts.
struct FootprintView {
  ProjectionMatrix matrix;   // of voxel indices
  double mass;               // V·|det M|: the share of a voxel is mass·|x - s| / w³
  Vec3 from_source;          // x - s of voxel (0, 0, 0), mm
  std::array<Vec3, 3> step;  // from a voxel to the next along each index axis, mm
  int axial;                 // AxialAxis
  float* image;              // pixel (0, 0); back-projections only read
  int64_t stride;            // from column to column
  int rows, columns;

  Vec3 FromSource(double x, double y, double z) const {
    return from_source + x * step[0] + y * step[1] + z * step[2];
  }
};

/// Detector columns [first, end) that a thread adds to.
struct ColumnRange {
  int first, end;
};

/// Voxels (x, y, z) to (x, y, z + count - 1), count at most kRunHeight.
struct VoxelRun {
  int x, y, z;
  int count;
};

/// What the kernels need of a run and a view. Detector positions are relative to a column
/// near the run and to row near_v, and t counts voxels from the run's middle, count / 2, so that
/// float32 keeps the digits that matter: u = (u0 + u1·t) / (w0 + w1·t).
struct RunGeometry {
  float u0, u1, v0, v1, w0, w1;
  float corner_u[4], corner_w[4];  // of a voxel's four edges along z, relative to its centre
  float mass;
  float from_source[3], step[3];
  int count;
  int near_v;
  int first_column, columns;  // those of the footprints that are wanted
  int first_row, end_row;     // of the detector
  int forward_taps;           // voxels that add to one row, at most
  int back_taps;              // rows that one voxel adds to, at most
  float voxels_per_row;       // traced back, at most
  float rows_per_voxel;       // at most
  bool ascending;             // v grows with z
  float* image;               // the first of them, row 0
  int64_t stride;
  int rows;
};

inline constexpr int kMaxTaps = 16;
inline constexpr int kMaxColumns = 16;

enum class RunKind {
  kUnseen,   // its footprints touch no pixel that is wanted
  kRegular,  // RunGeometry describes it
  kOther,    // left to the plain path (footprint_plain.h)
};

/// Regular are runs in front of the source, along whose z the detector's rows pass by steadily and
/// its columns hardly.
RunKind Describe(const FootprintView& view, Footprint footprint, const VoxelRun& run,
                 ColumnRange wanted, RunGeometry& geometry);

}  // namespace isocenter::cpu
