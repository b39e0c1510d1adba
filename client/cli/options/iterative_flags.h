// The flags of iterative reconstruction.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/command.h"
#include "kernels/recon/iterative/settings.h"

namespace isocenter::cli {

struct IterativeFlags {
  std::string projector = "joseph";
  bool unmatched = false;
  recon::IterativeSettings settings;  // the rest
  bool from_zero = false;
  bool allow_negative = false;
};

void AddIterativeFlags(flags::Command command, IterativeFlags& flags);

/// "fdk" and the names of all algorithms.
std::vector<std::string> AlgorithmChoices();

/// Errors: INVALID_ARGUMENT (names, values).
absl::StatusOr<recon::IterativeSettings> ToSettings(const IterativeFlags& flags,
                                                    const std::string& algorithm,
                                                    ops::Precision precision);

}  // namespace isocenter::cli
