#include "client/cli/gated/gating_flags.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

constexpr double kDefaultWidth = 0.2;

}  // namespace

void AddGatingFlags(flags::Command command, GatingFlags& flags) {
  command
      .Add("--phase", flags.phase,
           "of a moving organ, 0 to less than 1: of the frames that were taken around it")
      .Range(0.0, 0.999999);
  command
      .Add("--phase-width", flags.width,
           "part of the cycle whose frames count half and more (default 0.2; with --phases: their "
           "distance)")
      .Range(0.000001, 1.0);
  command
      .Add("--phases", flags.phases,
           "so many volumes, one for each phase at equal distances from 0: NAME-0.mha and so on")
      .Range(2, 100);
}

absl::StatusOr<std::vector<PhaseWindow>> WindowsOf(const GatingFlags& flags) {
  if (!flags.given()) return std::vector<PhaseWindow>();
  if (flags.phase && flags.phases > 0) {
    return absl::InvalidArgumentError("--phase with --phases; legal is one of them");
  }
  if (!flags.phase && flags.phases == 0) {
    return absl::InvalidArgumentError("--phase-width needs --phase or --phases");
  }
  std::vector<PhaseWindow> windows;
  if (flags.phase) {
    windows.push_back({.centre = *flags.phase, .width = flags.width.value_or(kDefaultWidth)});
  }
  for (int i = 0; i < flags.phases; ++i) {
    windows.push_back({.centre = static_cast<double>(i) / flags.phases,
                       .width = flags.width.value_or(1.0 / flags.phases)});
  }
  for (const PhaseWindow& window : windows) ISO_RETURN_IF_ERROR(CheckPhaseWindow(window));
  return windows;
}

std::filesystem::path PhaseFile(const std::string& out, const GatingFlags& flags, size_t index) {
  const std::filesystem::path path(out);
  if (flags.phases == 0) return path;
  return path.parent_path() /
         absl::StrCat(path.stem().string(), "-", index, path.extension().string());
}

}  // namespace isocenter::cli
