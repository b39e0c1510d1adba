#include "client/cli/gated/reconstruct_gates.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/output/job_text.h"
#include "client/formats/volume_writer.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/geometry/limited_arc.h"
#include "kernels/recon/gating/gated_frames.h"
#include "kernels/recon/gating/gating.h"
#include "kernels/recon/gating/line_integrals.h"
#include "kernels/recon/gating/refine_cycle.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/rings.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {
namespace {

/// Runs of frames that lie further apart make streaks that are seen.
constexpr double kLargeGapDeg = 5;
constexpr double kDefaultSmoothingHu = 5;
constexpr int kDefaultRounds = 4;
constexpr float kNothingHu = -1000;

/// What is known of a gate before it is reconstructed.
struct Gate {
  PhaseWindow window;
  std::filesystem::path file;
  size_t frames = 0;
  double largest_gap_deg = 0;
  std::vector<std::string> warnings;
};

absl::StatusOr<std::vector<Gate>> GatesOf(const GatedRequest& request) {
  std::vector<Gate> gates;
  for (const PhaseWindow& window : request.windows) {
    Gate gate{.window = window, .file = GateFile(request.out, request.flags, gates.size())};
    ISO_ASSIGN_OR_RETURN(const ChosenViews chosen, ChooseViews(request.phases, window));
    ISO_ASSIGN_OR_RETURN(const double gap, recon::LargestGap(request.scan.trajectory, chosen));
    gate.frames = chosen.views.size();
    gate.largest_gap_deg = RadiansToDegrees(gap);
    if (gate.largest_gap_deg > kLargeGapDeg) {
      gate.warnings.push_back(absl::StrFormat(
          "phase %g: %d of %d frames are in its window, and none of them was taken in %.1f degrees "
          "of the arc: expect streaks%s",
          window.centre, gate.frames, request.phases.size(), gate.largest_gap_deg,
          request.iterative ? "" : "; --algorithm asd_pocs --prior 3 leaves fewer"));
    }
    gates.push_back(std::move(gate));
  }
  return gates;
}

/// The volume of all frames, or nothing where iterations are to begin with that.
absl::StatusOr<std::vector<float>> StartOf(const GatedRequest& request, const LocalFrames& frames,
                                           const std::vector<ops::Device*>& devices) {
  if (!request.iterative->warm_start ||
      FindLimitedArc(request.scan.trajectory, request.scan.detector)) {
    return std::vector<float>(request.grid.voxels(), kNothingHu);
  }
  std::vector<float> volume(request.grid.voxels());
  ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan plan,
                       recon::MakePlan(request.scan, request.grid, request.fdk, Backends(), devices,
                                       recon::Arrival::kComplete));
  ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                       recon::Reconstructor::Create(plan, Backends(), devices));
  ISO_RETURN_IF_ERROR(
      reconstructor->Run(frames.view(), {volume.data(), request.grid.shape()}, frames.doses()));
  return volume;
}

absl::Status Write(const GatedRequest& request, const Gate& gate,
                   const std::vector<ops::Device*>& devices, std::vector<float> voxels) {
  if (request.rings) {
    ISO_RETURN_IF_ERROR(recon::RemoveRings(request.scan.trajectory, request.grid, Backends(),
                                           *devices[0], {voxels.data(), request.grid.shape()}));
  }
  return formats::WriteVolume(gate.file, {.grid = PatientGrid(request.grid, request.position),
                                          .voxels = std::move(voxels)});
}

/// Each gate by filtered back-projection, one after the other.
absl::Status BackProjectGates(const GatedRequest& request, const std::vector<Gate>& gates,
                              std::span<const float> lines,
                              const std::vector<ops::Device*>& devices) {
  for (const Gate& gate : gates) {
    ISO_ASSIGN_OR_RETURN(const recon::GatedFrames frames,
                         recon::ChooseFrames(request.scan, lines, request.phases, gate.window));
    ISO_ASSIGN_OR_RETURN(const recon::ReconstructionPlan plan,
                         recon::MakePlan(frames.acquisition, request.grid, request.fdk, Backends(),
                                         devices, recon::Arrival::kComplete));
    ISO_ASSIGN_OR_RETURN(const auto reconstructor,
                         recon::Reconstructor::Create(plan, Backends(), devices));
    std::vector<float> voxels(request.grid.voxels());
    ISO_RETURN_IF_ERROR(reconstructor->Run(frames.view(), {voxels.data(), request.grid.shape()}));
    ISO_RETURN_IF_ERROR(Write(request, gate, devices, std::move(voxels)));
  }
  return absl::OkStatus();
}

recon::CycleSettings CycleOf(const GatedRequest& request) {
  if (request.windows.size() == 1) return {.strength_hu = 0, .rounds = 1};
  return {.strength_hu = request.flags.smoothing_hu.value_or(kDefaultSmoothingHu),
          .rounds = std::min(request.flags.rounds.value_or(kDefaultRounds),
                             request.iterative->iterations)};
}

/// All gates together by iterations.
absl::Status RefineGates(const GatedRequest& request, const std::vector<Gate>& gates,
                         std::span<const float> lines, const LocalFrames& frames,
                         const std::vector<ops::Device*>& devices, std::FILE* progress) {
  ISO_ASSIGN_OR_RETURN(const std::vector<float> start, StartOf(request, frames, devices));
  std::vector<std::vector<float>> volumes(gates.size(), std::vector<float>(request.grid.voxels()));
  std::vector<HostView3<float>> voxels;
  for (std::vector<float>& volume : volumes) {
    voxels.emplace_back(volume.data(), request.grid.shape());
  }
  recon::IterativeSettings settings = *request.iterative;
  settings.warm_start = false;  // begins with `start`
  const auto report = [&](size_t gate, const recon::IterationReport& done) {
    std::fprintf(progress, "phase %g, iteration %d of %d  residual %.3e\n",
                 gates[gate].window.centre, done.iteration, settings.iterations,
                 done.relative_residual);
    std::fflush(progress);
  };
  ISO_RETURN_IF_ERROR(recon::RefineCycle(
      {request.scan, lines, request.phases, request.windows}, request.grid, request.fdk, settings,
      CycleOf(request), Backends(), devices, {start.data(), request.grid.shape()}, voxels, report));
  for (size_t i = 0; i < gates.size(); ++i) {
    ISO_RETURN_IF_ERROR(Write(request, gates[i], devices, std::move(volumes[i])));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckGates(const GatedRequest& request) {
  ISO_ASSIGN_OR_RETURN(const std::vector<Gate> gates, GatesOf(request));
  for (const Gate& gate : gates) {
    for (const std::string& warning : gate.warnings) {
      std::fprintf(stderr, "warning: %s\n", warning.c_str());
    }
  }
  return absl::OkStatus();
}

int64_t GatedBytes(const GatedRequest& request) {
  const Detector& d = request.scan.detector;
  const int64_t lines = static_cast<int64_t>(request.scan.trajectory.size()) * d.rows * d.columns *
                        static_cast<int64_t>(sizeof(float));
  const auto volumes = static_cast<int64_t>(request.iterative ? request.windows.size() : 0);
  return 2 * lines + volumes * request.grid.voxels() * static_cast<int64_t>(sizeof(float));
}

absl::Status ReconstructGates(GatedRequest request, const LocalFrames& frames,
                              const std::vector<ops::Device*>& devices, const JsonOutput& json) {
  const absl::Time begin = absl::Now();
  ISO_ASSIGN_OR_RETURN(const std::vector<Gate> gates, GatesOf(request));
  ISO_ASSIGN_OR_RETURN(
      const std::vector<float> lines,
      recon::LineIntegralsOf(request.scan, Backends(), *devices[0], frames.view(), frames.doses()));
  if (request.iterative) {
    ISO_RETURN_IF_ERROR(RefineGates(request, gates, lines, frames, devices, json.progress()));
  } else {
    ISO_RETURN_IF_ERROR(BackProjectGates(request, gates, lines, devices));
  }
  nlohmann::ordered_json document{{"input", request.input},
                                  {"frames", request.phases.size()},
                                  {"grid", ToJson(wire::ToProto(request.grid))},
                                  {"algorithm", request.algorithm},
                                  {"backend", std::string(devices[0]->backend())},
                                  {"device", devices[0]->description()},
                                  {"device_count", devices.size()},
                                  {"seconds", absl::ToDoubleSeconds(absl::Now() - begin)},
                                  {"warnings", request.warnings},
                                  {"gates", nlohmann::ordered_json::array()}};
  std::string text;
  for (const Gate& gate : gates) {
    absl::StrAppendFormat(&text, "phase %g, width %g: %d of %d frames, largest gap %.1f deg, %s\n",
                          gate.window.centre, gate.window.width, gate.frames, request.phases.size(),
                          gate.largest_gap_deg, gate.file.string());
    document["gates"].push_back({{"out", gate.file.string()},
                                 {"phase", gate.window.centre},
                                 {"phase_width", gate.window.width},
                                 {"frames", gate.frames},
                                 {"largest_gap_deg", gate.largest_gap_deg},
                                 {"warnings", gate.warnings}});
  }
  return json.Report(text, document);
}

}  // namespace isocenter::cli
