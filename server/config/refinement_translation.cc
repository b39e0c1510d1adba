#include "server/config/refinement_translation.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "kernels/base/status_macros.h"
#include "server/config/mistakes.h"

namespace isocenter::config {
namespace {

constexpr double kLongestDeadline = 604800;  // a week, in seconds

absl::Status Illegal(absl::string_view field, absl::string_view value, absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat("refinement.", field, " is ", value, "; legal is ", legal));
}

absl::Status CheckRange(absl::string_view field, double value, double low, double high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Illegal(field, absl::StrCat(value), absl::StrCat(low, " to ", high));
}

absl::StatusOr<recon::Algorithm> AlgorithmOf(v1::RefinementAlgorithm algorithm) {
  switch (algorithm) {
    case v1::REFINEMENT_ALGORITHM_SIRT:
      return recon::Algorithm::kSirt;
    case v1::REFINEMENT_ALGORITHM_SART:
      return recon::Algorithm::kSart;
    case v1::REFINEMENT_ALGORITHM_OS_SART:
      return recon::Algorithm::kOsSart;
    case v1::REFINEMENT_ALGORITHM_CGLS:
      return recon::Algorithm::kCgls;
    case v1::REFINEMENT_ALGORITHM_LSQR:
      return recon::Algorithm::kLsqr;
    case v1::REFINEMENT_ALGORITHM_OS_SQS:
      return recon::Algorithm::kOsSqs;
    case v1::REFINEMENT_ALGORITHM_ASD_POCS:
      return recon::Algorithm::kAsdPocs;
    case v1::REFINEMENT_ALGORITHM_FISTA_TV:
      return recon::Algorithm::kFistaTv;
    default:
      return Illegal("algorithm",
                     algorithm == v1::REFINEMENT_ALGORITHM_UNSPECIFIED
                         ? "not set"
                         : absl::StrCat(static_cast<int>(algorithm)),
                     "REFINEMENT_ALGORITHM_OS_SART, _OS_SQS, _CGLS, _LSQR, _ASD_POCS or _FISTA_TV");
  }
}

absl::StatusOr<ops::ProjectorModel> ProjectorOf(v1::Projector projector) {
  switch (projector) {
    case v1::PROJECTOR_JOSEPH:
      return ops::ProjectorModel::kJoseph;
    case v1::PROJECTOR_SIDDON:
      return ops::ProjectorModel::kSiddon;
    case v1::PROJECTOR_VOXEL_DRIVEN:
      return ops::ProjectorModel::kVoxelDriven;
    case v1::PROJECTOR_VOXEL_DRIVEN_SPLIT:
      return ops::ProjectorModel::kVoxelDrivenSplit;
    case v1::PROJECTOR_SEPARABLE_FOOTPRINT:
      return ops::ProjectorModel::kSeparableFootprint;
    default:
      return Illegal("projector", absl::StrCat(static_cast<int>(projector)),
                     "a Projector of this version");
  }
}

/// The settings have int where the wire has unsigned numbers; the rest is theirs to judge.
absl::Status CheckWidths(const v1::Refinement& refinement) {
  constexpr auto kMost = static_cast<uint32_t>(std::numeric_limits<int>::max());
  Mistakes mistakes;
  for (const auto& [field, value] :
       {std::pair("iterations", refinement.iterations()),
        std::pair("subsets", refinement.subsets()), std::pair("tv_steps", refinement.tv_steps()),
        std::pair("surroundings_factor", refinement.surroundings_factor()),
        std::pair("early_passes", refinement.early_passes())}) {
    if (value > kMost) {
      mistakes.Add(Illegal(field, absl::StrCat(value), absl::StrCat("far less than ", kMost)));
    }
  }
  return mistakes.status();
}

/// Beside a second pass nothing is legal that is of iterations.
absl::Status CheckAloneButForDeadline(const v1::Refinement& refinement) {
  v1::Refinement rest = refinement;
  rest.clear_second_pass();
  rest.clear_deadline_seconds();
  if (rest.ByteSizeLong() == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("refinement.second_pass is set beside '", rest.ShortDebugString(),
                   "'; legal beside it is deadline_seconds, or iterations without it"));
}

absl::StatusOr<recon::SecondPassSettings> SecondPassFromProto(const v1::SecondPass& second_pass) {
  if (!second_pass.metal() && !second_pass.bone() && !second_pass.scatter() &&
      !second_pass.cone_beam() && !second_pass.motion() && !second_pass.self_calibrate() &&
      !second_pass.complete_rows()) {
    return Illegal("second_pass", "for nothing",
                   "metal, bone, scatter, cone_beam or several of them, or motion, "
                   "self_calibrate or complete_rows alone");
  }
  recon::SecondPassSettings settings{.scatter = second_pass.scatter(),
                                     .bone = second_pass.bone(),
                                     .cone_beam = second_pass.cone_beam(),
                                     .motion = second_pass.motion(),
                                     .self_calibrate = second_pass.self_calibrate(),
                                     .complete_rows = second_pass.complete_rows()};
  const std::string& reference = second_pass.reference_job_id();
  if (!reference.empty() && !second_pass.self_calibrate()) {
    return Illegal("second_pass.reference_job_id", absl::StrCat("'", reference, "'"),
                   "none without self_calibrate");
  }
  if (second_pass.metal()) settings.metal.emplace();
  const absl::Status valid = recon::ValidateSecondPassSettings(settings);
  if (!valid.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("refinement.second_pass: ", valid.message()));
  }
  return settings;
}

absl::StatusOr<recon::IterativeSettings> IterationsFromProto(const v1::Refinement& refinement,
                                                             ops::Precision precision) {
  recon::IterativeSettings settings;
  ISO_ASSIGN_OR_RETURN(settings.algorithm, AlgorithmOf(refinement.algorithm()));
  ISO_ASSIGN_OR_RETURN(settings.projector, ProjectorOf(refinement.projector()));
  ISO_RETURN_IF_ERROR(CheckWidths(refinement));
  settings.matched = !refinement.unmatched();
  settings.precision = precision;
  settings.iterations = static_cast<int>(refinement.iterations());
  settings.subsets = static_cast<int>(refinement.subsets());
  settings.relaxation = refinement.relaxation();
  settings.relaxation_decay = refinement.relaxation_decay();
  settings.momentum = refinement.momentum();
  settings.non_negative = !refinement.allow_negative();
  settings.warm_start = !refinement.cold_start();
  settings.early_passes = static_cast<int>(refinement.early_passes());
  settings.statistical_weights = refinement.statistical_weights();
  settings.prior_strength = refinement.prior_strength();
  settings.huber_delta_per_mm = refinement.huber_delta_per_mm();
  settings.tv_steps = static_cast<int>(refinement.tv_steps());
  settings.stop_residual = refinement.stop_residual();
  settings.surroundings_factor = static_cast<int>(refinement.surroundings_factor());
  const absl::Status valid = recon::ValidateIterativeSettings(settings);
  if (!valid.ok()) {
    // The settings' names where they differ from the fields'.
    return absl::InvalidArgumentError(absl::StrReplaceAll(
        valid.message(),
        {{"iterative.matched = false", "refinement.unmatched"}, {"iterative.", "refinement."}}));
  }
  return settings;
}

}  // namespace

void ApplyRefinementDefaults(v1::Refinement& refinement) {
  if (refinement.has_second_pass()) return;
  if (refinement.projector() == v1::PROJECTOR_UNSPECIFIED) {
    refinement.set_projector(v1::PROJECTOR_JOSEPH);
  }
  const recon::IterativeSettings defaults;
  if (refinement.iterations() == 0) refinement.set_iterations(defaults.iterations);
  if (refinement.relaxation() == 0) refinement.set_relaxation(defaults.relaxation);
  if (refinement.relaxation_decay() == 0) {
    refinement.set_relaxation_decay(defaults.relaxation_decay);
  }
  if (refinement.huber_delta_per_mm() == 0) {
    refinement.set_huber_delta_per_mm(defaults.huber_delta_per_mm);
  }
  if (refinement.tv_steps() == 0) refinement.set_tv_steps(defaults.tv_steps);
}

absl::StatusOr<RefinementRecipe> RefinementFromProto(const v1::Refinement& refinement,
                                                     ops::Precision precision) {
  ISO_RETURN_IF_ERROR(
      CheckRange("deadline_seconds", refinement.deadline_seconds(), 0, kLongestDeadline));
  RefinementRecipe recipe;
  if (refinement.deadline_seconds() > 0) {
    recipe.deadline = absl::Seconds(refinement.deadline_seconds());
  }
  if (refinement.has_second_pass()) {
    ISO_RETURN_IF_ERROR(CheckAloneButForDeadline(refinement));
    ISO_ASSIGN_OR_RETURN(recipe.settings, SecondPassFromProto(refinement.second_pass()));
  } else {
    ISO_ASSIGN_OR_RETURN(recipe.settings, IterationsFromProto(refinement, precision));
  }
  return recipe;
}

}  // namespace isocenter::config
