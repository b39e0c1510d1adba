#include "kernels/recon/iterative/settings.h"

#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace isocenter::recon {
namespace {

constexpr std::array<std::pair<Algorithm, absl::string_view>, 8> kNames{{
    {Algorithm::kSirt, "sirt"},
    {Algorithm::kSart, "sart"},
    {Algorithm::kOsSart, "os_sart"},
    {Algorithm::kCgls, "cgls"},
    {Algorithm::kLsqr, "lsqr"},
    {Algorithm::kOsSqs, "os_sqs"},
    {Algorithm::kAsdPocs, "asd_pocs"},
    {Algorithm::kFistaTv, "fista_tv"},
}};

template <class Value>
absl::Status OutOfRange(absl::string_view field, Value value, absl::string_view legal) {
  return absl::InvalidArgumentError(
      absl::StrCat("iterative.", field, " is ", value, "; legal is ", legal));
}

bool HasSubsets(Algorithm algorithm) {
  return algorithm == Algorithm::kOsSart || algorithm == Algorithm::kOsSqs ||
         algorithm == Algorithm::kAsdPocs;
}

bool HasMomentum(Algorithm algorithm) {
  return algorithm == Algorithm::kSirt || algorithm == Algorithm::kSart ||
         algorithm == Algorithm::kOsSart;
}

// Longer steps grow along the eigenvector of C Aᵀ R A whose eigenvalue is 1.
double LongestStep(double momentum) { return (2 + 2 * momentum) / (1 + 2 * momentum); }

bool HasUnmatchedForm(Algorithm algorithm) {
  return algorithm == Algorithm::kSirt || algorithm == Algorithm::kSart ||
         algorithm == Algorithm::kOsSart || algorithm == Algorithm::kAsdPocs;
}

bool HasStatisticalWeights(Algorithm algorithm) {
  return algorithm == Algorithm::kCgls || algorithm == Algorithm::kLsqr ||
         algorithm == Algorithm::kOsSqs;
}

bool HasPrior(Algorithm algorithm) {
  return algorithm == Algorithm::kOsSqs || algorithm == Algorithm::kAsdPocs ||
         algorithm == Algorithm::kFistaTv;
}

// What the algorithm has no use for is refused: who states it expects an effect.
absl::Status ValidateCombination(const IterativeSettings& settings) {
  const absl::string_view name = AlgorithmName(settings.algorithm);
  const auto refuse = [name](absl::string_view field, absl::string_view legal) {
    return absl::InvalidArgumentError(
        absl::StrCat("iterative.", field, " is not for ", name, "; legal is ", legal));
  };
  if (settings.subsets > 1 && !HasSubsets(settings.algorithm)) {
    return refuse("subsets", "0, or os_sart, os_sqs and asd_pocs");
  }
  if (!settings.matched && !HasUnmatchedForm(settings.algorithm)) {
    return refuse("matched = false", "true, or sirt, sart, os_sart and asd_pocs");
  }
  if (settings.momentum > 0 && !HasMomentum(settings.algorithm)) {
    return refuse("momentum", "0, or sirt, sart and os_sart");
  }
  if (settings.momentum > 0 && settings.relaxation >= LongestStep(settings.momentum)) {
    return OutOfRange("relaxation", settings.relaxation,
                      absl::StrCat("less than ", LongestStep(settings.momentum),
                                   " with a momentum of ", settings.momentum));
  }
  if (settings.early_passes > 0 && settings.algorithm != Algorithm::kOsSart) {
    return refuse("early_passes", "0, or os_sart");
  }
  if (settings.statistical_weights && !HasStatisticalWeights(settings.algorithm)) {
    return refuse("statistical_weights", "false, or cgls, lsqr and os_sqs");
  }
  if (settings.prior_strength > 0 && !HasPrior(settings.algorithm)) {
    return refuse("prior_strength", "0, or os_sqs, asd_pocs and fista_tv");
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view AlgorithmName(Algorithm algorithm) {
  for (const auto& [value, name] : kNames) {
    if (value == algorithm) return name;
  }
  return "";
}

absl::StatusOr<Algorithm> AlgorithmNamed(absl::string_view name) {
  std::string names;
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
    absl::StrAppend(&names, names.empty() ? "" : ", ", known);
  }
  return absl::InvalidArgumentError(absl::StrCat("no algorithm '", name, "'; there are: ", names));
}

absl::Status ValidateIterativeSettings(const IterativeSettings& settings) {
  if (AlgorithmName(settings.algorithm).empty()) {
    return OutOfRange("algorithm", static_cast<int>(settings.algorithm), "one of the enumeration");
  }
  if (settings.iterations < 1 || settings.iterations > 1000) {
    return OutOfRange("iterations", settings.iterations, "1 to 1000");
  }
  if (settings.early_passes < 0 || settings.early_passes > 64) {
    return OutOfRange("early_passes", settings.early_passes, "0 to 64");
  }
  if (settings.subsets < 0 || settings.subsets > 10000) {
    return OutOfRange("subsets", settings.subsets, "0 to 10000 and at most the number of views");
  }
  if (!(settings.relaxation > 0 && settings.relaxation < 2)) {
    return OutOfRange("relaxation", settings.relaxation, "more than 0, less than 2");
  }
  if (!(settings.relaxation_decay > 0 && settings.relaxation_decay <= 1)) {
    return OutOfRange("relaxation_decay", settings.relaxation_decay, "more than 0, at most 1");
  }
  if (!(settings.momentum >= 0 && settings.momentum <= 0.9)) {
    return OutOfRange("momentum", settings.momentum, "0 to 0.9");
  }
  if (!(settings.prior_strength >= 0 && settings.prior_strength <= 1000)) {
    return OutOfRange("prior_strength", settings.prior_strength, "0 to 1000");
  }
  if (!(settings.huber_delta_per_mm >= 1e-7 && settings.huber_delta_per_mm <= 1)) {
    return OutOfRange("huber_delta_per_mm", settings.huber_delta_per_mm, "1e-7 to 1");
  }
  if (settings.tv_steps < 1 || settings.tv_steps > 1000) {
    return OutOfRange("tv_steps", settings.tv_steps, "1 to 1000");
  }
  if (!(settings.stop_residual >= 0 && settings.stop_residual < 1)) {
    return OutOfRange("stop_residual", settings.stop_residual, "0 to less than 1");
  }
  if (settings.surroundings_factor != 0 &&
      (settings.surroundings_factor < 2 || settings.surroundings_factor > 16)) {
    return OutOfRange("surroundings_factor", settings.surroundings_factor, "0, or 2 to 16");
  }
  return ValidateCombination(settings);
}

}  // namespace isocenter::recon
