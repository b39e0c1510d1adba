#include "client/cli/reconstruct/gates.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/options/iterative_flags.h"
#include "client/cli/output/warnings.h"
#include "client/cli/reconstruct/report.h"
#include "client/formats/volume_writer.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/recon/completeness/hounsfield_levels.h"
#include "kernels/recon/gating/gated_frames.h"
#include "kernels/recon/gating/gated_plan.h"
#include "kernels/recon/gating/gating.h"
#include "kernels/recon/gating/line_integrals.h"
#include "kernels/recon/gating/refine_cycle.h"
#include "kernels/recon/iterative/residual_finding.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/rings.h"

namespace isocenter::cli {
namespace {

constexpr double kDefaultSmoothingHu = 5;
constexpr int kDefaultRounds = 4;
constexpr float kNothingHu = -1000;

/// The volume of all frames, or nothing where iterations are to begin with that.
absl::StatusOr<std::vector<float>> StartOf(const GatedScan& scan, const recon::RefinementPlan& plan,
                                           const LocalFrames& frames,
                                           const std::vector<ops::Device*>& devices) {
  if (!plan.warm_start) return std::vector<float>(scan.grid.voxels(), kNothingHu);
  std::vector<float> volume(scan.grid.voxels());
  ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                       recon::Reconstructor::Create(*plan.warm_start, Backends(), devices));
  ISO_RETURN_IF_ERROR(
      reconstructor->Run(frames.view(), {volume.data(), scan.grid.shape()}, frames.doses()));
  return volume;
}

absl::Status Write(const GatedScan& scan, const std::vector<ops::Device*>& devices,
                   std::vector<float> voxels, Gate& gate) {
  if (scan.options.rings) {
    ISO_ASSIGN_OR_RETURN(const recon::RingsTakenOff rings,
                         recon::RemoveRings(scan.acquisition.trajectory, scan.grid, Backends(),
                                            *devices[0], {voxels.data(), scan.grid.shape()}));
    gate.findings.push_back(recon::ToText(rings));
    std::fprintf(stderr, "isocenter: %s: %s\n", gate.file.string().c_str(),
                 gate.findings.back().c_str());
  }
  if (const auto other = recon::ImplausibleHounsfieldText({voxels.data(), scan.grid.shape()},
                                                          scan.acquisition.pixel_type)) {
    gate.warnings.push_back(absl::StrFormat("phase %g: %s", gate.window.centre, *other));
    PrintWarnings(std::span(gate.warnings).last(1));
  }
  return formats::WriteVolume(gate.file, {.grid = PatientGrid(scan.grid, scan.position),
                                          .voxels = std::move(voxels),
                                          .facts = {.unit = "HU"}});
}

/// Each gate by filtered back-projection, one after the other.
absl::Status BackProjectGates(const GatedScan& scan, std::vector<Gate>& gates,
                              std::span<const float> lines,
                              const std::vector<ops::Device*>& devices) {
  for (Gate& gate : gates) {
    ISO_ASSIGN_OR_RETURN(const recon::GatedFrames frames,
                         recon::ChooseFrames(scan.acquisition, lines, scan.phases, gate.window));
    ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan plan,
                         recon::MakePlan(frames.acquisition, scan.grid, scan.options.fdk,
                                         Backends(), devices, recon::Arrival::kComplete));
    ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                         recon::Reconstructor::Create(plan, Backends(), devices));
    std::vector<float> voxels(scan.grid.voxels());
    ISO_RETURN_IF_ERROR(reconstructor->Run(frames.view(), {voxels.data(), scan.grid.shape()}));
    ISO_RETURN_IF_ERROR(Write(scan, devices, std::move(voxels), gate));
  }
  return absl::OkStatus();
}

recon::CycleSettings CycleOf(const GatedScan& scan) {
  if (scan.windows.size() == 1) return {.strength_hu = 0, .rounds = 1};
  return {.strength_hu = scan.options.gating.smoothing_hu.value_or(kDefaultSmoothingHu),
          .rounds = std::min(scan.options.gating.rounds.value_or(kDefaultRounds),
                             scan.iterative->iterations)};
}

/// All gates together by iterations.
absl::Status RefineGates(const GatedScan& scan, std::vector<Gate>& gates,
                         const recon::RefinementPlan& plan, std::span<const float> lines,
                         const LocalFrames& frames, const std::vector<ops::Device*>& devices,
                         std::FILE* progress) {
  ISO_ASSIGN_OR_RETURN(const std::vector<float> start, StartOf(scan, plan, frames, devices));
  std::vector<std::vector<float>> volumes(gates.size(), std::vector<float>(scan.grid.voxels()));
  std::vector<HostView3<float>> voxels;
  for (std::vector<float>& volume : volumes) {
    voxels.emplace_back(volume.data(), scan.grid.shape());
  }
  recon::IterativeSettings settings = *scan.iterative;
  settings.warm_start = false;  // begins with `start`
  const recon::CycleSettings cycle = CycleOf(scan);
  // Smoothing between rounds takes the volumes away from their frames, as it is meant to.
  const int before_last_round = settings.iterations * (cycle.rounds - 1) / cycle.rounds;
  std::vector<std::vector<recon::IterationReport>> last_round(gates.size());
  const auto report = [&](size_t gate, const recon::IterationReport& done) {
    if (done.iteration > before_last_round) last_round[gate].push_back(done);
    std::fprintf(progress, "phase %g, iteration %d of %d  residual %.3e\n",
                 gates[gate].window.centre, done.iteration, settings.iterations,
                 done.relative_residual);
    std::fflush(progress);
  };
  ISO_RETURN_IF_ERROR(recon::RefineCycle(
      {scan.acquisition, lines, scan.phases, scan.windows}, scan.grid, scan.options.fdk, settings,
      cycle, Backends(), devices, {start.data(), scan.grid.shape()}, voxels, report));
  for (size_t i = 0; i < gates.size(); ++i) {
    if (const auto residual = recon::ResidualFinding(last_round[i], settings)) {
      gates[i].warnings.push_back(
          absl::StrFormat("phase %g: %s", gates[i].window.centre, InFlags(*residual)));
      PrintWarnings(gates[i].warnings);
    }
    ISO_RETURN_IF_ERROR(Write(scan, devices, std::move(volumes[i]), gates[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Gate>> GatesOf(const GatedScan& scan) {
  std::vector<Gate> gates;
  for (const PhaseWindow& window : scan.windows) {
    Gate gate{.window = window,
              .file = GateFile(scan.options.out, scan.options.gating, gates.size())};
    ISO_ASSIGN_OR_RETURN(const ChosenViews chosen, ChooseViews(scan.phases, window));
    ISO_ASSIGN_OR_RETURN(const double gap, recon::LargestGap(scan.acquisition.trajectory, chosen));
    gate.frames = chosen.views.size();
    gate.largest_gap_deg = RadiansToDegrees(gap);
    if (gate.largest_gap_deg > recon::kLargeGapDeg) {
      gate.warnings.push_back(absl::StrFormat(
          "phase %g: %d of %d frames are in its window, and none of them was taken in %.1f degrees "
          "of the arc: expect streaks%s",
          window.centre, gate.frames, scan.phases.size(), gate.largest_gap_deg,
          scan.iterative ? "" : "; --algorithm asd_pocs --prior 3 leaves fewer"));
    }
    gates.push_back(std::move(gate));
  }
  return gates;
}

int64_t GatedBytes(const GatedScan& scan) {
  const Detector& d = scan.acquisition.detector;
  const int64_t lines = static_cast<int64_t>(scan.acquisition.trajectory.size()) * d.rows *
                        d.columns * static_cast<int64_t>(sizeof(float));
  const auto volumes = static_cast<int64_t>(scan.iterative ? scan.windows.size() : 0);
  return 2 * lines + volumes * recon::VolumeBytes(scan.grid);
}

absl::Status ReconstructGates(const GatedScan& scan, std::vector<Gate>& gates, const Plan& plan,
                              const LocalFrames& frames, const std::vector<ops::Device*>& devices) {
  const absl::Time begin = absl::Now();
  ISO_ASSIGN_OR_RETURN(const std::vector<float> lines,
                       recon::LineIntegralsOf(scan.acquisition, Backends(), *devices[0],
                                              frames.view(), frames.doses()));
  if (const auto* refinement = std::get_if<recon::RefinementPlan>(&plan)) {
    ISO_RETURN_IF_ERROR(RefineGates(scan, gates, *refinement, lines, frames, devices,
                                    scan.options.json.progress()));
  } else {
    ISO_RETURN_IF_ERROR(BackProjectGates(scan, gates, lines, devices));
  }
  nlohmann::ordered_json document =
      ReportOf(scan.options, static_cast<int64_t>(scan.phases.size()), scan.grid, devices,
               absl::ToDoubleSeconds(absl::Now() - begin));
  document["warnings"] = scan.warnings;
  std::string text;
  for (const Gate& gate : gates) {
    absl::StrAppendFormat(&text, "phase %g, width %g: %d of %d frames, largest gap %.1f deg, %s\n",
                          gate.window.centre, gate.window.width, gate.frames, scan.phases.size(),
                          gate.largest_gap_deg, gate.file.string());
    document["gates"].push_back({{"out", gate.file.string()},
                                 {"phase", gate.window.centre},
                                 {"phase_width", gate.window.width},
                                 {"frames", gate.frames},
                                 {"largest_gap_deg", gate.largest_gap_deg},
                                 {"findings", gate.findings},
                                 {"warnings", gate.warnings}});
  }
  return scan.options.json.Report(text, document);
}

}  // namespace isocenter::cli
