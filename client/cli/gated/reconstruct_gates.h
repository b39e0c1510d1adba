// isocenter reconstruct --gates and --phase: volumes of phases, each into its file.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/gated/gating_flags.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/output/json_output.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/recon/iterative/settings.h"
#include "kernels/recon/settings.h"

namespace isocenter::cli {

/// What is asked for, before a frame is read.
struct GatedRequest {
  const GatingFlags& flags;
  const std::vector<PhaseWindow>& windows;
  const std::vector<float>& phases;  // of the frames
  const recon::Acquisition& scan;    // of all frames
  const VolumeGrid& grid;
  PatientPosition position;
  recon::FdkSettings fdk;
  std::optional<recon::IterativeSettings> iterative;  // none: fdk
  bool rings = false;
  std::string input, out, algorithm;
  const std::vector<std::string>& warnings;  // that are said already
};

/// What each gate has, for people, and what it lacks, on standard error. Errors: those of
/// ChooseViews: too few frames in a gate.
absl::Status CheckGates(const GatedRequest& request);

/// Host memory that it takes beside the frames and a plan: all line integrals, those of a gate, and
/// volumes.
int64_t GatedBytes(const GatedRequest& request);

/// Errors: those of MakePlan, RefineCycle and WriteVolume.
absl::Status ReconstructGates(GatedRequest request, const LocalFrames& frames,
                              const std::vector<ops::Device*>& devices, const JsonOutput& json);

}  // namespace isocenter::cli
