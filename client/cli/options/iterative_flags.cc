#include "client/cli/options/iterative_flags.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "client/flags/wrong_usage.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

// Where the settings themselves have open ends.
constexpr double kLeast = 1e-6, kBelowOne = 0.999999, kBelowTwo = 1.999999;

}  // namespace

void AddIterativeFlags(flags::Command command, IterativeFlags& flags) {
  const auto watch = [&](const char* name, const auto& target) {
    flags.changed.emplace_back([&target, before = target] { return target != before; }, name);
  };
  const auto add = [&](const char* name, auto& target, const char* help) {
    watch(name, target);
    return command.Add(name, target, help).ShowDefault().Group(kIterativeGroup);
  };
  const auto add_switch = [&](const char* name, bool& target, const char* help) {
    watch(name, target);
    command.AddSwitch(name, target, help).Group(kIterativeGroup);
  };
  recon::IterativeSettings& s = flags.settings;
  std::vector<std::string> projectors;
  for (const ops::ProjectorModel model : ops::kProjectorModels) {
    projectors.emplace_back(ops::ProjectorName(model));
  }
  add("--projector", flags.projector, "how a ray sees a voxel").OneOf(projectors);
  add_switch("--unmatched", flags.unmatched,
             "back-project as FDK does instead of with the projector's adjoint: faster, and only "
             "nearly the same");
  add("--iterations", s.iterations, "passes over all views").Range(1, 1000);
  add("--subsets", s.subsets,
      "groups of views, after each of which the volume is updated; 0: what suits the algorithm")
      .Range(0, 10000);
  add("--relaxation", s.relaxation, "step length of sirt, sart, os_sart, asd_pocs")
      .Range(kLeast, kBelowTwo);
  add("--relaxation-decay", s.relaxation_decay, "factor of it after each pass").Range(kLeast, 1.0);
  add("--momentum", s.momentum,
      "how far steps of sirt, sart, os_sart look ahead: a pass does what 1 / (1 - momentum) do "
      "without")
      .Range(0.0, 0.9);
  add_switch("--allow-negative", flags.allow_negative, "let voxels fall below air");
  add_switch("--from-zero", flags.from_zero,
             "begin with nothing instead of with FDK, as on limited arcs");
  add("--early-passes", s.early_passes,
      "of os_sart: how often something is done with the views that have come, from half of them "
      "on, as while the arm turns: sums of rows and columns, and with --from-zero passes")
      .Range(0, 64);
  add_switch("--statistical-weights", s.statistical_weights,
             "weigh rays by the photons that they are left with");
  add("--prior", s.prior_strength, "strength of the prior relative to the data; 0: none")
      .Range(0.0, 1000.0);
  add("--huber-delta", s.huber_delta_per_mm,
      "difference of neighbouring voxels in 1/mm above which it is an edge")
      .Range(1e-7, 1.0);
  add("--tv-steps", s.tv_steps, "steps of total variation per pass").Range(1, 1000);
  add("--stop-residual", s.stop_residual,
      "ends when the share of the frames that the volume does not explain falls below it; 0: never")
      .Range(0.0, kBelowOne);
  add("--surroundings", s.surroundings_factor,
      "keep what lies outside of the grid in voxels this many times as coarse; 0: nothing is "
      "there")
      .Range(0, 16);
}

std::vector<std::string> ChangedFlags(const IterativeFlags& flags) {
  std::vector<std::string> names;
  for (const auto& [changed, name] : flags.changed) {
    if (changed()) names.push_back(name);
  }
  return names;
}

std::string InFlags(absl::string_view message) {
  return absl::StrReplaceAll(message, {{"iterative.algorithm", "--algorithm"},
                                       {"iterative.early_passes", "--early-passes"},
                                       {"iterative.huber_delta_per_mm", "--huber-delta"},
                                       {"iterative.iterations", "--iterations"},
                                       {"iterative.matched = false", "--unmatched"},
                                       {"iterative.momentum", "--momentum"},
                                       {"iterative.prior_strength", "--prior"},
                                       {"iterative.projector", "--projector"},
                                       {"iterative.relaxation", "--relaxation"},
                                       {"iterative.relaxation_decay", "--relaxation-decay"},
                                       {"iterative.statistical_weights", "--statistical-weights"},
                                       {"iterative.stop_residual", "--stop-residual"},
                                       {"iterative.subsets", "--subsets"},
                                       {"iterative.surroundings_factor", "--surroundings"},
                                       {"iterative.tv_steps", "--tv-steps"},
                                       {"iterative.warm_start", "--from-zero"}});
}

absl::Status AsFlags(const absl::Status& status) {
  if (!absl::StartsWith(status.message(), "iterative.")) return status;
  return flags::WrongUsage(InFlags(status.message()));
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
  ISO_RETURN_IF_ERROR(AsFlags(recon::ValidateIterativeSettings(settings)));
  return settings;
}

}  // namespace isocenter::cli
