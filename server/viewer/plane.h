// Planes of a volume, as a viewer shows them.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace isocenter::viewer {

/// Voxels along each axis.
struct Extent {
  int nx = 0, ny = 0, nz = 0;
  int64_t voxels() const { return int64_t{nx} * ny * nz; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// Which index is fixed: z, y or x.
enum class Axis { kAxial, kCoronal, kSagittal };

/// Hounsfield units, row by row: along x (then y) of an axial plane, x (z) of a coronal one, y (z)
/// of a sagittal one.
struct Plane {
  int columns = 0, rows = 0;
  std::vector<int16_t> hounsfield;
};

/// An empty plane of the right size.
Plane MakePlane(const Extent& extent, Axis axis);

/// Errors: INVALID_ARGUMENT, naming the legal range.
absl::Status CheckIndex(const Extent& extent, Axis axis, int index);

/// Rounded; what is outside ±32767 becomes the bound, and what is no number the lower one.
inline int16_t ToInt16(float hounsfield) {
  constexpr float kMost = 32767;
  if (!(hounsfield > -kMost)) return -32767;
  if (hounsfield > kMost) return 32767;
  return static_cast<int16_t>(std::lrint(hounsfield));
}

/// The extent and those of its halves, until at most 128 voxels are along each axis. An odd end
/// makes a voxel of its own.
std::vector<Extent> LevelsOf(const Extent& extent);

}  // namespace isocenter::viewer
