#include "kernels/geometry/phases/phase_signal.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace isocenter {
namespace {

constexpr double kFewestFramesOfCycle = 4;

struct Levels {
  float low = 0, high = 0;  // below the one a peak is over, above the other it has begun
};

Levels LevelsOf(std::span<const float> signal) {
  std::vector<float> sorted(signal.begin(), signal.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t cut = sorted.size() / 20;
  const float least = sorted[cut], most = sorted[sorted.size() - 1 - cut];
  return {.low = least + 0.25F * (most - least), .high = least + 0.75F * (most - least)};
}

// Where a parabola through three numbers is greatest, beside the middle one.
double Vertex(double before, double here, double after) {
  const double bend = before - 2 * here + after;
  return bend < 0 ? std::clamp(0.5 * (before - after) / bend, -0.5, 0.5) : 0;
}

// A peak whose greatest number is the first or the last frame's may go on outside: it is none.
std::vector<double> PeaksOf(std::span<const float> signal) {
  const Levels levels = LevelsOf(signal);
  std::vector<double> peaks;
  if (!(levels.high > levels.low)) return peaks;
  size_t best = 0;
  bool above = false;
  const auto end_peak = [&] {
    if (above && best > 0 && best + 1 < signal.size()) {
      peaks.push_back(double(best) + Vertex(signal[best - 1], signal[best], signal[best + 1]));
    }
    above = false;
  };
  for (size_t i = 0; i < signal.size(); ++i) {
    if (signal[i] < levels.low) end_peak();
    if (signal[i] > levels.high && (!above || signal[i] > signal[best])) {
      above = true;
      best = i;
    }
  }
  end_peak();
  return peaks;
}

}  // namespace

absl::StatusOr<SignalPhases> PhasesOfSignal(std::span<const float> signal) {
  for (size_t i = 0; i < signal.size(); ++i) {
    if (!std::isfinite(signal[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("the signal of frame ", i, " is ", signal[i], "; legal are finite numbers"));
    }
  }
  SignalPhases result;
  if (!signal.empty()) result.peaks = PeaksOf(signal);
  const std::vector<double>& peaks = result.peaks;
  if (peaks.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat("the signal of ", signal.size(), " frames has ",
                                                   peaks.size(), " peaks; legal is 2 or more"));
  }
  result.shortest_cycle = result.longest_cycle = peaks[1] - peaks[0];
  for (size_t k = 1; k < peaks.size(); ++k) {
    result.shortest_cycle = std::min(result.shortest_cycle, peaks[k] - peaks[k - 1]);
    result.longest_cycle = std::max(result.longest_cycle, peaks[k] - peaks[k - 1]);
  }
  if (result.shortest_cycle < kFewestFramesOfCycle) {
    return absl::InvalidArgumentError(
        absl::StrCat("the signal's shortest cycle is ", result.shortest_cycle,
                     " frames from peak to peak; legal is ", kFewestFramesOfCycle, " or more"));
  }
  size_t after = 1;  // of the cycle that a frame is in, the peak that ends it
  for (size_t i = 0; i < signal.size(); ++i) {
    while (after + 1 < peaks.size() && double(i) >= peaks[after]) ++after;
    const double cycles = (double(i) - peaks[after - 1]) / (peaks[after] - peaks[after - 1]);
    // Rounding to float must not make a 1 of it.
    result.phases.push_back(
        std::min(static_cast<float>(cycles - std::floor(cycles)), std::nextafter(1.0F, 0.0F)));
  }
  return result;
}

}  // namespace isocenter
