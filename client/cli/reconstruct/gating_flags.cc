#include "client/cli/reconstruct/gating_flags.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/volume_writer.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/gating/along_cycle.h"

namespace isocenter::cli {
namespace {

constexpr double kDefaultWidth = 0.2;

}  // namespace

void AddGatingFlags(flags::Command command, GatingFlags& flags) {
  command
      .Add("--gates", flags.gates,
           "so many volumes, one for each phase at equal distances from 0: NAME-0.mha and so on "
           "(docs/moving-organs.md)")
      .Range(2, recon::kMostPhases);
  command
      .Add("--phase", flags.phase,
           "one volume of the frames that were taken around this phase, 0 to less than 1")
      .Range(0.0, 0.999999);
  command
      .Add("--phase-width", flags.width,
           "part of the cycle whose frames count half and more (default 0.2; with --gates: their "
           "distance)")
      .Range(0.000001, 1.0);
  command
      .Add("--cycle-smoothing", flags.smoothing_hu,
           "with --gates and an iterative --algorithm, in HU: how firmly a voxel keeps its value "
           "from phase to phase (default 5); 0: each phase for itself")
      .Range(0.0, 1000.0);
  command
      .Add("--cycle-rounds", flags.rounds,
           "so many times the phases learn of each other while they iterate (default 4; at most "
           "the iterations)")
      .Range(1, 1000);
}

absl::StatusOr<std::vector<PhaseWindow>> WindowsOf(const GatingFlags& flags) {
  if (!flags.given()) return std::vector<PhaseWindow>();
  if (flags.phase && flags.gates > 0) {
    return flags::WrongUsage("--phase with --gates; legal is one of them");
  }
  if (!flags.phase && flags.gates == 0) {
    return flags::WrongUsage(
        "--phase-width, --cycle-smoothing and --cycle-rounds need --phase or --gates");
  }
  if (flags.together() && flags.gates == 0) {
    return flags::WrongUsage("--cycle-smoothing and --cycle-rounds with --phase; legal is --gates");
  }
  std::vector<PhaseWindow> windows;
  if (flags.phase) {
    windows.push_back({.centre = *flags.phase, .width = flags.width.value_or(kDefaultWidth)});
  }
  for (int i = 0; i < flags.gates; ++i) {
    windows.push_back({.centre = static_cast<double>(i) / flags.gates,
                       .width = flags.width.value_or(1.0 / flags.gates)});
  }
  for (const PhaseWindow& window : windows) ISO_RETURN_IF_ERROR(CheckPhaseWindow(window));
  return windows;
}

absl::StatusOr<std::vector<float>> PhasesOf(const formats::FrameSource& source) {
  std::vector<float> phases;
  const int64_t frames = source.header().frame_count();
  for (int64_t i = 0; i < frames; ++i) {
    if (const std::optional<float> phase = source.phase(i)) phases.push_back(*phase);
  }
  if (static_cast<int64_t>(phases.size()) == frames) return phases;
  return absl::FailedPreconditionError(
      absl::StrCat(phases.size(), " of ", frames,
                   " frames tell a phase; legal with --phase and --gates is all of them "
                   "(phases.txt or signal.txt, docs/formats/bundle.md)"));
}

std::filesystem::path GateFile(const std::string& out, const GatingFlags& flags, size_t index) {
  const std::filesystem::path path(out);
  if (flags.gates == 0) return path;
  const int digits = flags.gates > 10 ? 2 : 1;
  static_assert(recon::kMostPhases <= 100);
  return formats::WithNameSuffix(path, absl::StrFormat("-%0*d", digits, index));
}

}  // namespace isocenter::cli
