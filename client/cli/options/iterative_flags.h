// The flags of iterative reconstruction.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/command.h"
#include "kernels/recon/iterative/settings.h"

namespace isocenter::cli {

/// The heading in `--help` under which they stand.
inline constexpr char kIterativeGroup[] = "Iterative algorithms";

struct IterativeFlags {
  std::string projector = "joseph";
  bool unmatched = false;
  recon::IterativeSettings settings;  // the rest
  bool from_zero = false;
  bool allow_negative = false;
  /// Of each flag: whether it says something else than its default, and its name.
  std::vector<std::pair<std::function<bool()>, std::string>> changed;
};

/// `flags` must stay where they are.
void AddIterativeFlags(flags::Command command, IterativeFlags& flags);

/// The names of the flags that say something else than their defaults.
std::vector<std::string> ChangedFlags(const IterativeFlags& flags);

/// A message about fields of the settings ("iterative.relaxation"), with the flags that they are
/// here.
std::string InFlags(absl::string_view message);

/// What is said against settings, by whoever knows them or the scan they are for, as wrong usage of
/// the flags that they are here. Any other status as it is.
absl::Status AsFlags(const absl::Status& status);

/// "fdk" and the names of all algorithms.
std::vector<std::string> AlgorithmChoices();

/// Errors: INVALID_ARGUMENT (names, values).
absl::StatusOr<recon::IterativeSettings> ToSettings(const IterativeFlags& flags,
                                                    const std::string& algorithm,
                                                    ops::Precision precision);

}  // namespace isocenter::cli
