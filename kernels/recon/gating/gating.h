// Gating: a reconstruction from the frames of some phases of a moving organ.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/redundancy.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

/// Of a scan's acquisition that of the chosen frames, in their order. Line integrals: what corrects
/// counts sees all frames (line_integrals.h), so that there is no calibration but its scale.
/// Errors: INVALID_ARGUMENT (a chosen view that there is not).
absl::StatusOr<Acquisition> GatedAcquisition(const Acquisition& scan, ChosenViews chosen);

/// The largest part of a scan's way that no chosen view was taken in, as the angle at the
/// isocentre in radians: on any orbit, and on a closed one from its last views to its first, too.
/// Errors: those of Decompose.
absl::StatusOr<double> LargestGap(const Trajectory& scan, const ChosenViews& chosen);

/// Makes the table of a scan that of its chosen views, whose steps then are GatedSteps. Fan angles
/// and redundancy stay those of the whole scan: of conjugate rays each counts as it did, whether
/// the other was taken in the same phase or not, and where runs of views are dense the weights of
/// both add up to 1.
void KeepChosenViews(const ChosenViews& chosen, RedundancyTable& table);

}  // namespace isocenter::recon
