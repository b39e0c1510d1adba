// The plan of a second pass: what is known before it begins.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "kernels/recon/refinement_basis.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_plan.h"
#include "kernels/recon/second_pass/scatter_plan.h"
#include "kernels/recon/second_pass/settings.h"

namespace isocenter::recon {

/// Immutable once made. It begins with the volume of the frames as they came, its warm_start; its
/// voxel_updates are of all that comes after that.
struct SecondPassPlan : RefinementBasis {
  SecondPassSettings settings;
  ReconstructionPlan again;                  // of the corrected line integrals, to the same HU
  std::optional<ReconstructionPlan> smooth;  // as again, to what a prior is made of; with metal
  std::optional<ScatterPlan> scatter;        // with settings.scatter
  std::optional<ConeBeamPlan> cone_beam;     // with settings.cone_beam
  int64_t motion_bytes = 0;                  // of the host, with settings.motion
  int64_t calibration_bytes = 0;             // of the host, with settings.self_calibrate; also of
                                             // settings.reference
  int slab_slices = 0;                       // at most so many are projected at once
  int stripe_rows = 0;                       // rows of all views that stripes are taken off at once

  /// What frames are to the line integrals that are corrected first.
  const Acquisition& stored() const { return scatter ? scatter->raw : acquisition; }
};

/// A pure function of its arguments, as MakePlan, whose devices and `arrival` (of the first pass)
/// these are. Lines are projected on the first device alone. Errors: INVALID_ARGUMENT (the field,
/// its value, what is legal; bone or scatter without a calibration that has what they need; slices
/// that are too oblique for cone_beam; fewer than kLeastMotionViews for motion, or
/// kLeastCalibrationViews for self_calibrate; a reference of a grid that ReferenceMaker refuses),
/// FAILED_PRECONDITION (no beam attenuates as the calibration says; with scatter), NOT_FOUND (a
/// method that the backend lacks), RESOURCE_EXHAUSTED (what is needed and the limit).
absl::StatusOr<SecondPassPlan> MakeSecondPassPlan(const Acquisition& acquisition,
                                                  const VolumeGrid& grid, const FdkSettings& fdk,
                                                  const SecondPassSettings& settings,
                                                  const ops::Registry& registry,
                                                  std::span<const ops::Device* const> devices,
                                                  Arrival arrival = Arrival::kComplete);

/// What frames are to the line integrals that are kept; null: none are.
inline const Acquisition* LinesOf(const SecondPassPlan& plan) {
  return NeedsLines(plan.settings) ? &plan.stored() : nullptr;
}

/// Whether the volume that is corrected is in host memory; else it stays on the first device.
inline bool KeepsVolume(const SecondPassPlan& plan) {
  return NeedsLines(plan.settings) || !plan.cone_beam || !plan.cone_beam->on_device;
}

/// Sweeps of all voxels through all views after the first volume, for predicting time.
int SweepsOf(const SecondPassSettings& settings);

/// What projects, and the operations on what was projected, by backend.
struct SecondPassMethods {
  ops::ForwardProjectFactory project;
  ops::ArithmeticFactory arithmetic;
  ops::InterpolateTraceFactory trace;
  ops::CorrectBoneFactory bone;
  ops::RemoveStripesFactory stripes;
  std::string description;

  /// Errors: NOT_FOUND.
  static absl::StatusOr<SecondPassMethods> Find(const ops::Registry& registry,
                                                absl::string_view backend);
};

}  // namespace isocenter::recon
