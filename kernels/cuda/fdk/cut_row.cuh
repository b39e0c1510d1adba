// Rows that the detector cuts, as the ramp filters take them (contract: ops::Truncation).
#pragma once

#include <type_traits>

#include "kernels/ops/operations.h"
#include "kernels/ops/row_outline.h"

namespace isocenter::cuda {

/// ops::Truncation::kCylinder but for the pixels: the least-squares parabola by the orthogonal
/// polynomial of second order, whose squares add up to n (n²-1) (n²-4) / 180.
struct CylinderFit {
  int curvature_pixels = 0, slope_pixels = 0, extension = 0;
  float curvature_norm = 0, slope_norm = 0;  // minus the reciprocals of the sums of squares
  float slope_of_curvature = 0;
  // Of the row's own fit: its pixels, none where there is no such fit, and the reciprocals of their
  // number and of the sums of squares of x and x² - middle, x from the row's middle.
  int row_pixels = 0, row_margin = 0;
  float row_mean = 0, row_first = 0, row_second = 0, row_middle = 0;

  static CylinderFit Of(const ops::RampFilterSpec& spec) {
    CylinderFit fit{.curvature_pixels = ops::CurvaturePixels(spec.columns),
                    .slope_pixels = ops::SlopePixels(spec.columns),
                    .extension = ops::ExtensionLength(spec)};
    const double n = fit.curvature_pixels, m = fit.slope_pixels;
    if (n >= 3) fit.curvature_norm = static_cast<float>(-180 / (n * (n * n - 1) * (n * n - 4)));
    if (m >= 1) {
      fit.slope_norm = static_cast<float>(-6 / (m * (m + 1) * (2 * m + 1)));
      fit.slope_of_curvature = static_cast<float>(-1.5 * m * (m + 1) / (2 * m + 1));
    }
    fit.row_margin = ops::RowFitMargin(spec.columns);
    const int count = spec.columns - 2 * fit.row_margin;
    if (count < ops::kLeastRowFitPixels) return fit;
    const double r = count;
    fit.row_pixels = count;
    fit.row_mean = static_cast<float>(1 / r);
    fit.row_first = static_cast<float>(12 / (r * (r * r - 1)));
    fit.row_second = static_cast<float>(180 / (r * (r * r - 1) * (r * r - 4)));
    fit.row_middle = static_cast<float>((r * r - 1) / 12);
    return fit;
  }
};

/// square + slope·k - curvature·k² is the square of the pixel k beyond an edge.
struct EdgeParabola {
  float square, slope, curvature;
};

__device__ inline float WarpSum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

/// By all threads of a warp, which all get it. `edge` is the edge's pixel, `inwards` 1 or -1.
__device__ inline EdgeParabola FitEdge(const float* edge, int inwards, const CylinderFit& fit) {
  const int lane = threadIdx.x % 32;
  const auto square_of = [&](int j) {
    const float pixel = edge[j * inwards];
    return pixel * pixel;
  };
  const auto n = static_cast<float>(fit.curvature_pixels);
  float sum = 0;
  for (int j = lane; j < fit.curvature_pixels; j += 32) {
    const float x = j - 0.5f * (n - 1);
    sum += square_of(j) * (x * x - (n * n - 1) / 12);
  }
  const float curvature = fmaxf(0.f, fit.curvature_norm * WarpSum(sum));
  const float first = fmaxf(0.f, edge[0]), square = first * first;
  sum = 0;
  for (int k = 1 + lane; k <= fit.slope_pixels; k += 32) sum += k * (square_of(k) - square);
  const float slope = fit.slope_norm * WarpSum(sum) + fit.slope_of_curvature * curvature;
  const auto length = static_cast<float>(fit.extension);
  return {square, fminf(slope, fminf(0.f, curvature * length - square / length)), curvature};
}

/// The row's own parabola, mean + first·x + second·(x² - middle), and how much of it is taken.
struct RowParabola {
  float mean, first, second, share;
};

/// By all threads of a warp, which all get it.
__device__ inline RowParabola FitRow(const float* pixels, const CylinderFit& fit) {
  if (fit.row_pixels == 0) return {0, 0, 0, 0};
  const int lane = threadIdx.x % 32;
  const float* begin = pixels + fit.row_margin;
  const float origin = 0.5f * (static_cast<float>(fit.row_pixels) - 1);
  float mean = 0, first = 0, second = 0;
  for (int j = lane; j < fit.row_pixels; j += 32) {
    const float x = j - origin, square = begin[j] * begin[j];
    mean += square;
    first = fmaf(x, square, first);
    second = fmaf(fmaf(x, x, -fit.row_middle), square, second);
  }
  mean = fit.row_mean * WarpSum(mean);
  first = fit.row_first * WarpSum(first);
  second = fit.row_second * WarpSum(second);
  float missed = 0;
  for (int j = lane; j < fit.row_pixels; j += 32) {
    const float x = j - origin;
    const float through = fmaf(first, x, fmaf(second, fmaf(x, x, -fit.row_middle), mean));
    const float difference = begin[j] * begin[j] - through;
    missed = fmaf(difference, difference, missed);
  }
  missed = fit.row_mean * WarpSum(missed);
  constexpr auto kMissed = static_cast<float>(ops::kRowFitMissed);
  const float bound = kMissed * mean;
  const float left = mean > 0 ? fmaxf(0.f, 1 - missed / (bound * bound)) : 0;
  return {mean, first, second, left * left};
}

/// `edge`, the left (side -1) or the right one (1), as far as the row's own fit leaves it.
__device__ inline EdgeParabola Mixed(const EdgeParabola& edge, const RowParabola& row, int side,
                                     int columns, const CylinderFit& fit) {
  const float x = 0.5f * (columns - 1), first = side * row.first;
  const float value =
      fmaxf(0.f, fmaf(first, x, fmaf(row.second, fmaf(x, x, -fit.row_middle), row.mean)));
  const float slope = fmaf(2 * row.second, x, first), curvature = fmaxf(0.f, -row.second);
  const float root = sqrtf(fmaf(slope, slope, 4 * value * curvature));
  const float top = slope > 0 ? slope + root : 2 * value;
  const float bottom = slope > 0 ? 2 * curvature : root - slope;
  const auto length = static_cast<float>(fit.extension);
  const float end = bottom * length <= top ? length : fmaxf(1.f, top / bottom);
  const float ends = fminf(0.f, curvature * end - edge.square / end);
  return {edge.square, fmaf(row.share, ends - edge.slope, edge.slope),
          fmaf(row.share, curvature - edge.curvature, edge.curvature)};
}

/// Of kRows rows: their left and right edges, one after the other. By all threads of a block, whose
/// warps share the work; `edges` and `fits` are shared memory.
template <int kRows>
__device__ inline void FitCylinders(const float* const (&rows)[kRows], int columns,
                                    const CylinderFit& fit, EdgeParabola (&edges)[2 * kRows],
                                    RowParabola (&fits)[kRows]) {
  for (int task = threadIdx.x / 32; task < 3 * kRows; task += blockDim.x / 32) {
    if (task < 2 * kRows) {
      const float* pixels = rows[task / 2];
      const EdgeParabola edge =
          task % 2 == 0 ? FitEdge(pixels, 1, fit) : FitEdge(pixels + columns - 1, -1, fit);
      if (threadIdx.x % 32 == 0) edges[task] = edge;
    } else {
      const RowParabola row = FitRow(rows[task - 2 * kRows], fit);
      if (threadIdx.x % 32 == 0) fits[task - 2 * kRows] = row;
    }
  }
  __syncthreads();
  if (threadIdx.x < 2 * kRows) {
    const int e = threadIdx.x;
    edges[e] = Mixed(edges[e], fits[e / 2], e % 2 == 0 ? -1 : 1, columns, fit);
  }
  __syncthreads();
}

/// A row, and the parabolas beyond its edges where they are needed.
struct CutRow {
  const float* pixels;
  int columns, extension;
  const EdgeParabola* edges;  // left, right; of kCylinder alone
};

template <ops::Truncation kMethod>
__device__ inline float PixelBeyond(const CutRow& row, int u) {
  const bool left = u < 0;
  const int k = left ? -u : u - (row.columns - 1);
  if (kMethod == ops::Truncation::kMirror) {
    const float edge = row.pixels[left ? 0 : row.columns - 1];
    const float mirrored = fmaxf(0.f, 2 * edge - row.pixels[left ? k : row.columns - 1 - k]);
    return mirrored * 0.5f * (1 + cospif(static_cast<float>(k) / (row.extension + 1)));
  }
  const EdgeParabola& edge = row.edges[left ? 0 : 1];
  return sqrtf(fmaxf(0.f, fmaf(k, fmaf(-edge.curvature, k, edge.slope), edge.square)));
}

/// What is convolved at pixel `u`: zero beyond the extension, or beyond the row where there is
/// none.
template <ops::Truncation kMethod>
__device__ inline float PreparedPixel(const CutRow& row, int u) {
  if (kMethod == ops::Truncation::kAtract) {
    if (u <= 0 || u >= row.columns - 1) return 0;
    return row.pixels[u - 1] + row.pixels[u + 1] - 2 * row.pixels[u];
  }
  if (u >= 0 && u < row.columns) return row.pixels[u];
  constexpr bool kExtended =
      kMethod == ops::Truncation::kMirror || kMethod == ops::Truncation::kCylinder;
  if (!kExtended || u < -row.extension || u >= row.columns + row.extension) return 0;
  return PixelBeyond<kMethod>(row, u);
}

/// Calls body with the method as a compile-time constant.
template <class Body>
auto WithTruncation(ops::Truncation method, const Body& body) {
  using ops::Truncation;
  switch (method) {
    case Truncation::kMirror:
      return body(std::integral_constant<Truncation, Truncation::kMirror>());
    case Truncation::kCylinder:
      return body(std::integral_constant<Truncation, Truncation::kCylinder>());
    case Truncation::kAtract:
      return body(std::integral_constant<Truncation, Truncation::kAtract>());
    case Truncation::kNone:
      break;
  }
  return body(std::integral_constant<Truncation, Truncation::kNone>());
}

}  // namespace isocenter::cuda
