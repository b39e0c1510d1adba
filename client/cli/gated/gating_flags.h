// Which phases of a moving organ `isocenter reconstruct` makes volumes of.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/command.h"
#include "kernels/geometry/phases/phase_window.h"

namespace isocenter::cli {

struct GatingFlags {
  std::optional<double> phase;
  std::optional<double> width;
  int phases = 0;  // 0: not all of them

  bool given() const { return phase || width || phases > 0; }
};

void AddGatingFlags(flags::Command command, GatingFlags& flags);

/// One volume each; none where no phase is asked for. Errors: INVALID_ARGUMENT (flags that exclude
/// each other, values).
absl::StatusOr<std::vector<PhaseWindow>> WindowsOf(const GatingFlags& flags);

/// Where the volume of a window goes: `out` itself of --phase, and of --phases NAME-0.mha for the
/// phase 0, NAME-1.mha for the next, and so on.
std::filesystem::path PhaseFile(const std::string& out, const GatingFlags& flags, size_t index);

}  // namespace isocenter::cli
