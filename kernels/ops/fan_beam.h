// Filtered back-projection of two-dimensional fan-beam scans (kernels/geometry/fan_beam.h), one
// contract for each step. A stack holds [view][slice][channel], every slice a scan of its own with
// the same geometry; slice k of a volume belongs to row k of the stack.
//
// Sources: Kak & Slaney, Principles of Computerized Tomographic Imaging (1988), 3.4; Mendl et al.,
// ELCVIA 12 (2013) 1.
#pragma once

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/geometry/fan_beam.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/operations.h"

namespace isocenter::ops {

enum class FanBeamKernelForm {
  /// The discrete kernel of the detector: band-limited at the channels' distance Δ, for arcs times
  /// (γ / sin γ)². Without a window h(0) = 1/(4Δ), h(odd n) = -1/(π² n² Δ), which becomes
  /// -Δ/(π² sin²(nΔ)) on arcs, h(even n) = 0.
  kExact,
  /// That of Mendl et al.: (γ / sin γ)² is left out, and |ρ| is sampled at the frequencies of a
  /// transform of FanBeamPaddedLength channels, rows padded with zeros.
  kSampledRamp,
};

struct FanBeamFilterSpec {
  FanBeamGeometry geometry;
  int slices = 1;  // 1 to 65536; at most: a stack may have fewer
  FanBeamKernelForm form = FanBeamKernelForm::kExact;
  FilterWindow window = FilterWindow::kRamLak;  // kExact alone has others
  double cutoff = 1;  // fraction of the Nyquist frequency, (0, 1]; below 1 for kExact alone
};

/// What every backend asks of a specification. Errors: INVALID_ARGUMENT, those of ValidateFanBeam.
absl::Status CheckFanBeamFilter(const FanBeamFilterSpec& spec);

/// The second power of two that is not below `channels`: 2048 for 736.
int FanBeamPaddedLength(int channels);

/// The even kernel h[0..channels-1], float64. Unit: one over that of Δ, which is Δγ in radians on
/// arcs and the channels' distance at the axis in mm on flat detectors.
std::vector<double> FanBeamKernel(const FanBeamFilterSpec& spec);

/// Its real, even response for a transform of even length n >= 2·channels: n/2+1 values.
std::vector<double> FanBeamResponse(const FanBeamFilterSpec& spec, int n);

/// What rows are multiplied with before they are convolved: the redundancy weight times |Δβ|, times
/// D·cos γ on arcs and cos γ on flat detectors.
class FanBeamRowWeights {
 public:
  explicit FanBeamRowWeights(const FanBeamGeometry& geometry);
  /// Of each channel of a view of the scan.
  void Row(int view, std::span<double> weights) const;

 private:
  FanBeamGeometry geometry_;
  std::vector<double> constant_;  // [channel], the same in every view
};

/// filtered(view, s, c) = Σ_j h(|c - j|) · weight(view, j) · p(view, s, j) over all channels j.
/// Values that are not finite count as 0. Run checks, DoRun computes (operations.h).
class FanBeamFilter {
 public:
  virtual ~FanBeamFilter() = default;
  /// View i of the stacks is view first_view + i of the scan. Both stacks are
  /// StackUse::kLineIntegrals with the same shape and the scan's channels; they may be one. Errors:
  /// INVALID_ARGUMENT (shape, views beyond the scan, use, backend), RESOURCE_EXHAUSTED.
  absl::Status Run(int first_view, const ProjectionStack& line_integrals,
                   ProjectionStack& filtered);

 protected:
  explicit FanBeamFilter(const FanBeamFilterSpec& spec) : spec_(spec) {}
  const FanBeamFilterSpec& spec() const { return spec_; }

 private:
  virtual absl::Status DoRun(int first_view, const ProjectionStack& line_integrals,
                             ProjectionStack& filtered) = 0;

  const FanBeamFilterSpec spec_;
};

/// volume(x, y, k) += Σ_views w · q(view, k, t) with w = 1/L² and
/// L² = x'² + (D - y')² on arcs, w = D² / (D - y')² on flat detectors. t is the position of γ' on
/// the detector; q is linear between channels' middles and zero outside of the detector: beside the
/// outer channels it falls to zero over one channel. Points with y' >= D receive nothing. There is
/// no interpolation between views.
class FanBeamBackproject {
 public:
  virtual ~FanBeamBackproject() = default;
  /// `filtered` as FanBeamFilter's. The grid has as many slices as the stack, and planes of z: they
  /// may be turned about z. Errors: INVALID_ARGUMENT (geometry, shape, views beyond the scan, use,
  /// backend, grid), RESOURCE_EXHAUSTED.
  absl::Status Run(const FanBeamGeometry& geometry, int first_view, const ProjectionStack& filtered,
                   VolumeBuffer& volume);

 private:
  virtual absl::Status DoRun(const FanBeamGeometry& geometry, int first_view,
                             const ProjectionStack& filtered, VolumeBuffer& volume) = 0;
};

}  // namespace isocenter::ops
