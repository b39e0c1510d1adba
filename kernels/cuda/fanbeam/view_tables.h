// What the kernels know of a fan-beam scan.
#pragma once

#include <vector>

#include "kernels/geometry/fan_beam.h"
#include "kernels/geometry/tangent_rows.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::cuda {

inline constexpr int kFanTerms = 9;
inline constexpr double kPolynomialTangent = 0.75;

/// Pixel (i, j) is at x' = x + dx·i + ex·j, D - y' = u + du·i + eu·j.
template <class T>
struct FanView {
  T x, dx, ex, u, du, eu;
};

template <class T>
struct FanScan {
  T center;                   // channel of the ratio x'/(D - y') = 0
  T per_radian;               // channels; flat: per unit of the ratio
  T nearest;                  // D - y' below which there is no ray
  T steepest;                 // |ratio| beyond which nothing is seen
  T coefficients[kFanTerms];  // per_radian times those of the arctangent
  int channels;
  bool flat;
  bool polynomial;  // the coefficients hold for this fan
};

template <class T>
FanScan<T> MakeFanScan(const FanBeamGeometry& geometry);
/// The same for rows that are resampled to the tangent.
template <class T>
FanScan<T> MakeFanScan(const FanBeamGeometry& geometry, const TangentRows& rows);
template <class T>
std::vector<FanView<T>> MakeFanViews(const FanBeamGeometry& geometry, int first_view, int views,
                                     const VolumeGrid& grid);

}  // namespace isocenter::cuda
