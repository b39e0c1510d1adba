// What `isocenter reconstruct` does with frames: filtered back-projection, once or twice, or
// iterations.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/local_acquisition.h"
#include "client/cli/reconstruct/options.h"
#include "kernels/recon/detruncation/detruncate.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/second_pass.h"

namespace isocenter::cli {

/// What is known before a frame is read, of filtered back-projection, once or twice, or of
/// iterations.
using Plan = std::variant<recon::ReconstructionPlan, recon::SecondPassPlan, recon::DetruncationPlan,
                          recon::RefinementPlan>;

/// `iterative`: none for fdk. Errors: those of the plans.
absl::StatusOr<Plan> MakePlan(const ReconstructOptions& options,
                              const recon::Acquisition& acquisition, const VolumeGrid& grid,
                              const std::optional<recon::IterativeSettings>& iterative,
                              const std::vector<ops::Device*>& devices);

/// What the plan knows already of the result.
std::vector<std::string> WarningsOf(const Plan& plan, const recon::Acquisition& acquisition);

/// Whether this machine has the memory for all frames, the volume, and the devices that have none
/// of their own. Errors: RESOURCE_EXHAUSTED.
absl::Status CheckMemory(const Plan& plan, int64_t frames_bytes,
                         const std::vector<ops::Device*>& devices);

/// What came of it beside the volume.
struct Outcome {
  std::vector<recon::IterationReport> iterations;
  std::vector<std::string> findings, warnings;
  std::optional<recon::FoundMotion> motion;
};

/// `volume` is in HU. Errors: those of the recipes.
absl::StatusOr<Outcome> Run(const Plan& plan, const ReconstructOptions& options,
                            const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                            HostView3<float> volume);

}  // namespace isocenter::cli
