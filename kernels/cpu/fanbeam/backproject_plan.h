// What a back-projection knows of its views before it begins, and what it asks of its vector
// kernels.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/device/layout.h"
#include "kernels/geometry/fan_beam.h"
#include "kernels/geometry/tangent_rows.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cpu {

inline constexpr int kFanImages = 4;  // at most; that are worked on with the same positions
/// One view: pixel (i, j) is at (x + dx·i + ex·j, u + du·i + eu·j), x' and D - y'. In mm on arcs,
/// in D on flat detectors, so that the weight is one over the square of the distance.
struct FanView {
  double x, dx, ex, u, du, eu;
};

/// How a pixel's x'/(D - y') becomes a position in a row.
enum class FanForm {
  kFlat,             // in proportion; the weight is that of flat detectors
  kTangent,          // in proportion, rows of an arc being resampled to its tangent
  kShortPolynomial,  // by the arctangent's polynomial, ratios up to kShortPolynomialTangent
  kPolynomial,       // the same up to kPolynomialTangent
  kLibrary,          // by the library's arctangent
};
inline constexpr double kShortPolynomialTangent = 0.5, kPolynomialTangent = 0.75;

/// Terms of the arctangent, by which its error is below the rounding of T.
template <class T>
constexpr int FanTerms(FanForm form) {
  if (form == FanForm::kShortPolynomial) return sizeof(T) == sizeof(float) ? 6 : 12;
  return sizeof(T) == sizeof(float) ? 8 : 16;
}

/// The geometry in the precision of the kernels. Positions count from kFanMargin channels before
/// the first one.
template <class T>
struct FanPlan {
  /// `tangent`: what the rows of an arc are resampled to; null: they are not.
  FanPlan(const FanBeamGeometry& geometry, int first_view, int views, const VolumeGrid& grid,
          const TangentRows* tangent);

  FanForm form;
  T first_ratio, last_ratio;  // x'/(D - y') just beside the detector
  T center;                   // position of the ratio 0
  T per_radian;               // in proportion: per unit of the ratio
  std::array<T, FanTerms<T>(FanForm::kPolynomial)>
      coefficients;  // per_radian times the arctangent's
  T nearest;         // D - y' below which there is no ray
  double channels_per_radian = 0;
  std::vector<FanView> views;
};

/// A copy of the rows with zeros around them.
inline constexpr int64_t kFanMargin = 2;
inline constexpr int64_t kFanTail = 34;  // what the longest window reads behind the last channel
constexpr int64_t FanRowStride(int64_t channels) {
  return RoundUpToLine(kFanMargin + channels + kFanTail);
}

/// Pixels that one thread works on at once: `sums` must fit into the nearest cache.
template <class T>
struct FanTile {
  const FanPlan<T>* plan;
  int images;     // 1 or kFanImages, whose pixels are seen at the same positions
  const T* rows;  // of the first view and image, margin included
  int64_t view_stride, image_stride;
  int64_t first_view, views;
  int64_t first_column, columns;  // columns: those of `sums`, a multiple of a cache line
  int64_t first_row, row_count;
  T* sums;             // [image][row][column]
  int64_t image_sums;  // from image to image
};

/// Adds the views to the sums. On the widest vectors that there are.
void AddViews(const FanTile<float>& tile);
void AddViews(const FanTile<double>& tile);

}  // namespace isocenter::cpu
