#include "kernels/calibrate/scatter/scatter_fit.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/LevenbergMarquardt>
#include <unsupported/Eigen/NumericalDiff>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"

namespace isocenter::calibrate {
namespace {

using Kernels = ops::ScatterKernels;

constexpr double kLeastSignal = 1e-6;  // what P is held at
constexpr int kParameters = 6;         // of a group; one more is for all
constexpr double kWorthAGroup = 0.9;

/// A number between two others, by a logistic function of a free one.
struct Bounded {
  double low, high;
  bool logarithmic = false;

  double At(double free) const {
    const double share = 1 / (1 + std::exp(-free));
    return logarithmic ? low * std::pow(high / low, share) : low + (high - low) * share;
  }
  double Free(double value) const {
    const double share = std::clamp(
        logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low),
        1e-6, 1 - 1e-6);
    return std::log(share / (1 - share));
  }
};

// Within what ops::CheckScatterKernels allows, and what kernels of water can be.
constexpr Bounded kAmplitude{1e-5, 10, true}, kAlpha{-2, 2}, kBeta{0, 4}, kNarrow{1, 200, true},
    kWide{10, 1000, true}, kShare{0, 1}, kGamma{0, 0.1};

Kernels KernelsOf(const Eigen::VectorXd& free, const std::vector<double>& from_mm, double mu) {
  Kernels kernels{.mu_water_per_mm = mu, .gamma_per_mm = kGamma.At(free[0])};
  const double* at = free.data() + 1;
  for (const double from : from_mm) {
    kernels.groups.push_back({.from_mm = from,
                              .amplitude = kAmplitude.At(at[0]),
                              .alpha = kAlpha.At(at[1]),
                              .beta = kBeta.At(at[2]),
                              .narrow_sigma_mm = kNarrow.At(at[3]),
                              .wide_sigma_mm = kWide.At(at[4]),
                              .wide_share = kShare.At(at[5])});
    at += kParameters;
  }
  return kernels;
}

/// The groups of `kernels`, or its last for those that it has not.
Eigen::VectorXd FreeOf(const Kernels& kernels, size_t groups) {
  Eigen::VectorXd free(1 + kParameters * groups);
  free[0] = kGamma.Free(kernels.gamma_per_mm);
  for (size_t g = 0; g < groups; ++g) {
    const Kernels::Group& group = kernels.groups[std::min(g, kernels.groups.size() - 1)];
    free.segment(1 + kParameters * g, kParameters) << kAmplitude.Free(group.amplitude),
        kAlpha.Free(group.alpha), kBeta.Free(group.beta), kNarrow.Free(group.narrow_sigma_mm),
        kWide.Free(group.wide_sigma_mm), kShare.Free(group.wide_share);
  }
  return free;
}

/// What an error of the scatter counts: relative to all that arrives it is one of the line
/// integral.
double Weight(const ScatterView& view, size_t block) {
  return 1 / std::max(kLeastSignal, view.primary[block] + view.scatter[block]);
}

struct Missed : Eigen::DenseFunctor<double> {
  const std::vector<ScatterView>& views;
  const CoarseShape& shape;
  const std::vector<double>& from_mm;
  double mu;

  Missed(const std::vector<ScatterView>& of, const CoarseShape& on, const std::vector<double>& from,
         double mu_water_per_mm)
      : DenseFunctor<double>(static_cast<int>(1 + kParameters * from.size()),
                             static_cast<int>(of.size() * on.blocks())),
        views(of),
        shape(on),
        from_mm(from),
        mu(mu_water_per_mm) {}
  int operator()(const InputType& free, ValueType& missed) const {
    const Kernels kernels = KernelsOf(free, from_mm, mu);
    Eigen::Index i = 0;
    for (const ScatterView& view : views) {
      const std::vector<double> predicted = PredictScatter(kernels, shape, view.primary);
      for (size_t b = 0; b < predicted.size(); ++b) {
        missed[i++] = Weight(view, b) * (predicted[b] - view.scatter[b]);
      }
    }
    return 0;
  }
};

Kernels FitGroups(const std::vector<ScatterView>& views, const CoarseShape& shape,
                  const std::vector<double>& from_mm, const Kernels& begin) {
  Eigen::VectorXd free = FreeOf(begin, from_mm.size());
  Eigen::NumericalDiff<Missed> missed(Missed(views, shape, from_mm, begin.mu_water_per_mm), 1e-10);
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Missed>> search(missed);
  search.setMaxfev(60 * static_cast<int>(free.size()));
  search.setXtol(1e-6);
  search.setFtol(1e-8);
  search.minimize(free);
  return KernelsOf(free, from_mm, begin.mu_water_per_mm);
}

double RootMeanSquareMissed(const std::vector<ScatterView>& views, const CoarseShape& shape,
                            const Kernels& kernels) {
  double squares = 0;
  for (const ScatterView& view : views) {
    const std::vector<double> predicted = PredictScatter(kernels, shape, view.primary);
    for (size_t b = 0; b < predicted.size(); ++b) {
      const double missed = Weight(view, b) * (predicted[b] - view.scatter[b]);
      squares += missed * missed;
    }
  }
  return std::sqrt(squares / static_cast<double>(views.size() * shape.blocks()));
}

absl::Status CheckViews(const std::vector<ScatterView>& views, const CoarseShape& shape) {
  if (views.empty() || views.size() > kMostScatterViews) {
    return absl::InvalidArgumentError(absl::StrCat("the number of views is ", views.size(),
                                                   "; legal is 1 to ", kMostScatterViews));
  }
  for (const ScatterView& view : views) {
    for (const std::vector<double>* blocks : {&view.primary, &view.scatter}) {
      if (blocks->size() == shape.blocks() &&
          std::all_of(blocks->begin(), blocks->end(), [](double b) { return std::isfinite(b); })) {
        continue;
      }
      return absl::InvalidArgumentError(
          absl::StrCat("a view has ", blocks->size(), " blocks; legal are ", shape.blocks(),
                       ", and a number in each: a block of defects alone has none"));
    }
  }
  return absl::OkStatus();
}

struct Measured {
  double thickest_mm = 0, largest_ratio = 0;
  double least_thickest_mm = std::numeric_limits<double>::infinity();  // of a view
  double scatter = 0, share = 0;  // root mean squares, of air and of all that arrives
};

Measured Measure(const std::vector<ScatterView>& views, double mu) {
  Measured measured;
  double squares = 0, shares = 0;
  size_t blocks = 0;
  for (const ScatterView& view : views) {
    double thickest_mm = 0;
    for (size_t b = 0; b < view.primary.size(); ++b) {
      const double primary = std::max(kLeastSignal, view.primary[b]);
      thickest_mm = std::max(thickest_mm, -std::log(primary) / mu);
      measured.largest_ratio = std::max(measured.largest_ratio, view.scatter[b] / primary);
      const double share = Weight(view, b) * view.scatter[b];
      squares += view.scatter[b] * view.scatter[b];
      shares += share * share;
      ++blocks;
    }
    measured.thickest_mm = std::max(measured.thickest_mm, thickest_mm);
    measured.least_thickest_mm = std::min(measured.least_thickest_mm, thickest_mm);
  }
  measured.scatter = std::sqrt(squares / static_cast<double>(blocks));
  measured.share = std::sqrt(shares / static_cast<double>(blocks));
  return measured;
}

}  // namespace

std::vector<double> PredictScatter(const ops::ScatterKernels& kernels, const CoarseShape& shape,
                                   const std::vector<double>& primary) {
  const size_t blocks = shape.blocks();
  std::vector<double> thickness(blocks), scatter(blocks);
  for (size_t b = 0; b < blocks; ++b) {
    const double p = std::max(kLeastSignal, primary[b]);
    thickness[b] = std::max(0.0, -std::log(p)) / kernels.mu_water_per_mm;
  }
  for (size_t g = 0; g < kernels.groups.size(); ++g) {
    const ops::ScatterKernels::Group& group = kernels.groups[g];
    std::vector<double> source(blocks), weighted(blocks);
    for (size_t b = 0; b < blocks; ++b) {
      const bool last = g + 1 == kernels.groups.size();
      const bool of_group =
          thickness[b] >= group.from_mm && (last || thickness[b] < kernels.groups[g + 1].from_mm);
      if (!of_group || thickness[b] == 0) continue;
      const double path = thickness[b] * kernels.mu_water_per_mm;
      source[b] = group.amplitude * std::exp(-group.alpha * path) * std::pow(path, group.beta);
      weighted[b] = thickness[b] * source[b];
    }
    for (const auto& [sigma, share] : {std::pair{group.narrow_sigma_mm, 1 - group.wide_share},
                                       {group.wide_sigma_mm, group.wide_share}}) {
      const CoarseGaussian kernel(shape, sigma);
      const std::vector<double> plain = kernel.Spread(source), by_mm = kernel.Spread(weighted);
      for (size_t b = 0; b < blocks; ++b) {
        const double falls = 1 - kernels.gamma_per_mm * thickness[b];
        scatter[b] += share * (falls * plain[b] + kernels.gamma_per_mm * by_mm[b]);
      }
    }
  }
  for (double& value : scatter) value = std::max(0.0, value);
  return scatter;
}

absl::StatusOr<ScatterFit> FitScatter(const std::vector<ScatterView>& views,
                                      const CoarseShape& shape, double mu_water_per_mm) {
  ISO_RETURN_IF_ERROR(CheckViews(views, shape));
  // Published kernels of a head at 120 kV are of this order.
  Kernels best{.groups = {{.amplitude = 0.1,
                           .alpha = 0.5,
                           .beta = 0.8,
                           .narrow_sigma_mm = 30,
                           .wide_sigma_mm = 100,
                           .wide_share = 0.5}},
               .mu_water_per_mm = mu_water_per_mm,
               .gamma_per_mm = 0.002};
  ISO_RETURN_IF_ERROR(ops::CheckScatterKernels(best));
  const Measured measured = Measure(views, mu_water_per_mm);
  const Figure scatter{"scatter", 100 * measured.scatter, "% of air",
                       AtLeast(kLeastScatterPercent)};
  if (scatter.value < kLeastScatterPercent) {
    return NotGoodEnough(scatter, absl::StrFormat("%g %% at least", kLeastScatterPercent),
                         "do both acquisitions show the object, and one its scatter?");
  }
  double least = 0;
  for (int groups = 1; groups <= kMostFittedGroups; ++groups) {
    std::vector<double> from_mm;
    for (int g = 0; g < groups; ++g) from_mm.push_back(measured.thickest_mm * g / groups);
    const Kernels kernels = FitGroups(views, shape, from_mm, best);
    const double missed = RootMeanSquareMissed(views, shape, kernels);
    if (groups > 1 && missed > kWorthAGroup * least) continue;
    least = missed;
    best = kernels;
  }
  best.thickest_mm = std::min(measured.thickest_mm, ops::kMostFittedMm);
  ISO_RETURN_IF_ERROR(ops::CheckScatterKernels(best));
  const Figure missed{"scatter that the kernels miss", 100 * least / measured.share, "%",
                      AtMost(kMostScatterMissedPercent)};
  ScatterFit fit{.kernels = best, .missed = PredictScatter(best, shape, views[0].primary)};
  for (size_t b = 0; b < fit.missed.size(); ++b) fit.missed[b] -= views[0].scatter[b];
  fit.figures = {scatter,
                 {"largest ratio of scatter to primary", measured.largest_ratio, ""},
                 missed,
                 {"groups of kernels", static_cast<double>(best.groups.size()), ""},
                 {"thickest water", measured.thickest_mm, "mm"}};
  if (measured.least_thickest_mm > kOneThickness * measured.thickest_mm) {
    fit.warnings.push_back(
        absl::StrFormat("all objects are as thick as %.0f mm of water: in thinner and thicker ones "
                        "HU may be off by 50 and more; give one of another thickness, too",
                        measured.thickest_mm));
  }
  if (missed.value <= kMostScatterMissedPercent) return fit;
  return NotGoodEnough(missed, absl::StrFormat("at most %g %%", kMostScatterMissedPercent),
                       "does one acquisition have the other's primary, and no scatter?");
}

}  // namespace isocenter::calibrate
