// Walks a line through a regular lattice of cells, from border to border (Amanatides, Woo 1987),
// without a branch that depends on which border comes next: that is as good as random and would be
// mispredicted every other step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace isocenter::phantom {

// Four lanes of the compiler's vector extension; the first three are the axes.
typedef float Float4 __attribute__((vector_size(16)));
typedef int32_t Int4 __attribute__((vector_size(16)));

inline Float4 Broadcast(float x) { return Float4{x, x, x, x}; }

inline Float4 Minimum(Float4 a, Float4 b) {
#ifdef __SSE__
  return _mm_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}

/// Bit i is set where lane i of a comparison's result is true.
inline int LaneBits(Int4 lanes) {
#ifdef __SSE__
  return _mm_movemask_ps(reinterpret_cast<Float4>(lanes));
#else
  return (lanes[0] & 1) | (lanes[1] & 2) | (lanes[2] & 4) | (lanes[3] & 8);
#endif
}

/// A line in voxel coordinates, float32. The parameter is in millimetres from `origin`, which is to
/// be near the volume so that positions keep their precision.
struct Line {
  Float4 origin;  // voxels
  Float4 slope;   // voxels per mm
};

/// The cells are cubes of `size` voxels, stored with a layer of cells around them: rounding may
/// take a walk one cell past the ends.
class LatticeWalk {
 public:
  /// `cells` and `strides` per axis; the walk covers the parameters from `begin` to `end`.
  LatticeWalk(const Line& line, float begin, float end, int size, const std::array<int, 3>& cells,
              const std::array<int64_t, 3>& strides) {
    const Float4 position = line.origin + Broadcast(begin) * line.slope;
    std::array<int64_t, 3> jump;
    border_[3] = end;
    for (int a = 0; a < 3; ++a) {
      const int index =
          std::clamp(static_cast<int>(std::floor(position[a] / size)), 0, cells[a] - 1);
      const bool forward = line.slope[a] > 0;
      const bool level = std::abs(line.slope[a]) < kLevel;
      border_[a] = level ? kNever : ((index + forward) * size - line.origin[a]) / line.slope[a];
      step_[a] = level ? kNever : size / std::abs(line.slope[a]);
      cell_[a] = index;
      sense_[a] = forward ? 1 : -1;
      jump[a] = forward ? strides[a] : -strides[a];
      offset_ += index * strides[a];
    }
    for (int bits = 0; bits < 8; ++bits) {
      jumps_[bits] = (bits & 1 ? jump[0] : 0) + (bits & 2 ? jump[1] : 0) + (bits & 4 ? jump[2] : 0);
    }
  }

  /// The parameter at which the present cell is left, or `end`, in all lanes.
  Float4 Next() const {
    const Float4 pairs = Minimum(border_, __builtin_shufflevector(border_, border_, 1, 0, 3, 2));
    return Minimum(pairs, __builtin_shufflevector(pairs, pairs, 2, 3, 0, 1));
  }

  /// Goes on to the cell behind `next` = Next(); false at the end of the walk.
  bool Cross(Float4 next) {
    const Int4 crossed = border_ <= next;
    border_ += reinterpret_cast<Float4>(crossed & reinterpret_cast<Int4>(step_));
    cell_ += reinterpret_cast<Float4>(crossed & reinterpret_cast<Int4>(sense_));
    const int bits = LaneBits(crossed);
    offset_ += jumps_[bits & 7];
    return bits < 8;
  }

  /// Index of the cell along each axis, and of the cell in the stored lattice.
  Float4 cell() const { return cell_; }
  int64_t offset() const { return offset_; }

 private:
  // An axis along which the line moves less than this (voxels per mm) is never crossed.
  static constexpr float kLevel = 1e-20f;
  static constexpr float kNever = 1e30f;

  Float4 border_ = {};  // parameters of the next border along each axis, and the end
  Float4 step_ = {};    // from one border to the next
  Float4 cell_ = {};
  Float4 sense_ = {};  // +1 or -1 per axis
  int64_t offset_ = 0;
  std::array<int64_t, 8> jumps_;  // change of the offset by the axes that are crossed
};

}  // namespace isocenter::phantom
