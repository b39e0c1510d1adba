#include "kernels/recon/iterative/settings.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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
std::string OutOfRange(absl::string_view field, Value value, absl::string_view legal) {
  return absl::StrCat("iterative.", field, " is ", value, "; legal is ", legal);
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
void CheckCombination(const IterativeSettings& settings, std::vector<std::string>& wrong) {
  const absl::string_view name = AlgorithmName(settings.algorithm);
  const auto refuse = [&](bool refused, absl::string_view field, absl::string_view legal) {
    if (!refused) return;
    wrong.push_back(absl::StrCat("iterative.", field, " is not for ", name, "; legal is ", legal));
  };
  const Algorithm algorithm = settings.algorithm;
  refuse(settings.subsets > 1 && !HasSubsets(algorithm), "subsets",
         "0, or os_sart, os_sqs and asd_pocs");
  refuse(!settings.matched && !HasUnmatchedForm(algorithm), "matched = false",
         "sirt, sart, os_sart and asd_pocs");
  refuse(settings.momentum > 0 && !HasMomentum(algorithm), "momentum",
         "0, or sirt, sart and os_sart");
  if (settings.momentum > 0 && settings.relaxation >= LongestStep(settings.momentum)) {
    wrong.push_back(OutOfRange("relaxation", settings.relaxation,
                               absl::StrCat("less than ", LongestStep(settings.momentum),
                                            " with a momentum of ", settings.momentum)));
  }
  refuse(settings.early_passes > 0 && algorithm != Algorithm::kOsSart, "early_passes",
         "0, or os_sart");
  refuse(settings.statistical_weights && !HasStatisticalWeights(algorithm), "statistical_weights",
         "false, or cgls, lsqr and os_sqs");
  refuse(settings.prior_strength > 0 && !HasPrior(algorithm), "prior_strength",
         "0, or os_sqs, asd_pocs and fista_tv");
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
  std::vector<std::string> wrong;
  const auto check = [&](bool legal, absl::string_view field, auto value, absl::string_view range) {
    if (!legal) wrong.push_back(OutOfRange(field, value, range));
  };
  const IterativeSettings& s = settings;
  check(!AlgorithmName(s.algorithm).empty(), "algorithm", static_cast<int>(s.algorithm),
        "one of the enumeration");
  check(s.iterations >= 1 && s.iterations <= 1000, "iterations", s.iterations, "1 to 1000");
  check(s.early_passes >= 0 && s.early_passes <= 64, "early_passes", s.early_passes, "0 to 64");
  check(s.subsets >= 0 && s.subsets <= 10000, "subsets", s.subsets,
        "0 to 10000 and at most the number of views");
  check(s.relaxation > 0 && s.relaxation < 2, "relaxation", s.relaxation,
        "more than 0, less than 2");
  check(s.relaxation_decay > 0 && s.relaxation_decay <= 1, "relaxation_decay", s.relaxation_decay,
        "more than 0, at most 1");
  check(s.momentum >= 0 && s.momentum <= 0.9, "momentum", s.momentum, "0 to 0.9");
  check(s.prior_strength >= 0 && s.prior_strength <= 1000, "prior_strength", s.prior_strength,
        "0 to 1000");
  check(s.huber_delta_per_mm >= 1e-7 && s.huber_delta_per_mm <= 1, "huber_delta_per_mm",
        s.huber_delta_per_mm, "1e-7 to 1");
  check(s.tv_steps >= 1 && s.tv_steps <= 1000, "tv_steps", s.tv_steps, "1 to 1000");
  check(s.stop_residual >= 0 && s.stop_residual < 1, "stop_residual", s.stop_residual,
        "0 to less than 1");
  check(s.surroundings_factor == 0 || (s.surroundings_factor >= 2 && s.surroundings_factor <= 16),
        "surroundings_factor", s.surroundings_factor, "0, or 2 to 16");
  if (wrong.empty()) CheckCombination(settings, wrong);
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(wrong, "\n"));
}

}  // namespace isocenter::recon
