#include "tests/accuracy/scattered_scan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/phantom/generator.h"
#include "kernels/physics/row_beams.h"
#include "kernels/physics/scatter/settings.h"
#include "kernels/physics/scatter/simulation.h"
#include "kernels/physics/tissue.h"
#include "kernels/physics/tungsten.h"
#include "kernels/physics/view.h"

namespace isocenter {
namespace {

constexpr double kI0 = 30000;  // with room for scatter beside the object
constexpr double kCsiMm = 0.6, kCopperMm = 0.2;
constexpr int kScatterViews = 40, kColumns = 24, kRows = 16;
// With 150,000, their noise alone leaves a range of 20 HU over an abdomen (ADR 0130).
constexpr int64_t kPhotons = 1'000'000;

physics::Spectrum SpectrumOf(double kv) {
  return *physics::TungstenSpectrum({.kv = kv, .copper_mm = kCopperMm});
}

uint16_t CountOf(double signal) {
  return static_cast<uint16_t>(std::clamp(std::lround(kI0 * signal), 0L, 65535L));
}

}  // namespace

ScatteredScan::ScatteredScan(const Detector& detector, int views, double kv)
    : scan_(detector, views, kv, "titanium"), acquisition_(scan_.acquisition()), kv_(kv) {
  acquisition_.i0_counts = kI0;
  const auto beam = *physics::Beam::Make(SpectrumOf(kv), kCsiMm, physics::TissueMaterials());
  kev_ = physics::EffectiveKev(beam);
}

void ScatteredScan::SetScale(double scale) {
  auto known = std::make_shared<ops::Calibration>(*scan_.calibration());
  known->scatter_model = ops::ScatterModel{.scale = scale};
  acquisition_.calibration = std::move(known);
}

physics::ScatterViews ScatteredScan::Scatter(const phantom::Phantom& object) const {
  ThreadPool pool(UsableCores());
  const auto simulation = *physics::ScatterSimulation::Make(
      SpectrumOf(kv_), kCsiMm, physics::TissueMaterials(),
      physics::ScatterVolume(object, scan_.mu_water_per_mm(), physics::TissueMap(kev_, true), pool),
      pool);
  const auto frames = static_cast<int>(acquisition_.trajectory.size());
  physics::ScatterViews views{.views = kScatterViews, .columns = kColumns, .rows = kRows};
  for (const int frame : physics::ScatterFrames(kScatterViews, frames)) {
    const auto image = *simulation.View(acquisition_.trajectory[frame], acquisition_.detector,
                                        {.photons = kPhotons,
                                         .columns = kColumns,
                                         .rows = kRows,
                                         .seed = 77,
                                         .view = static_cast<uint64_t>(frame)},
                                        pool);
    views.readings.insert(views.readings.end(), image.readings.begin(), image.readings.end());
  }
  return views;
}

ScatteredCounts ScatteredScan::Counts(const std::vector<HuBody>& bodies, double photons) const {
  std::vector<phantom::Part> parts;
  for (const HuBody& part : bodies) {
    parts.push_back({part.body, (1 + part.hu / 1000) * scan_.mu_water_per_mm()});
  }
  const phantom::CompositePhantom object(std::move(parts),
                                         phantom::CompositePhantom::Overlap::kReplace);
  const physics::TissueObject tissue(object, scan_.mu_water_per_mm(),
                                     physics::TissueMap(kev_, true));
  const auto beam = *physics::Beam::Make(SpectrumOf(kv_), kCsiMm, physics::TissueMaterials());
  const physics::RowBeams beams(beam);
  const Detector& detector = acquisition_.detector;
  const auto frames = static_cast<int>(acquisition_.trajectory.size());
  const physics::ScatterField field(Scatter(object), detector, frames);
  ThreadPool pool(UsableCores());
  phantom::Generator draws(5);
  std::vector<physics::Reading> readings(size_t(detector.rows) * detector.columns);
  ScatteredCounts counts;
  for (int frame = 0; frame < frames; ++frame) {
    physics::ReadView(tissue, beams, {&acquisition_.trajectory[frame], 1}, detector, 1, pool,
                      readings);
    std::vector<physics::Reading> both = readings;
    field.AddTo(frame, {}, pool, both);
    for (size_t i = 0; i < readings.size(); ++i) {
      const double primary = readings[i].signal, all = both[i].signal;
      counts.most_ratio = std::max(counts.most_ratio, all / primary - 1);
      const auto noisy = [&](const physics::Reading& reading) {
        return photons > 0 ? reading.signal + std::sqrt(reading.variance / photons) * draws.Normal()
                           : reading.signal;
      };
      counts.primary.push_back(CountOf(noisy(readings[i])));
      counts.scattered.push_back(CountOf(noisy(both[i])));
    }
  }
  return counts;
}

}  // namespace isocenter
