#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "kernels/ops/corrections.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

enum class State { kGood, kDefective, kOverexposed };

/// Squares of line integrals as a line over the distance from the end of a run, into the object.
struct Edge {
  double at_end = 0, slope = 0;

  /// At a distance from the end into the run.
  double LineIntegral(double distance) const {
    return std::sqrt(std::max(0.0, at_end - slope * distance));
  }
};

class RecoverOverexposedPlain final : public ops::RecoverOverexposed {
 public:
  explicit RecoverOverexposedPlain(const ops::Calibration& calibration)
      : RecoverOverexposed(calibration.detector),
        response_(*calibration.response),
        fit_(ops::OverexposedFit(detector())),
        defective_(size_t(detector().rows) * detector().columns) {
    for (const int32_t pixel : calibration.defects.pixels) defective_[pixel] = true;
  }

 private:
  absl::Status DoRun(std::span<const float> given, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    if (response_.full_scale_counts == 0) return absl::OkStatus();
    for (size_t view = 0; view < given.size(); ++view) {
      if (given[view] == 0) continue;
      for (int v = 0; v < detector().rows; ++v) {
        RecoverRow(v, given[view], stack->view().row(static_cast<int64_t>(view), v));
      }
    }
    return absl::OkStatus();
  }

  State StateOf(int v, int u, double value) const {
    const size_t pixel = size_t(v) * detector().columns + u;
    if (defective_[pixel]) return State::kDefective;
    // Half a count below: readings are whole numbers.
    const double counts =
        value * response_.air_counts[pixel] + double{response_.offset_counts[pixel]};
    return counts > response_.full_scale_counts - 0.5 ? State::kOverexposed : State::kGood;
  }

  void RecoverRow(int v, double dose, double* row) const {
    const int columns = detector().columns;
    std::vector<State> states(columns);
    for (int u = 0; u < columns; ++u) states[u] = StateOf(v, u, row[u]);
    for (int first = 0; first < columns; ++first) {
      if (states[first] == State::kGood) continue;
      int last = first;
      while (last + 1 < columns && states[last + 1] != State::kGood) ++last;
      const auto before = EdgeOf(states, row, dose, first, -1);
      const auto after = EdgeOf(states, row, dose, last, 1);
      for (int u = first; u <= last; ++u) {
        if (states[u] != State::kOverexposed) continue;
        double p = 0;
        if (before) p = std::max(p, before->LineIntegral(u - first));
        if (after) p = std::max(p, after->LineIntegral(last - u));
        row[u] = std::max(row[u], dose * std::exp(-p));
      }
      first = last;
    }
  }

  // Of the good pixels from `end` of a run on in `direction`; none where there is none.
  std::optional<Edge> EdgeOf(const std::vector<State>& states, const double* row, double dose,
                             int end, int direction) const {
    std::vector<double> distances, squares;
    for (int s = 1; s <= 2 * fit_; ++s) {
      const int u = end + s * direction;
      if (u < 0 || u >= detector().columns || states[u] == State::kOverexposed) break;
      if (states[u] == State::kDefective) continue;
      const double p = row[u] > 0
                           ? std::clamp(-std::log(row[u] / dose), 0.0, ops::kLongestLineIntegral)
                           : ops::kLongestLineIntegral;
      distances.push_back(s);
      squares.push_back(p * p);
      if (static_cast<int>(distances.size()) == fit_) break;
    }
    if (distances.empty()) return std::nullopt;
    const auto n = static_cast<double>(distances.size());
    double mean_s = 0, mean_q = 0, covariance = 0, variance = 0;
    for (size_t i = 0; i < distances.size(); ++i) {
      mean_s += distances[i] / n;
      mean_q += squares[i] / n;
    }
    for (size_t i = 0; i < distances.size(); ++i) {
      covariance += (distances[i] - mean_s) * (squares[i] - mean_q);
      variance += (distances[i] - mean_s) * (distances[i] - mean_s);
    }
    if (!(covariance > 0)) return Edge{.at_end = mean_q};
    const double slope = covariance / variance;
    return Edge{.at_end = mean_q - slope * mean_s, .slope = slope};
  }

  const ops::PixelResponse response_;
  const int fit_;  // pixels
  std::vector<bool> defective_;
};

}  // namespace

std::unique_ptr<ops::RecoverOverexposed> NewRecoverOverexposed(
    const ops::Calibration& calibration) {
  return std::make_unique<RecoverOverexposedPlain>(calibration);
}

}  // namespace isocenter::reference
