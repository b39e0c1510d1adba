#include "kernels/calibrate/glare_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/calibrate/coarse_frame.h"
#include "kernels/calibrate/robust.h"
#include "kernels/ops/corrections.h"

namespace isocenter::calibrate {
namespace {

constexpr int kBlock = 4;         // pixels: finer than the correction's, to see near edges
constexpr double kWiderBy = 1.3;  // from width to width that is tried
constexpr int kRounds = 3;        // of light's level, which is known better each time

/// What is seen of the shadow on blocks.
struct Shadow {
  std::vector<double> light;         // without glare: 1, behind what is opaque 0
  std::vector<double> seen;          // of air
  std::vector<size_t> dark, bright;  // blocks that no edge is near
};

/// Whether the block and its neighbours are all `light`.
bool IsWithin(const std::vector<double>& blocks, const CoarseShape& shape, int u, int v,
              double light) {
  for (int y = std::max(v - 1, 0); y <= std::min(v + 1, shape.rows - 1); ++y) {
    for (int x = std::max(u - 1, 0); x <= std::min(u + 1, shape.columns - 1); ++x) {
      if (blocks[size_t(y) * shape.columns + x] != light) return false;
    }
  }
  return true;
}

absl::StatusOr<Shadow> FindShadow(std::span<const float> frame, const Detector& detector) {
  const CoarseShape shape(detector, kBlock);
  Shadow shadow;
  shadow.seen = BlockMeans(frame, detector, kBlock);
  std::vector<double> sorted;
  for (const double mean : shadow.seen) {
    if (std::isfinite(mean)) sorted.push_back(mean);
  }
  std::sort(sorted.begin(), sorted.end());
  // Of blocks in the light, if there are as many as are asked for.
  const double level = sorted.empty() ? 0 : sorted[sorted.size() - 1 - sorted.size() / 20];
  if (!(level >= ops::kLeastDose && level <= ops::kMostDose)) {
    return NotGoodEnough({"the light beside the shadow", level, "of the empty beam"},
                         absl::StrCat(ops::kLeastDose, " to ", ops::kMostDose),
                         "the beam must be that of the flat frames");
  }
  std::vector<float> light(frame.size());
  for (size_t i = 0; i < frame.size(); ++i) {
    light[i] = std::isnan(frame[i]) ? frame[i] : (frame[i] > level / 2 ? 1.f : 0.f);
  }
  shadow.light = BlockMeans(light, detector, kBlock);
  for (int v = 0; v < shape.rows; ++v) {
    for (int u = 0; u < shape.columns; ++u) {
      const size_t block = size_t(v) * shape.columns + u;
      if (IsWithin(shadow.light, shape, u, v, 0)) shadow.dark.push_back(block);
      if (IsWithin(shadow.light, shape, u, v, 1)) shadow.bright.push_back(block);
    }
  }
  for (size_t i = 0; i < shadow.light.size(); ++i) {
    // Without a good pixel: as its surroundings are, mostly.
    if (std::isnan(shadow.light[i])) shadow.light[i] = 1;
    shadow.seen[i] /= level;
  }
  for (const auto& [name, blocks] : {std::pair("blocks in the shadow", &shadow.dark),
                                     std::pair("blocks in the light", &shadow.bright)}) {
    if (blocks->size() >= kLeastGlareBlocks) continue;
    return NotGoodEnough({name, static_cast<double>(blocks->size()), ""},
                         absl::StrCat(kLeastGlareBlocks, " at least"),
                         "take a disk or an edge of lead that shades 50 x 50 pixels or more, "
                         "and the beam beside it");
  }
  return shadow;
}

std::vector<double> WidthsFor(const Detector& detector) {
  const double most =
      std::max(detector.columns * detector.pitch_u_mm, detector.rows * detector.pitch_v_mm) / 3;
  // Just above what the correction leaves out.
  double sigma = 0.6 * ops::kCoarseBlock * std::max(detector.pitch_u_mm, detector.pitch_v_mm);
  std::vector<double> widths;
  for (; sigma <= most; sigma *= kWiderBy) widths.push_back(sigma);
  return widths;
}

/// Least squares of what is seen less the light, by one share for each width and the light's level.
class Fit {
 public:
  Fit(const CoarseShape& shape, const std::vector<double>& widths, const Shadow& shadow)
      : widths_(widths) {
    blocks_ = shadow.dark;
    blocks_.insert(blocks_.end(), shadow.bright.begin(), shadow.bright.end());
    const auto rows = static_cast<Eigen::Index>(blocks_.size());
    const auto level = static_cast<Eigen::Index>(widths.size());
    columns_.resize(rows, level + 1);
    target_.resize(rows);
    const std::vector<double> ones(shape.blocks(), 1);
    for (Eigen::Index n = 0; n < level; ++n) {
      const CoarseGaussian gaussian(shape, widths[n]);
      const std::vector<double> of_light = gaussian.Spread(shadow.light);
      const std::vector<double> of_air = gaussian.Spread(ones);
      for (Eigen::Index i = 0; i < rows; ++i) {
        const size_t b = blocks_[i];
        columns_(i, n) = of_light[b] - shadow.light[b] + shadow.seen[b] * (1 - of_air[b]);
      }
    }
    for (Eigen::Index i = 0; i < rows; ++i) {
      columns_(i, level) = -shadow.seen[blocks_[i]];
      target_(i) = shadow.seen[blocks_[i]] - shadow.light[blocks_[i]];
    }
    products_ = columns_.transpose() * columns_;
    onto_ = columns_.transpose() * target_;
  }

  struct Solution {
    std::vector<ops::SpreadTerm> terms;
    double brighter = 0;  // the level that was taken is to be so much higher
    std::vector<double> left;
    double criterion = std::numeric_limits<double>::max();
  };

  Solution Best() const {
    Solution best{.left = {target_.begin(), target_.end()}};  // without any
    std::vector<int> chosen;
    TryMore(chosen, best);
    return best;
  }

  const std::vector<size_t>& blocks() const { return blocks_; }

 private:
  // All sets of widths that begin with `chosen`.
  void TryMore(std::vector<int>& chosen, Solution& best) const {
    if (!chosen.empty()) Try(chosen, best);
    if (static_cast<int>(chosen.size()) == kMostFittedGlareTerms) return;
    for (int n = chosen.empty() ? 0 : chosen.back() + 1; n < static_cast<int>(widths_.size());
         ++n) {
      chosen.push_back(n);
      TryMore(chosen, best);
      chosen.pop_back();
    }
  }

  void Try(const std::vector<int>& chosen, Solution& best) const {
    std::vector<int> used = chosen;
    used.push_back(static_cast<int>(widths_.size()));
    const auto count = static_cast<Eigen::Index>(used.size());
    Eigen::MatrixXd products(count, count);
    Eigen::VectorXd onto(count);
    for (Eigen::Index i = 0; i < count; ++i) {
      onto(i) = onto_(used[i]);
      for (Eigen::Index j = 0; j < count; ++j) products(i, j) = products_(used[i], used[j]);
    }
    const Eigen::VectorXd shares = products.ldlt().solve(onto);
    for (size_t n = 0; n < chosen.size(); ++n) {
      if (!(shares(static_cast<Eigen::Index>(n)) > 0)) return;
    }
    Eigen::VectorXd left = target_;
    for (Eigen::Index i = 0; i < count; ++i) left -= shares(i) * columns_.col(used[i]);
    const auto blocks = static_cast<double>(blocks_.size());
    const double squares = std::max(left.squaredNorm(), std::numeric_limits<double>::min());
    const double criterion =
        blocks * std::log(squares / blocks) + static_cast<double>(count) * std::log(blocks);
    if (criterion >= best.criterion) return;
    best = {
        .brighter = shares(count - 1), .left = {left.begin(), left.end()}, .criterion = criterion};
    for (size_t n = 0; n < chosen.size(); ++n) {
      best.terms.push_back({shares(static_cast<Eigen::Index>(n)), widths_[chosen[n]]});
    }
  }

  const std::vector<double>& widths_;
  std::vector<size_t> blocks_;
  Eigen::MatrixXd columns_;  // [block][width], and the level
  Eigen::VectorXd target_;
  Eigen::MatrixXd products_;
  Eigen::VectorXd onto_;
};

double RootMeanSquare(const std::vector<double>& values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return std::sqrt(sum / static_cast<double>(count));
}

/// The dark blocks are the first of those that were fitted.
Figures FiguresOf(const Shadow& shadow, const Fit::Solution& solution) {
  std::vector<double> signal;
  for (const size_t block : shadow.dark) signal.push_back(shadow.seen[block]);
  const size_t dark = signal.size();
  double mean = 0, largest = 0, share = 0;
  for (size_t i = 0; i < dark; ++i) {
    mean += signal[i] / static_cast<double>(dark);
    largest = std::max(largest, std::abs(solution.left[i]));
  }
  for (const ops::SpreadTerm& term : solution.terms) share += term.share;
  const double before = RootMeanSquare(signal, dark), after = RootMeanSquare(solution.left, dark);
  return {{"signal in the shadow", 100 * mean, "% of air", AtLeast(kLeastGlarePercent)},
          {"of which the fit explains", 100 * (1 - after / before), "%",
           AtLeast(kLeastGlareRemovedPercent)},
          {"largest signal left in the shadow", 100 * largest, "% of air"},
          {"share that spreads", 100 * share, "%"},
          {"widest sigma", solution.terms.empty() ? 0 : solution.terms.back().sigma_mm, "mm"},
          {"blocks in the shadow", static_cast<double>(dark), "", AtLeast(kLeastGlareBlocks)}};
}

absl::Status CheckFit(const Figures& figures) {
  if (!(figures[0].value >= kLeastGlarePercent)) {
    return NotGoodEnough(figures[0], absl::StrCat(kLeastGlarePercent, " at least"),
                         "there is no glare to correct, or the offsets have drifted");
  }
  if (!(figures[1].value >= kLeastGlareRemovedPercent)) {
    return NotGoodEnough(figures[1], absl::StrCat(kLeastGlareRemovedPercent, " % at least"),
                         "something scatters in the beam, the object lets X-rays through, or the "
                         "glare is narrower than blocks of 16 pixels");
  }
  return absl::OkStatus();
}

std::vector<GlareFit::Point> ProfileOf(const CoarseShape& shape, const Shadow& shadow,
                                       const Fit& fit, const std::vector<double>& left) {
  std::vector<int> dark(shape.rows);
  for (const size_t block : shadow.dark) ++dark[block / shape.columns];
  const auto row = static_cast<size_t>(std::max_element(dark.begin(), dark.end()) - dark.begin());
  std::vector<GlareFit::Point> profile;
  for (size_t i = 0; i < fit.blocks().size(); ++i) {
    const size_t block = fit.blocks()[i];
    if (block / shape.columns != row) continue;
    profile.push_back({static_cast<double>(block % shape.columns) * shape.pitch_u_mm,
                       shadow.seen[block], left[i]});
  }
  std::sort(profile.begin(), profile.end(),
            [](const auto& a, const auto& b) { return a.mm < b.mm; });
  return profile;
}

}  // namespace

absl::StatusOr<GlareFit> FitGlare(std::span<const float> frame, const Detector& detector) {
  const CoarseShape shape(detector, kBlock);
  ISO_ASSIGN_OR_RETURN(Shadow shadow, FindShadow(frame, detector));
  const std::vector<double> widths = WidthsFor(detector);
  Fit::Solution solution;
  for (int round = 0; round < kRounds; ++round) {
    const double brighter = 1 + solution.brighter;
    for (double& seen : shadow.seen) seen *= brighter;
    solution = Fit(shape, widths, shadow).Best();
  }
  const Figures figures = FiguresOf(shadow, solution);
  ISO_RETURN_IF_ERROR(CheckFit(figures));
  ISO_RETURN_IF_ERROR(ops::CheckSpread(solution.terms));
  return GlareFit{.terms = solution.terms,
                  .figures = figures,
                  .profile = ProfileOf(shape, shadow, Fit(shape, widths, shadow), solution.left)};
}

}  // namespace isocenter::calibrate
