// The operations of filtered back-projection: one contract each. reference/, cpu/ and cuda/
// implement them and register their methods (registry.h); the conformance tests hold every method
// against reference/.
//
// Run checks what it is given, whatever the backend, with the errors that the class names; DoRun is
// what a method does with arguments that are legal, but for buffers of another backend, which it
// refuses (Own in check.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "kernels/base/views.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/hounsfield.h"

namespace isocenter::ops {

/// Counts of a raw detector frame that are trusted. Values outside are clamped before the
/// logarithm. Both are finite and above 0.
struct CountRange {
  double i0 = 65535;  // unattenuated intensity
  /// Dead pixels (below) count as this; at most -log(lowest/i0) = about 11 for the default and 16
  /// bit.
  double lowest = 1;
};

/// A run of frames in host memory, [view][v][u], either raw counts or line integrals; exactly one
/// is set.
struct RawFrames {
  StridedView3<const uint16_t> counts;
  StridedView3<const float> line_integrals;
  RawFrames views(int64_t first, int64_t count) const {
    if (counts) return {.counts = counts.slices(first, count)};
    return {.line_integrals = line_integrals.slices(first, count)};
  }
  RawFrames rows(int64_t first, int64_t count) const {
    if (counts) return {.counts = counts.rows(first, count)};
    return {.line_integrals = line_integrals.rows(first, count)};
  }
  const Shape3& shape() const { return counts ? counts.shape() : line_integrals.shape(); }
};

/// Per-view data of the weights that Preprocess applies.
struct ViewWeights {
  ProjectionMatrix matrix;  // normalised; gives the cosine weight of every pixel
  std::span<const float>
      column_weight;  // [u]; redundancy weight times everything that is constant over the view
  /// False: the cosine weight is 1, for line integrals as iterative methods want them.
  bool cosine = true;
};

/// Raw frames -> weighted line integrals.
///
/// out(u,v) = -log(max(count, lowest) / i0) · cosine(u,v) · column_weight[u]. Counts above i0 give
/// negative values and are kept (noise must stay unbiased). Line integrals skip the logarithm;
/// values that are not finite count as 0.
///
/// cosine(u,v) = 1 / (|m3| · |M⁻¹ (u,v,1)|): the angle between ray and detector normal (Feldkamp,
/// Davis, Kress 1984), from the matrix alone (M its left 3x3 part, m3 its third row).
///
/// Errors: INVALID_ARGUMENT (frames that do not lie in the stack, stack of another use or backend,
/// frames of both kinds or none, counts or matrices out of range).
class Preprocess {
 public:
  virtual ~Preprocess() = default;
  /// Frame i of `frames` goes to view i of `out`, weights[i] with it. Frames beyond `frames` keep
  /// what they had. `out` may be wider than the frames: their columns go to those from
  /// `first_column` on, a multiple of kColumnAlignment, and the columns on both sides become 0.
  absl::Status Run(const RawFrames& frames, const CountRange& range,
                   std::span<const ViewWeights> weights, ProjectionStack& out,
                   int64_t first_column = 0);
  /// The same of line integrals in the device's memory, which are finite
  /// (kernels/ops/corrections.h): `rows` of them, and the views from `first_view` on. The matrices
  /// are those of the rows.
  absl::Status Weigh(const ProjectionStack& line_integrals, int64_t first_view, RowRange rows,
                     std::span<const ViewWeights> weights, ProjectionStack& out,
                     int64_t first_column = 0);

 private:
  virtual absl::Status DoRun(const RawFrames& frames, const CountRange& range,
                             std::span<const ViewWeights> weights, int64_t first_column,
                             ProjectionStack& out) = 0;
  virtual absl::Status DoWeigh(const ProjectionStack& line_integrals, int64_t first_view,
                               RowRange rows, std::span<const ViewWeights> weights,
                               int64_t first_column, ProjectionStack& out) = 0;
};
/// A cache line of pixels, which is the longest vector of any backend.
inline constexpr int64_t kColumnAlignment = 16;

enum class FilterWindow { kRamLak, kSheppLogan, kCosine, kHamming, kHann };

/// What becomes of rows that the detector cuts. With L = ExtensionLength, q(j) the pixels from an
/// edge inwards and e(k), k = 1..L, what the row goes on with beyond it, on both sides alike:
enum class Truncation {
  kNone,  // it falls to zero at once
  /// e(k) = max(0, 2 q(0) - q(k)) · (1 + cos(πk / (L+1))) / 2: mirrored at the edge's value so that
  /// the slope goes on, and faded out. After Ohnesorge et al., Med. Phys. 27 (2000) 39.
  kMirror,
  /// e(k) = √max(0, y₀ + s k - a k²), y₀ = max(0, q(0))²: squared chords of a cylinder of water are
  /// a parabola. After Hsieh et al., Med. Phys. 31 (2004) 2385, but for a, which is the row's own,
  /// so that neither water's attenuation nor rows' weights are needed. s and a are means of two
  /// fits. The edge's: -a is the coefficient of j² of the least-squares parabola through y(j) =
  /// q(j)², j < CurvaturePixels, a at least 0; s = -Σ k (y(k) - y₀ + a k²) / Σ k², k
  /// = 1..SlopePixels, at most 0 (the axis lies within the row) and a L - y₀/L (it ends within L).
  /// The row's, and how much of each is taken: kernels/ops/row_outline.h.
  kCylinder,
  /// Nothing is continued: rows are differentiated twice, g(u) = p(u-1) - 2 p(u) + p(u+1), of
  /// which the values at both edges are dropped, and convolved with what the ramp lacks then. After
  /// Dennerlein & Maier, Phys. Med. Biol. 58 (2013) 6133, along rows alone.
  kAtract
};

struct RampFilterSpec {
  int rows = 0;     // 1 to 65536; at most: a stack may have fewer
  int columns = 0;  // 1 to 65536
  FilterWindow window = FilterWindow::kRamLak;
  double cutoff = 1.0;  // fraction of the Nyquist frequency, (0, 1]; the response is zero above
  Truncation truncation = Truncation::kNone;
};

/// What every backend asks of a specification before it makes a filter. Errors: INVALID_ARGUMENT.
absl::Status CheckRampFilter(const RampFilterSpec& spec);

/// L above: columns / 2 of kMirror and kCylinder, else 0.
int ExtensionLength(const RampFilterSpec& spec);

/// Pixels of kCylinder: half of the row, and a 32nd beside the edge. Of rows of fewer than 3
/// columns no curvature (0) is known.
int CurvaturePixels(int columns);
int SlopePixels(int columns);

/// The even convolution kernel h[0..K], K = columns - 1 + ExtensionLength: what every backend
/// computes is the linear convolution with it, whatever its transform length. Ram-Lak is
/// h[0] = 1/4, h[odd k] = -1/(πk)², h[even k] = 0 (Kak & Slaney 1988, eq. 61); other windows
/// multiply its frequency response. Unit pixel pitch, float64.
///
/// Of kAtract the residual r with r[k-1] - 2 r[k] + r[k+1] = h[k], which grows like ln(k)/(2π²)
/// and of which a constant is free: rows that the detector does not cut do not depend on it, and no
/// single one is right for rows that it cuts. Ram-Lak's is 0 at the lag `columns`.
std::vector<double> RampFilterKernel(const RampFilterSpec& spec);

/// The kernel's real, even frequency response for a transform of length n: n/2+1 values, float64.
/// n is even and at least MinimumTransformLength.
std::vector<double> RampFilterResponse(const RampFilterSpec& spec, int n);

/// Smallest transform length whose circular convolution equals the linear one:
/// 2 · (columns + ExtensionLength).
int MinimumTransformLength(const RampFilterSpec& spec);

/// Filters each row of the first `views` views. Both stacks have the same number of rows, at most
/// the spec's. Errors: INVALID_ARGUMENT (shape, use, backend).
class RampFilter {
 public:
  virtual ~RampFilter() = default;
  absl::Status Run(int views, const ProjectionStack& line_integrals, ProjectionStack& filtered);

 protected:
  explicit RampFilter(const RampFilterSpec& spec) : spec_(spec) {}
  const RampFilterSpec& spec() const { return spec_; }

 private:
  /// Both stacks have views x rows x spec().columns and perhaps more views.
  virtual absl::Status DoRun(int views, const ProjectionStack& line_integrals,
                             ProjectionStack& filtered) = 0;

  const RampFilterSpec spec_;
};

/// Voxel-driven, distance-weighted back-projection: volume(i,j,k) += Σ_views w⁻² · p(u, v) with
/// (u·w, v·w, w) = P·A·(i,j,k,1), p bilinear between pixel centres and zero outside: a sample whose
/// neighbour lies beyond the edge is blended with zero, so p falls to zero one pixel outside the
/// detector. Voxels with w <= 0 receive nothing. Source: Feldkamp, Davis, Kress, JOSA A 1 (1984)
/// 612. Errors: INVALID_ARGUMENT (shape, use, backend, matrices that are not finite or more than
/// the views of the stack).
class Backproject {
 public:
  virtual ~Backproject() = default;
  /// matrices[i] belongs to view i of the stack; world matrices (the volume's grid is applied
  /// inside). The sum over views is taken in the order of the views, whatever the number of
  /// threads.
  absl::Status Run(std::span<const ProjectionMatrix> matrices, const ProjectionStack& filtered,
                   VolumeBuffer& volume);

 private:
  virtual absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                             const ProjectionStack& filtered, VolumeBuffer& volume) = 0;
};

/// HU = 1000 · (mu - mu_water) / mu_water, then the scale's table, in place; values that are not
/// finite become -1000. Errors: INVALID_ARGUMENT (backend, mu_water not finite and above 0, a table
/// that is not legal).
class ToHounsfield {
 public:
  virtual ~ToHounsfield() = default;
  absl::Status Run(const HounsfieldScale& scale, VolumeBuffer& volume);

 private:
  virtual absl::Status DoRun(const HounsfieldScale& scale, VolumeBuffer& volume) = 0;
};

}  // namespace isocenter::ops
