#include "client/cli/reconstruct/recipe.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/options/iterative_flags.h"
#include "client/cli/output/iteration_printer.h"
#include "client/cli/output/warnings.h"
#include "client/cli/reconstruct/search_device.h"
#include "client/imaging/convergence_plot.h"
#include "kernels/backends.h"
#include "kernels/base/host_memory.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/limited_arc.h"
#include "kernels/recon/completeness/grid_coverage.h"
#include "kernels/recon/iterative/residual_finding.h"
#include "kernels/recon/iterative/subsets.h"
#include "kernels/recon/motion/compensation.h"
#include "kernels/recon/second_pass/motion_pass.h"

namespace isocenter::cli {
namespace {

void PrintReport(const recon::IterationReport& report, std::FILE* file) {
  const std::string objective =
      report.objective ? absl::StrFormat("  objective %.6g", *report.objective) : "";
  std::fprintf(file, "iteration %3d  residual %.3e%s  %.2f s%s\n", report.iteration,
               report.relative_residual, objective.c_str(), report.seconds,
               report.taken ? "" : "  (not taken)");
  std::fflush(file);
}

recon::SecondPassSettings SecondPassOf(const ReconstructOptions& options) {
  recon::SecondPassSettings settings{.stripes = options.stripes,
                                     .scatter = options.scatter,
                                     .bone = options.bone,
                                     .cone_beam = options.cone_beam};
  if (options.metal) settings.metal.emplace();
  return settings;
}

void PrintFindings(const std::vector<std::string>& findings) {
  for (const std::string& finding : findings) {
    std::fprintf(stderr, "isocenter: %s\n", finding.c_str());
  }
}

/// How the object moved.
absl::StatusOr<recon::FoundMotion> FindMotion(const recon::ReconstructionPlan& plan,
                                              const ReconstructOptions& options,
                                              ops::Device& device, const LocalFrames& frames) {
  ISO_ASSIGN_OR_RETURN(const SearchDevice searches, SearchDevice::Choose(device, options));
  const recon::Acquisition& acquisition = plan.acquisition;
  const recon::MotionSearch search = recon::DefaultMotionSearch(plan.views(), plan.settings);
  ISO_ASSIGN_OR_RETURN(const recon::MotionMemory memory,
                       recon::MotionMemoryOf(acquisition, search, Backends(), *searches));
  ISO_RETURN_IF_ERROR(searches.Begin("the search for motion", "motion:", memory.host_bytes,
                                     memory.device_bytes, options));
  return recon::FindMotion(acquisition, search, frames.view(), frames.doses(), Backends(),
                           *searches);
}

absl::Status ReconstructFrames(const recon::ReconstructionPlan& plan,
                               const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                               HostView3<float> volume) {
  ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                       recon::Reconstructor::Create(plan, Backends(), devices));
  return reconstructor->Run(frames.view(), volume, frames.doses());
}

absl::StatusOr<Outcome> RunPlan(const recon::ReconstructionPlan& plan,
                                const ReconstructOptions& options,
                                const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                                HostView3<float> volume) {
  Outcome outcome;
  if (options.motion) {
    ISO_ASSIGN_OR_RETURN(outcome.motion, FindMotion(plan, options, *devices[0], frames));
    outcome.findings.push_back(recon::ToText(*outcome.motion));
    std::fprintf(stderr, "isocenter: %s\n", outcome.findings.back().c_str());
  }
  if (outcome.motion && outcome.motion->moved) {
    ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan at_rest,
                         recon::WithMotion(plan, outcome.motion->poses));
    ISO_RETURN_IF_ERROR(ReconstructFrames(at_rest, devices, frames, volume));
  } else {
    ISO_RETURN_IF_ERROR(ReconstructFrames(plan, devices, frames, volume));
  }
  return outcome;
}

absl::StatusOr<Outcome> RunPlan(const recon::SecondPassPlan& plan, const ReconstructOptions&,
                                const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                                HostView3<float> volume) {
  Outcome outcome;
  ISO_RETURN_IF_ERROR(recon::ReconstructTwice(plan, Backends(), devices, frames.view(), volume,
                                              frames.doses(), &outcome.findings));
  PrintFindings(outcome.findings);
  return outcome;
}

absl::StatusOr<Outcome> RunPlan(const recon::DetruncationPlan& plan, const ReconstructOptions&,
                                const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                                HostView3<float> volume) {
  Outcome outcome;
  ISO_RETURN_IF_ERROR(recon::ReconstructDetruncated(plan, Backends(), devices, frames.view(),
                                                    volume, frames.doses(), &outcome.findings));
  PrintFindings(outcome.findings);
  return outcome;
}

absl::StatusOr<Outcome> RunPlan(const recon::RefinementPlan& plan,
                                const ReconstructOptions& options,
                                const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                                HostView3<float> volume) {
  std::FILE* const file = options.json.progress();
  std::fprintf(file, "%s, projector %s, %d iterations with %d subsets of the views\n%s",
               std::string(recon::AlgorithmName(plan.settings.algorithm)).c_str(),
               std::string(ops::ProjectorName(plan.settings.projector)).c_str(),
               plan.settings.iterations, static_cast<int>(plan.subsets.size()), kIterationTerms);
  const absl::Time begin = absl::Now();
  const auto report = [&](const recon::IterationReport& done) {
    PrintReport(done, file);
    return options.deadline_seconds <= 0 ||
           absl::Now() - begin < absl::Seconds(options.deadline_seconds);
  };
  Outcome outcome;
  std::vector<recon::IterationReport>& reports = outcome.iterations;
  ISO_ASSIGN_OR_RETURN(reports, recon::RefineAll(plan, Backends(), devices, frames.view(), volume,
                                                 report, frames.doses()));
  if (static_cast<int>(reports.size()) < plan.settings.iterations) {
    std::fprintf(file, "ended after %d of %d iterations\n", static_cast<int>(reports.size()),
                 plan.settings.iterations);
  }
  if (const auto residual = recon::ResidualFinding(reports, plan.settings)) {
    outcome.warnings.push_back(InFlags(*residual));
    PrintWarnings(outcome.warnings);
  }
  if (options.curve.empty()) return outcome;
  std::vector<imaging::ConvergencePoint> points;
  for (const recon::IterationReport& done : reports) {
    points.push_back({done.iteration, done.relative_residual, done.objective, done.seconds});
  }
  ISO_RETURN_IF_ERROR(imaging::WriteConvergence(options.curve, points));
  return outcome;
}

}  // namespace

absl::StatusOr<Plan> MakePlan(const ReconstructOptions& options,
                              const recon::Acquisition& acquisition, const VolumeGrid& grid,
                              const std::optional<recon::IterativeSettings>& iterative,
                              const std::vector<ops::Device*>& devices) {
  if (iterative) {
    absl::StatusOr<recon::RefinementPlan> plan =
        recon::MakeRefinementPlan(acquisition, grid, options.fdk, *iterative, Backends(), devices);
    ISO_RETURN_IF_ERROR(AsFlags(plan.status()));
    return *std::move(plan);
  }
  if (options.metal || options.bone || options.stripes || options.scatter || options.cone_beam) {
    return recon::MakeSecondPassPlan(acquisition, grid, options.fdk, SecondPassOf(options),
                                     Backends(), devices);
  }
  if (options.complete_rows) {
    return recon::MakeDetruncationPlan(acquisition, grid, options.fdk, Backends(), devices);
  }
  return recon::MakePlan(acquisition, grid, options.fdk, Backends(), devices,
                         recon::Arrival::kComplete);
}

std::vector<std::string> WarningsOf(const Plan& plan, const recon::Acquisition& acquisition) {
  std::vector<std::string> warnings;
  const auto* refinement = std::get_if<recon::RefinementPlan>(&plan);
  if (refinement != nullptr && refinement->limited_arc) {
    warnings.push_back(LimitedArcText(*refinement->limited_arc));
  }
  if (refinement != nullptr) {
    if (const auto many =
            recon::ManySubsetsText(refinement->settings.algorithm, refinement->views(),
                                   static_cast<int>(refinement->subsets.size()))) {
      warnings.push_back(InFlags(*many));
    }
  }
  if (refinement != nullptr && refinement->settings.algorithm == recon::Algorithm::kAsdPocs &&
      refinement->settings.prior_strength == 0) {
    warnings.emplace_back("--prior 0: no total variation is taken off, and asd_pocs is os_sart");
  }
  const VolumeGrid& grid = std::visit(
      [](const auto& made) -> auto& { return made.grid; }, plan);
  if (const auto unseen = recon::LittleSeenText(acquisition, grid)) warnings.push_back(*unseen);
  return warnings;
}

absl::Status CheckMemory(const Plan& plan, int64_t frames_bytes,
                         const std::vector<ops::Device*>& devices) {
  return std::visit(
      [&](const auto& made) {
        int64_t bytes = frames_bytes + made.host_bytes;
        for (const ops::Device* device : devices) {
          if (!device->traits().own_memory) bytes += made.peak_bytes;
        }
        const VolumeGrid& grid = made.grid;
        return CheckAvailableMemory(absl::StrCat("a volume of ", grid.nx, "x", grid.ny, "x",
                                                 grid.nz, " voxels from ", made.views(), " frames"),
                                    bytes);
      },
      plan);
}

absl::StatusOr<Outcome> Run(const Plan& plan, const ReconstructOptions& options,
                            const std::vector<ops::Device*>& devices, const LocalFrames& frames,
                            HostView3<float> volume) {
  return std::visit(
      [&](const auto& made) { return RunPlan(made, options, devices, frames, volume); }, plan);
}

}  // namespace isocenter::cli
