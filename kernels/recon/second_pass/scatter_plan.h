// What is known of a correction of scatter by a model before it begins.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/second_pass/pixel_bins.h"
#include "kernels/scatter/beam.h"
#include "kernels/scatter/cross_sections.h"

namespace isocenter::recon {

/// Scatter is computed from a coarse volume of its own, which has all that frames see of the
/// object, whatever grid is asked for: of frames of which `bin` x `bin` pixels are one.
struct ScatterPlan : PixelBins {
  /// The frames to line integrals with all of their scatter, that no water polynomial has made.
  Acquisition raw;
  ops::WaterPolynomial water;  // what the acquisition's calibration makes of them
  ReconstructionPlan coarse;   // of binned line integrals
  std::shared_ptr<const scatter::CrossSections> sections;
  scatter::Beam beam;
  int columns = 0, rows = 0;  // of cells that cover the detector
  std::vector<int> sampled;   // views that photons are followed in
  int64_t photons = 280'000;  // in each, in the last round
};

/// Errors: INVALID_ARGUMENT (the acquisition's calibration has no scatter model or does not know
/// water's attenuation), FAILED_PRECONDITION (scatter::FitBeam; hardness of columns), those of
/// MakePlan.
absl::StatusOr<ScatterPlan> MakeScatterPlan(const ReconstructionPlan& first,
                                            const ops::Registry& registry,
                                            std::span<const ops::Device* const> devices);

/// Host memory that estimating takes, and what plans and maps of its own do.
int64_t ScatterBytes(const ScatterPlan& plan);

}  // namespace isocenter::recon
