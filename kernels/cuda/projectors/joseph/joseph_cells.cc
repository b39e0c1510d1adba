#include "kernels/cuda/projectors/joseph/joseph_cells.h"

#include <algorithm>
#include <cmath>

namespace isocenter::cuda {
namespace {

// What may be neglected of a position, in voxels.
constexpr double kNegligible = 3e-5;
// Of a lane's run of voxels, from its middle to the voxels beyond.
constexpr double kHalfRun = 8.5;
// Of a tile, about.
constexpr double kTileRows = 100;

}  // namespace

std::optional<CellView> MakeCellView(const JosephAdjointView& adjoint, const PlaneAxes& axes,
                                     const VolumeGrid& grid, Shape3 stack) {
  if (axes.c != 2) return std::nullopt;
  CellView view{.rays = adjoint.rays, .index = adjoint.index};
  std::copy(std::begin(adjoint.exact_m), std::end(adjoint.exact_m), view.m);
  double* const m = view.m;
  const int b = axes.b;
  const double half_u = 0.5 * static_cast<double>(stack.fast - 1);
  const double half_v = 0.5 * static_cast<double>(stack.middle - 1);
  view.mirrored_u = m[b] < 0;
  view.mirrored_v = m[6] < 0;
  for (int i = 0; i < 4; ++i) {
    if (view.mirrored_u) m[i] = -m[i];
    if (view.mirrored_v) m[4 + i] = -m[4 + i];
  }
  double least_w = INFINITY;
  const int n[] = {grid.nx, grid.ny, grid.nz};
  for (int corner = 0; corner < 8; ++corner) {
    double w = m[11];
    for (int axis = 0; axis < 3; ++axis) {
      w += m[8 + axis] * ((corner >> axis) & 1 ? n[axis] : -1);
    }
    least_w = std::min(least_w, w);
  }
  if (!(least_w > 10 * (std::abs(m[8]) + std::abs(m[9]) + std::abs(m[10])))) return std::nullopt;
  // At the detector's ends: pixels per voxel along b across columns, and along z across rows; w
  // times.
  double least_across = INFINITY, most_across = 0, most_lean = 0;
  double least_along = INFINITY, most_along = 0, most_b = 0;
  for (const int side : {-1, 1}) {
    const double u = side * (half_u + 1), v = side * (half_v + 1);
    const double across = m[b] - u * m[8 + b], along = m[6] - v * m[10];
    least_across = std::min(least_across, across);
    most_across = std::max(most_across, across);
    most_lean = std::max(most_lean, std::abs(m[2] - u * m[10]));
    least_along = std::min(least_along, along);
    most_along = std::max(most_along, along);
    most_b = std::max(most_b, std::abs(m[4 + b] - v * m[8 + b]));
  }
  if (!(least_across > 0.1 * most_across)) return std::nullopt;
  const double lean = most_lean / least_across;
  const double rows = (most_along + lean * most_b) / least_w;
  const double bend = (std::abs(m[10]) + lean * std::abs(m[8 + b])) / least_w;
  if (!(lean < 0.2 && least_along - lean * most_b > 0.1 * most_along && rows < 12 &&
        0.25 * bend < kNegligible && bend * bend * kHalfRun * kHalfRun * kHalfRun < kNegligible)) {
    return std::nullopt;
  }
  view.upright = kHalfRun * lean < kNegligible && kTileRows * kHalfRun * bend < kNegligible;
  // The largest sum over the rows of an interval between two voxels.
  const double count = std::floor(rows) + 1;
  const double most = view.upright ? std::max(count, count * (count - 1) / 2)
                                   : std::max(count, (count - 1) * count * (2 * count - 1) / 6);
  view.bits = 30 - static_cast<int>(std::ceil(std::log2(most)));
  for (int i = 0; i < 4; ++i) {
    m[i] += half_u * m[8 + i];
    m[4 + i] += half_v * m[8 + i];
  }
  return view;
}

int RunningPitch(const Shape3& stack) { return static_cast<int>(stack.middle + 1); }

}  // namespace isocenter::cuda
