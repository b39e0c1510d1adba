// isocenter reconstruct --gates and --phase: volumes of phases, each into its file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/reconstruct/options.h"
#include "client/cli/reconstruct/recipe.h"
#include "kernels/geometry/patient_position.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/recon/iterative/settings.h"

namespace isocenter::cli {

/// A scan whose frames tell phases. Refers to what it was made of.
struct GatedScan {
  const ReconstructOptions& options;
  const recon::Acquisition& acquisition;  // of all frames
  const VolumeGrid& grid;
  PatientPosition position;
  const std::vector<std::string>& warnings;  // that are said already
  const std::vector<PhaseWindow>& windows;
  const std::vector<float>& phases;                          // of the frames
  const std::optional<recon::IterativeSettings>& iterative;  // none: fdk
};

/// What is known of a gate before it is reconstructed.
struct Gate {
  PhaseWindow window;
  std::filesystem::path file;
  size_t frames = 0;
  double largest_gap_deg = 0;
  std::vector<std::string> warnings;
  std::vector<std::string> findings = {};  // once it is reconstructed
};

/// One of each window. Errors: those of ChooseViews: too few frames in a gate.
absl::StatusOr<std::vector<Gate>> GatesOf(const GatedScan& scan);

/// Host memory that they take beside the frames and a plan: all line integrals, those of a gate,
/// and volumes.
int64_t GatedBytes(const GatedScan& scan);

/// `plan` is that of all frames; gates learn their findings. Errors: those of MakePlan, RefineCycle
/// and WriteVolume.
absl::Status ReconstructGates(const GatedScan& scan, std::vector<Gate>& gates, const Plan& plan,
                              const LocalFrames& frames, const std::vector<ops::Device*>& devices);

}  // namespace isocenter::cli
