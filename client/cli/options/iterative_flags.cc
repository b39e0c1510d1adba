#include "client/cli/options/iterative_flags.h"

#include "kernels/base/status_macros.h"

namespace isocenter::cli {

void AddIterativeFlags(flags::Command command, IterativeFlags& flags) {
  constexpr const char* kGroup = "Iterative algorithms";
  recon::IterativeSettings& s = flags.settings;
  std::vector<std::string> projectors;
  for (const ops::ProjectorModel model : ops::kProjectorModels) {
    projectors.emplace_back(ops::ProjectorName(model));
  }
  command.Add("--projector", flags.projector, "how a ray sees a voxel")
      .ShowDefault()
      .OneOf(projectors)
      .Group(kGroup);
  command
      .AddSwitch("--unmatched", flags.unmatched,
                 "back-project as FDK does instead of with the projector's adjoint: faster, and "
                 "only nearly the same")
      .Group(kGroup);
  command.Add("--iterations", s.iterations, "passes over all views")
      .ShowDefault()
      .Range(1, 1000)
      .Group(kGroup);
  command.Add("--subsets", s.subsets, "ordered subsets; 0: what suits the algorithm")
      .ShowDefault()
      .Range(0, 10000)
      .Group(kGroup);
  command.Add("--relaxation", s.relaxation, "step length of sirt, sart, os_sart, asd_pocs")
      .ShowDefault()
      .Group(kGroup);
  command.Add("--relaxation-decay", s.relaxation_decay, "factor of it after each pass")
      .ShowDefault()
      .Group(kGroup);
  command.AddSwitch("--allow-negative", flags.allow_negative, "let voxels fall below air")
      .Group(kGroup);
  command.AddSwitch("--from-zero", flags.from_zero, "begin with nothing instead of with FDK")
      .Group(kGroup);
  command
      .AddSwitch("--statistical-weights", s.statistical_weights,
                 "weigh rays by the photons that they are left with")
      .Group(kGroup);
  command.Add("--prior", s.prior_strength, "strength of the prior relative to the data; 0: none")
      .ShowDefault()
      .Group(kGroup);
  command
      .Add("--huber-delta", s.huber_delta_per_mm,
           "difference of neighbouring voxels in 1/mm above which it is an edge")
      .ShowDefault()
      .Group(kGroup);
  command.Add("--tv-steps", s.tv_steps, "steps of total variation per pass")
      .ShowDefault()
      .Group(kGroup);
  command
      .Add("--stop-residual", s.stop_residual,
           "ends when the relative residual falls below it; 0: never")
      .ShowDefault()
      .Group(kGroup);
  command
      .Add("--surroundings", s.surroundings_factor,
           "keep what lies outside of the grid in voxels this many times as coarse; 0: "
           "nothing is there")
      .ShowDefault()
      .Group(kGroup);
}

std::vector<std::string> AlgorithmChoices() {
  using recon::Algorithm;
  std::vector<std::string> names{"fdk"};
  for (const Algorithm algorithm :
       {Algorithm::kSirt, Algorithm::kSart, Algorithm::kOsSart, Algorithm::kCgls, Algorithm::kLsqr,
        Algorithm::kOsSqs, Algorithm::kAsdPocs, Algorithm::kFistaTv}) {
    names.emplace_back(recon::AlgorithmName(algorithm));
  }
  return names;
}

absl::StatusOr<recon::IterativeSettings> ToSettings(const IterativeFlags& flags,
                                                    const std::string& algorithm,
                                                    ops::Precision precision) {
  recon::IterativeSettings settings = flags.settings;
  ISO_ASSIGN_OR_RETURN(settings.algorithm, recon::AlgorithmNamed(algorithm));
  ISO_ASSIGN_OR_RETURN(settings.projector, ops::ProjectorNamed(flags.projector));
  settings.matched = !flags.unmatched;
  settings.precision = precision;
  settings.non_negative = !flags.allow_negative;
  settings.warm_start = !flags.from_zero;
  ISO_RETURN_IF_ERROR(recon::ValidateIterativeSettings(settings));
  return settings;
}

}  // namespace isocenter::cli
