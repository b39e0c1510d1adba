// What a second pass does to line integrals that it knows more of, from a first volume: frames in a
// device's memory, as stacks of StackUse::kLineIntegrals, in place.
//
// Run checks what it is given with INVALID_ARGUMENT: a stack of another use, backend or shape.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/ops/buffers.h"
#include "kernels/ops/calibration.h"

namespace isocenter::ops {

/// Which pixels see metal.
struct MetalTrace {
  /// Those whose line integral of the metal is more than this; 0 or above.
  double least = 0;
  /// And those so many columns and rows away; 0 to kMostTraceMargin.
  int margin = 0;
};
inline constexpr int kMostTraceMargin = 16;
/// Added to what ratios are made of, so that next to air they stay finite.
inline constexpr double kPriorFloor = 0.1;

/// Takes metal out of line integrals p. A run of pixels of the trace in a row, between the pixels a
/// and b, becomes p = (q + e)·((b - u)·r(a) + (u - a)·r(b))/(b - a) - e, with r = (p + e)/(q + e),
/// e = kPriorFloor and q the prior's line integrals, at least 0. Where the row ends in the trace, r
/// stays that of the other side; a row that is all trace stays as it is, and so do pixels outside.
/// Without a prior q is 0, and p is linear between a and b. Sources: Kalender, Hebel, Ebersberger,
/// Radiology 164 (1987) 576; with a prior Meyer et al., Med. Phys. 37 (2010) 5482.
class InterpolateTrace {
 public:
  virtual ~InterpolateTrace() = default;
  /// The first `views` of stacks of one shape; `prior` may be null.
  absl::Status Run(int64_t views, const MetalTrace& trace, const ProjectionStack& metal,
                   const ProjectionStack* prior, ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(int64_t views, const MetalTrace& trace, const ProjectionStack& metal,
                             const ProjectionStack* prior, ProjectionStack& frames) = 0;
};

/// p += what the calibration's bone table says for p and `bone`, the paths in mm of its bone:
/// bilinear between points, and beyond the table as at its edge.
class CorrectBone {
 public:
  virtual ~CorrectBone() = default;
  /// The first `views` of stacks of one shape.
  absl::Status Run(int64_t views, const ProjectionStack& bone, ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(int64_t views, const ProjectionStack& bone,
                             ProjectionStack& frames) = 0;
};
/// What is made of a calibration without a bone table. Errors: INVALID_ARGUMENT.
absl::Status CheckHasBone(const Calibration& calibration);

/// What is left of a measured intensity, at least, when scatter is taken off.
inline constexpr double kLeastUnscattered = 0.1;
/// Up to so many cells along each axis.
inline constexpr int kMostScatterCells = 256;

/// Takes scatter off line integrals p that no water polynomial has made: p = w(min(p - ln(max(1 -
/// S·exp(p), kLeastUnscattered)), kLongestLineIntegral)), w the calibration's water polynomial, if
/// it has one. S is of the empty beam, on cells that cover the detector evenly, bilinear between
/// their centres and constant beyond them.
class RemoveScatter {
 public:
  virtual ~RemoveScatter() = default;
  /// The first `views` of the frames; `scatter` has as many views as the frames, of cells.
  absl::Status Run(int64_t views, const ProjectionStack& scatter, ProjectionStack& frames);

 private:
  virtual absl::Status DoRun(int64_t views, const ProjectionStack& scatter,
                             ProjectionStack& frames) = 0;
};

}  // namespace isocenter::ops
