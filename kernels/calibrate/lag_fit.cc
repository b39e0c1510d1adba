#include "kernels/calibrate/lag_fit.h"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>
#include <unsupported/Eigen/LevenbergMarquardt>
#include <unsupported/Eigen/NumericalDiff>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::calibrate {
namespace {

using Terms = std::vector<ops::LagTerm>;

constexpr double kFastest = 0.6;  // release of the first term to begin with

/// What `terms` leave of the dark frames of a sweep.
void LeftInTheDark(std::span<const double> signals, int flat_frames, const Terms& terms,
                   double* left) {
  std::vector<double> kept(terms.size(), 0);
  double prompt = 1;
  for (const ops::LagTerm& term : terms) prompt -= term.share;
  for (size_t k = 0; k < signals.size(); ++k) {
    double released = 0;
    for (size_t n = 0; n < terms.size(); ++n) released += terms[n].release * kept[n];
    const bool lit = static_cast<int>(k) < flat_frames;
    const double exposed = lit ? (signals[k] - released) / prompt : 0;
    if (!lit) *left++ = signals[k] - released;
    for (size_t n = 0; n < terms.size(); ++n) {
      kept[n] = (1 - terms[n].release) * kept[n] + terms[n].share * exposed;
    }
  }
}

/// Two unbounded parameters for each term: log(share), and the release's logit.
Terms TermsOf(const Eigen::VectorXd& parameters) {
  Terms terms(parameters.size() / 2);
  for (size_t n = 0; n < terms.size(); ++n) {
    terms[n] = {
        .share = std::min(0.9 / static_cast<double>(terms.size()), std::exp(parameters[2 * n])),
        .release = 1 / (1 + std::exp(-parameters[2 * n + 1]))};
  }
  return terms;
}

struct Residual : Eigen::DenseFunctor<double> {
  std::span<const double> signals;
  int flat_frames;

  Residual(std::span<const double> of, int flat, int inputs)
      : DenseFunctor<double>(inputs, static_cast<int>(of.size()) - flat),
        signals(of),
        flat_frames(flat) {}
  int operator()(const InputType& parameters, ValueType& left) const {
    LeftInTheDark(signals, flat_frames, TermsOf(parameters), left.data());
    return 0;
  }
};

double Squares(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

/// Terms that decay from one frame to the whole sweep, with equal shares to begin with.
Terms FitTerms(std::span<const double> signals, int flat_frames, int terms) {
  const int dark_frames = static_cast<int>(signals.size()) - flat_frames;
  const double slowest = 2.0 / dark_frames;
  Eigen::VectorXd parameters(2 * terms);
  for (int n = 0; n < terms; ++n) {
    const double along = terms == 1 ? 0.5 : n / (terms - 1.0);
    const double release = kFastest * std::pow(slowest / kFastest, along);
    parameters[2 * n] = std::log(std::max(1e-6, signals[flat_frames] / terms));
    parameters[2 * n + 1] = std::log(release / (1 - release));
  }
  Eigen::NumericalDiff<Residual> residual(Residual(signals, flat_frames, 2 * terms));
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Residual>> search(residual);
  search.setMaxfev(4000);
  search.setXtol(1e-10);
  search.setFtol(1e-14);
  search.minimize(parameters);
  Terms fitted = TermsOf(parameters);
  std::sort(fitted.begin(), fitted.end(),
            [](const auto& a, const auto& b) { return a.release > b.release; });
  return fitted;
}

absl::StatusOr<int> FindStep(std::span<const double> signals) {
  const double half = signals.empty() ? 0 : *std::max_element(signals.begin(), signals.end()) / 2;
  const auto lit = [half](double signal) { return signal > half; };
  const auto step = std::find_if_not(signals.begin(), signals.end(), lit);
  const auto flat = step - signals.begin();
  const auto dark = signals.end() - step;
  if (flat < kLeastStepFrames || dark < kLeastStepFrames) {
    return absl::InvalidArgumentError(absl::StrCat("the step sweep has ", flat, " flat and then ",
                                                   dark, " dark frames; legal is ",
                                                   kLeastStepFrames, " of each at least"));
  }
  const auto again = std::find_if(step, signals.end(), lit);
  if (again == signals.end()) return static_cast<int>(flat);
  return absl::InvalidArgumentError(
      absl::StrCat("frame ", again - signals.begin(),
                   " of the step sweep is lit after dark ones; legal are "
                   "flat frames and then dark ones"));
}

absl::Status CheckFit(const LagFit& fit, const Figure& first, const Figure& removed) {
  if (first.value < kLeastLagPercent) {
    return NotGoodEnough(first, absl::StrFormat("%g %% at least", kLeastLagPercent),
                         "there is no lag to correct, or the sweep began after it had decayed");
  }
  if (removed.value < kLeastLagRemovedPercent) {
    return NotGoodEnough(removed, absl::StrFormat("%g %% at least", kLeastLagRemovedPercent),
                         "the offsets may have drifted, or the lag is no sum of exponentials");
  }
  const Figure slowest{"the slowest decay", 1 / fit.terms.back().release, "frames"};
  const size_t dark_frames = fit.residual.size();
  if (slowest.value > static_cast<double>(dark_frames)) {
    return NotGoodEnough(slowest, absl::StrCat("at most ", dark_frames),
                         "a sweep with more dark frames would see its end");
  }
  return ops::CheckLag(fit.terms);
}

}  // namespace

double MeanSignal(std::span<const uint16_t> counts, const ops::PixelResponse& response,
                  const ops::DefectMap& defects) {
  assert(counts.size() == response.air_counts.size());
  double above = 0, air = 0;
  auto defect = defects.pixels.begin();
  for (size_t i = 0; i < counts.size(); ++i) {
    if (defect != defects.pixels.end() && *defect == static_cast<int32_t>(i)) {
      ++defect;
      continue;
    }
    above += static_cast<double>(counts[i]) - response.offset_counts[i];
    air += response.air_counts[i];
  }
  return air > 0 ? above / air : 0;
}

absl::StatusOr<LagFit> FitLag(std::span<const double> signals) {
  LagFit best;
  ISO_ASSIGN_OR_RETURN(best.flat_frames, FindStep(signals));
  const std::span<const double> dark = signals.subspan(best.flat_frames);
  const auto frames = static_cast<double>(dark.size());
  double least = std::numeric_limits<double>::max();
  for (int terms = 1; terms <= kMostFittedLagTerms; ++terms) {
    const Terms fitted = FitTerms(signals, best.flat_frames, terms);
    if (!ops::CheckLag(fitted).ok()) continue;
    std::vector<double> residual(dark.size());
    LeftInTheDark(signals, best.flat_frames, fitted, residual.data());
    const double squares = std::max(Squares(residual), std::numeric_limits<double>::min());
    const double criterion = frames * std::log(squares / frames) + 2 * terms * std::log(frames);
    if (criterion >= least) continue;
    least = criterion;
    best.terms = fitted;
    best.residual = residual;
  }
  if (best.terms.empty()) {
    return absl::FailedPreconditionError("no sum of exponentials describes the step sweep");
  }
  const double before = signals[best.flat_frames - 1];
  const auto largest =
      std::max_element(best.residual.begin(), best.residual.end(),
                       [](double a, double b) { return std::abs(a) < std::abs(b); });
  const Figure first{"lag in the first dark frame", 100 * dark[0] / before, "%",
                     AtLeast(kLeastLagPercent)};
  const Figure removed{"lag removed", 100 * (1 - std::sqrt(Squares(best.residual) / Squares(dark))),
                       "%", AtLeast(kLeastLagRemovedPercent)};
  best.figures = {first,
                  removed,
                  {"largest lag left", 100 * std::abs(*largest) / before, "%"},
                  {"terms of lag", static_cast<double>(best.terms.size()), ""},
                  {"slowest decay", 1 / best.terms.back().release, "frames",
                   AtMost(static_cast<double>(best.residual.size()))}};
  ISO_RETURN_IF_ERROR(CheckFit(best, first, removed));
  return best;
}

}  // namespace isocenter::calibrate
