// Which phases of a moving organ `isocenter reconstruct` makes volumes of.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/command.h"
#include "client/formats/frames.h"
#include "kernels/geometry/phases/phase_window.h"

namespace isocenter::cli {

struct GatingFlags {
  std::optional<double> phase;
  std::optional<double> width;
  int gates = 0;  // 0: not of the whole cycle
  std::optional<double> smoothing_hu;
  std::optional<int> rounds;

  bool given() const { return phase || width || gates > 0 || together(); }
  /// Whether anything is said of how phases are refined together.
  bool together() const { return smoothing_hu || rounds; }
};

void AddGatingFlags(flags::Command command, GatingFlags& flags);

/// One volume each; none where no phase is asked for. Errors: INVALID_ARGUMENT (flags that exclude
/// each other, values).
absl::StatusOr<std::vector<PhaseWindow>> WindowsOf(const GatingFlags& flags);

/// Of all frames. Errors: FAILED_PRECONDITION where not all of them tell it (how many do).
absl::StatusOr<std::vector<float>> PhasesOf(const formats::FrameSource& source);

/// Where the volume of a window goes: `out` itself of --phase, and of --gates NAME-0.mha for the
/// phase 0, NAME-1.mha for the next, and so on; with as many digits as the last one has.
std::filesystem::path GateFile(const std::string& out, const GatingFlags& flags, size_t index);

}  // namespace isocenter::cli
