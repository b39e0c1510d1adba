#include "kernels/physics/readout.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/base/status_macros.h"
#include "kernels/physics/glare.h"
#include "kernels/physics/streams.h"

namespace isocenter::physics {
namespace {

// Light with quantum noise. What a screen that integrates energy gives has the mean m and the
// variance v of a sum over energies; a Poisson variable of mean m²/v times v/m has them, too.
double Light(const Reading& reading, double dose, double photons, phantom::Generator& draws) {
  const double mean = dose * reading.signal;
  if (photons == 0 || !(mean > 0)) return mean;
  const double variance = dose * reading.variance / photons;
  return draws.Poisson(mean * mean / variance) * (variance / mean);
}

}  // namespace

absl::StatusOr<Readout> Readout::Make(const DetectorModel& model, const Detector& detector) {
  ISO_RETURN_IF_ERROR(ValidateDetectorModel(model));
  return Readout(model, detector);
}

// Charge is kept: what a term holds back comes out later, so that a steady signal is itself.
double Readout::AfterLag(size_t pixel, double signal) {
  double out = signal;
  double* kept = kept_.data() + pixel * model_.lag.size();
  for (const DetectorModel::LagTerm& term : model_.lag) {
    const double released = term.release * *kept;
    const double free =
        term.capacity_counts > 0 ? std::max(0.0, 1 - *kept / term.capacity_counts) : 1;
    const double taken = free * term.share * signal;
    out += released - taken;
    *kept++ += taken - released;
  }
  return out;
}

double Readout::Fault(PixelState state, size_t pixel, double value) const {
  switch (state) {
    case PixelState::kGood:
      return value;
    case PixelState::kDead:
      return maps_.offset_counts[pixel];
    case PixelState::kHot:
      return model_.saturation_counts;
  }
  return value;
}

void Readout::Expose(std::span<const Reading> readings, double dose, ThreadPool& pool,
                     std::span<uint16_t> counts) {
  assert(readings.size() == light_.size() && counts.size() == light_.size());
  const int64_t columns = detector_.columns;
  // A generator of its own for each row, first of its photons, then of its electronics.
  std::vector<phantom::Generator> draws;
  draws.reserve(detector_.rows);
  for (int v = 0; v < detector_.rows; ++v) {
    draws.push_back(GeneratorFor(model_.scan_seed(), Draw::kNoise, frame_, v));
  }
  pool.ParallelFor(detector_.rows, [&](int64_t v, int) {
    for (int64_t i = v * columns; i < (v + 1) * columns; ++i) {
      light_[i] = Light(readings[i], dose, model_.photons, draws[v]);
    }
  });
  AddGlare(model_.glare_share, model_.glare_length_mm, detector_, pool, light_);
  pool.ParallelFor(detector_.rows, [&](int64_t v, int) {
    for (int64_t i = v * columns; i < (v + 1) * columns; ++i) {
      double value = AfterLag(i, light_[i] * maps_.gain[i] * model_.signal_counts);
      value += maps_.offset_counts[i];
      if (model_.electronic_counts > 0) value += model_.electronic_counts * draws[v].Normal();
      value = Fault(maps_.states[i], i, value);
      counts[i] =
          static_cast<uint16_t>(std::round(std::clamp(value, 0.0, model_.saturation_counts)));
    }
  });
  ++frame_;
}

}  // namespace isocenter::physics
