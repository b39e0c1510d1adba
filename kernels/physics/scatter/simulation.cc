#include "kernels/physics/scatter/simulation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "kernels/physics/scatter/photon_engine.h"
#include "kernels/physics/streams.h"

namespace isocenter::physics {
namespace {

constexpr double kGoldenRatio = 0.6180339887498949;
constexpr double kSilverRatio = 0.41421356237309515;

// Turns a direction by an angle with this cosine, to any side with the same probability.
Vec3 Deflected(Vec3 d, double cosine, phantom::Generator& draws) {
  const double azimuth = 2 * kPi * draws.Uniform();
  const double sine = std::sqrt(std::max(0.0, 1 - cosine * cosine));
  const Vec3 other = std::abs(d.x) < 0.5 ? Vec3{1, 0, 0} : Vec3{0, 1, 0};
  Vec3 a = Cross(d, other);
  a = (1 / Norm(a)) * a;
  const Vec3 turned = cosine * d + sine * (std::cos(azimuth) * a + std::sin(azimuth) * Cross(d, a));
  return (1 / Norm(turned)) * turned;
}

}  // namespace

struct ScatterSimulation::Batch {
  const Panel& panel;
  const Settings& settings;
  int number;                   // of kBatches
  double phase;                 // of the cells that are scored
  std::vector<Reading> sums{};  // [row][column], of shares of photons over the open share
  PhotonFates fates{};
};

struct ScatterSimulation::Photon {
  Vec3 position, direction;
  double kev = 0;
  phantom::Generator draws;
  double sequence;  // of the cells that are scored
};

PhotonFates& PhotonFates::operator+=(const PhotonFates& other) {
  unscattered += other.unscattered;
  scattered += other.scattered;
  absorbed += other.absorbed;
  emitted_kev += other.emitted_kev;
  leaving_kev += other.leaving_kev;
  for (int m = 0; m < kTissueMaterials; ++m) imparted_kev[m] += other.imparted_kev[m];
  return *this;
}

absl::StatusOr<ScatterSimulation> ScatterSimulation::Make(const Spectrum& spectrum, double csi_mm,
                                                          std::span<const Material> materials,
                                                          ScatterVolume volume, ThreadPool& pool) {
  assert(materials.size() == kTissueMaterials);
  ScatterSimulation made(CrossSections(materials), std::move(volume));
  double sum = 0, mean_signal = 0;
  for (size_t i = 0; i < spectrum.kev.size(); ++i) {
    sum += spectrum.photons[i];
    mean_signal += spectrum.photons[i] * SignalOfPhoton(spectrum.kev[i], csi_mm);
    made.kev_.push_back(spectrum.kev[i]);
    made.cumulative_.push_back(sum);
  }
  if (!(mean_signal > 0)) {
    return absl::InvalidArgumentError("the screen sees no photon of the spectrum");
  }
  made.most_.resize(CrossSections::kEnergies);
  made.signal_.resize(CrossSections::kEnergies);
  pool.ParallelFor(CrossSections::kEnergies, [&](int64_t e, int) {
    const double kev = kLeastKev + static_cast<double>(e) * CrossSections::kStepKev;
    // Room for the rounding of sums.
    made.most_[e] = static_cast<float>(1.00001 * made.volume_.Most(made.sections_.Total(kev)));
    made.signal_[e] = static_cast<float>(SignalOfPhoton(kev, csi_mm) / mean_signal);
  });
  return made;
}

double ScatterSimulation::PhaseOf(const Settings& settings) {
  return GeneratorFor(settings.seed, Draw::kScatterCells, settings.view).Uniform();
}

double ScatterSimulation::DrawKev(double quantile) const {
  const auto at =
      std::upper_bound(cumulative_.begin(), cumulative_.end(), quantile * cumulative_.back());
  return kev_[std::min<size_t>(at - cumulative_.begin(), kev_.size() - 1)];
}

double ScatterSimulation::Through(ByMaterial paths, double kev) const {
  return std::exp(-SumOf(paths * sections_.Total(kev)));
}

// Every kBatches-th photon, so that each batch has all of the spectrum.
void ScatterSimulation::Run(Batch& batch) const {
  const Settings& settings = batch.settings;
  batch.sums.resize(static_cast<size_t>(settings.columns) * settings.rows, Reading{0, 0});
  for (int64_t i = batch.number; i < settings.photons; i += kBatches) {
    phantom::Generator draws = GeneratorFor(settings.seed, Draw::kScatter, settings.view, i);
    const double quantile =
        (static_cast<double>(i) + draws.Uniform()) / static_cast<double>(settings.photons);
    const double kev = DrawKev(quantile);
    const Vec3 direction = batch.panel.DrawDirection(draws);
    const double sequence = batch.phase + static_cast<double>(i) * kGoldenRatio;
    batch.fates.emitted_kev += kev;
    Follow({batch.panel.source(), direction, kev, draws, sequence - std::floor(sequence)}, batch);
  }
}

// Interactions are drawn as if all cells attenuated like the densest; those that a cell does not
// really have are no interactions.
void ScatterSimulation::Follow(Photon photon, Batch& batch) const {
  Inside inside = volume_.Clip(photon.position, photon.direction);
  double at = inside.begin;
  bool scattered = false;
  while (inside.end > inside.begin) {
    const double most = CrossSections::Interpolated(most_, photon.kev);
    if (!(most > 0)) break;
    at -= std::log1p(-photon.draws.Uniform()) / most;
    if (at >= inside.end) break;
    const Vec3 place = photon.position + at * photon.direction;
    const ByMaterial amounts = volume_.At(place);
    const double total = SumOf(amounts * sections_.Total(photon.kev));
    if (photon.draws.Uniform() * most >= total) continue;
    photon.position = place;
    Score(photon, amounts, total, batch);
    if (!Interact(photon, amounts, total, batch)) return;
    scattered = true;
    inside = volume_.Clip(photon.position, photon.direction);
    at = 0;
  }
  ++(scattered ? batch.fates.scattered : batch.fates.unscattered);
  batch.fates.leaving_kev += photon.kev;
}

// False where the photon ends.
bool ScatterSimulation::Interact(Photon& photon, ByMaterial amounts, double total,
                                 Batch& batch) const {
  const ByMaterial all = amounts * sections_.Total(photon.kev);
  double left = photon.draws.Uniform() * total;
  int material = 0;
  while (material + 1 < kTissueMaterials && left >= all[material]) left -= all[material++];
  double& imparted_kev = batch.fates.imparted_kev[material];
  left /= amounts[material];
  const double coherent = sections_.Coherent(photon.kev)[material];
  if (left < coherent) {
    const double cosine = sections_.DrawCoherent(material, photon.kev, photon.draws);
    photon.direction = Deflected(photon.direction, cosine, photon.draws);
    return true;
  }
  if (left < coherent + sections_.Incoherent(photon.kev)[material]) {
    const double cosine = sections_.DrawIncoherent(material, photon.kev, photon.draws);
    const double kev = ComptonKev(photon.kev, cosine);
    imparted_kev += photon.kev - kev;
    photon.kev = kev;
    photon.direction = Deflected(photon.direction, cosine, photon.draws);
    if (kev >= kLeastKev) return true;
  }
  ++batch.fates.absorbed;
  imparted_kev += photon.kev;
  return false;
}

// What of the photon is expected at one point of the next cell, over what the same photon gives
// there without an object.
void ScatterSimulation::Score(Photon& photon, ByMaterial amounts, double total,
                              Batch& batch) const {
  const int columns = batch.settings.columns, rows = batch.settings.rows;
  const int64_t cells = int64_t{columns} * rows;
  const int64_t cell =
      std::min(cells - 1, static_cast<int64_t>(photon.sequence * static_cast<double>(cells)));
  photon.sequence += kSilverRatio;
  if (photon.sequence >= 1) photon.sequence -= 1;
  const double u = (static_cast<double>(cell % columns) + photon.draws.Uniform()) / columns;
  const double v = (static_cast<double>(cell / columns) + photon.draws.Uniform()) / rows;
  const Vec3 point = batch.panel.Point(u, v);
  const double solid_angle = batch.panel.SolidAngle(point, photon.position);
  if (!(solid_angle > 0)) return;
  const Vec3 way = point - photon.position;
  const Vec3 direction = (1 / Norm(way)) * way;
  const double cosine = std::clamp(Dot(direction, photon.direction), -1.0, 1.0);
  const CrossSections::Differential per_sr = sections_.Towards(photon.kev, cosine);
  const ByMaterial paths = volume_.PathsMm(photon.position, direction);
  const double share = solid_angle / (batch.panel.OpenShare(point) * total);
  const auto add = [&](ByMaterial differential, double kev) {
    const double photons = share * SumOf(amounts * differential) * Through(paths, kev);
    const double signal = CrossSections::Interpolated(signal_, kev);
    batch.sums[cell].signal += photons * signal;
    batch.sums[cell].variance += photons * signal * signal;
  };
  add(per_sr.coherent, photon.kev);
  const double kev = ComptonKev(photon.kev, cosine);
  if (kev >= kLeastKev) add(per_sr.incoherent, kev);
}

namespace {

// Each interaction scored one cell of all. `sums`: [batch][row][column].
ScatterImage ImageOf(std::span<const Reading> sums, const PhotonFates& fates, int64_t photons) {
  constexpr int kBatches = ScatterSimulation::kBatches;
  const size_t cells = sums.size() / kBatches;
  const double scale = static_cast<double>(cells) / static_cast<double>(photons);
  ScatterImage image{.fates = fates};
  image.readings.assign(cells, Reading{0, 0});
  double total = 0, variance = 0;
  for (size_t i = 0; i < cells; ++i) {
    double squares = 0;
    for (int b = 0; b < kBatches; ++b) {
      const Reading& sum = sums[b * cells + i];
      image.readings[i].signal += scale * sum.signal;
      image.readings[i].variance += scale * sum.variance;
      squares += scale * sum.signal * scale * sum.signal;
    }
    const double signal = image.readings[i].signal;
    total += signal;
    variance += (squares - signal * signal / kBatches) * kBatches / (kBatches - 1);
  }
  const double n = static_cast<double>(cells);
  if (total > 0) image.relative_error = std::sqrt(std::max(0.0, variance / n)) / (total / n);
  return image;
}

}  // namespace

PhotonTables ScatterSimulation::Tables() const {
  return {volume_.Table(), sections_.Tables(), kev_, cumulative_, most_, signal_};
}

absl::StatusOr<ScatterImage> ScatterSimulation::View(const ProjectionMatrix& matrix,
                                                     const Detector& detector,
                                                     const Settings& settings,
                                                     ThreadPool& pool) const {
  assert(settings.photons > 0 && settings.columns > 0 && settings.rows > 0);
  ISO_ASSIGN_OR_RETURN(const Panel panel, Panel::Make(matrix, detector, settings.row_intensity));
  const double phase = PhaseOf(settings);
  std::vector<Batch> batches;
  for (int b = 0; b < kBatches; ++b) batches.push_back({panel, settings, b, phase});
  pool.ParallelFor(kBatches, [&](int64_t b, int) { Run(batches[b]); });
  std::vector<Reading> sums;
  PhotonFates fates;
  for (const Batch& batch : batches) {
    sums.insert(sums.end(), batch.sums.begin(), batch.sums.end());
    fates += batch.fates;
  }
  return ImageOf(sums, fates, settings.photons);
}

absl::StatusOr<ScatterImage> ScatterSimulation::View(const ProjectionMatrix& matrix,
                                                     const Detector& detector,
                                                     const Settings& settings,
                                                     PhotonEngine& engine) const {
  assert(settings.photons > 0 && settings.columns > 0 && settings.rows > 0);
  ISO_ASSIGN_OR_RETURN(const Panel panel, Panel::Make(matrix, detector, settings.row_intensity));
  ISO_ASSIGN_OR_RETURN(const PhotonTally tally, engine.Follow(panel, settings));
  return ImageOf(tally.sums, tally.fates, settings.photons);
}

}  // namespace isocenter::physics
