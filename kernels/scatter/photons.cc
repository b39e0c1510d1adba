#include "kernels/scatter/photons.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/base/status_macros.h"
#include "kernels/base/uniform.h"
#include "kernels/base/units.h"
#include "kernels/scatter/plane.h"

namespace isocenter::scatter {
namespace {

constexpr int kBatches = 32;  // the unit of work and of draws
constexpr int kMostOrders = 30;
// A photon of which less is left goes on with this chance only, and counts for as many more.
constexpr double kLittle = 0.05, kChance = 0.25;
// Powers of a root of x⁵ = x + 1: multiples that fill four dimensions evenly (Roberts' R4).
constexpr double kSteps[] = {0.8566748838545029, 0.733891856627126, 0.6287067210378087,
                             0.5385972572236101};
// Depths of interactions are drawn as if the object attenuated by this share of its own, and
// weighted: photons that would rarely get so far are those that light the shadow.
constexpr double kFirstStretch = 0.35, kStretch = 0.7;

class Draws {
 public:
  explicit Draws(std::seed_seq& seed) : engine_(seed) {}
  double operator()() { return Uniform(engine_); }

 private:
  std::mt19937_64 engine_;
};

double Wrapped(double x) { return x - std::floor(x); }

Vec3 Turned(Vec3 d, double cosine, double turn) {
  const Vec3 apart = std::abs(d.z) < 0.7 ? Vec3{0, 0, 1} : Vec3{1, 0, 0};
  const Vec3 cross = Cross(apart, d), a = (1 / Norm(cross)) * cross, b = Cross(d, a);
  const double sine = std::sqrt(std::max(0.0, 1 - cosine * cosine)), azimuth = 2 * kPi * turn;
  const Vec3 out = cosine * d + sine * (std::cos(azimuth) * a + std::sin(azimuth) * b);
  return (1 / Norm(out)) * out;
}

struct Photon {
  Vec3 position, direction;
  double kev = 0, weight = 0;
};

/// Photons that one thread follows.
class Batch {
 public:
  Batch(const Object& object, const Beam& beam, const CrossSections& sections, const Plane& plane,
        const PhotonSettings& settings, std::seed_seq& seed)
      : object_(object),
        beam_(beam),
        sections_(sections),
        plane_(plane),
        settings_(settings),
        draws_(seed),
        all_(static_cast<size_t>(settings.columns) * settings.rows),
        first_(all_.size()) {
    double sum = 0;
    for (const double share : beam.share) cumulated_.push_back(sum += share);
    // A step through all cells in turn that is far from both neighbours.
    stride_ = static_cast<int64_t>(static_cast<double>(all_.size()) * 0.6180339887);
    while (std::gcd(std::max<int64_t>(++stride_, 1), static_cast<int64_t>(all_.size())) != 1) {
    }
  }

  void Run(int64_t photons) {
    double place[] = {draws_(), draws_(), draws_(), draws_()};
    cell_ = static_cast<int64_t>(draws_() * static_cast<double>(all_.size()));
    for (int64_t i = 0; i < photons; ++i) {
      for (int k = 0; k < 4; ++k) place[k] = Wrapped(place[k] + kSteps[k]);
      const Vec3 aim = plane_.Point(place[0], place[1]), way = aim - plane_.source();
      Follow({plane_.source(), (1 / Norm(way)) * way, KevAt(place[2]),
              plane_.Seen(aim, plane_.source()) * plane_.area_mm2()},
             place[3]);
    }
  }
  const std::vector<double>& all() const { return all_; }
  const std::vector<double>& first() const { return first_; }

 private:
  double KevAt(double quantile) const {
    const auto at =
        std::upper_bound(cumulated_.begin(), cumulated_.end(), quantile * cumulated_.back());
    return beam_.kev[std::min<size_t>(at - cumulated_.begin(), beam_.kev.size() - 1)];
  }

  void Follow(Photon photon, double first_depth) {
    double began = 0;
    for (int order = 1; order <= kMostOrders; ++order) {
      const bool first = order == 1;
      if (!Fly(photon, first ? kFirstStretch : kStretch, first ? first_depth : draws_())) return;
      if (first) began = photon.weight;
      const PerTissue here = object_.At(photon.position);
      const PerTissue coherent = sections_.Coherent(photon.kev);
      const PerTissue incoherent = sections_.Incoherent(photon.kev);
      const double scatters = Dot(here, coherent) + Dot(here, incoherent);
      photon.weight *= scatters / Dot(here, sections_.Total(photon.kev));
      Score(photon, here, scatters, first);
      if (photon.weight < kLittle * began) {
        if (draws_() >= kChance) return;
        photon.weight /= kChance;
      }
      Scatter(photon, here, coherent, incoherent, scatters);
      if (photon.kev <= kLeastKev) return;
    }
  }

  // To where it interacts next; false where nothing is in its way.
  bool Fly(Photon& photon, double stretch, double draw) {
    const PerTissue attenuation = sections_.Total(photon.kev);
    const double depth = Dot(object_.Along(photon.position, photon.direction), attenuation);
    const double interacts = -std::expm1(-stretch * depth);
    if (!(interacts > 1e-9)) return false;
    const double drawn = -std::log1p(-draw * interacts) / stretch;
    const double distance =
        object_.DistanceTo(photon.position, photon.direction, attenuation, drawn);
    if (!std::isfinite(distance)) return false;  // the last bit of the depth
    photon.position = photon.position + distance * photon.direction;
    photon.weight *= interacts / stretch * std::exp(-(1 - stretch) * drawn);
    return Dot(object_.At(photon.position), attenuation) > 0;
  }

  void Score(const Photon& photon, const PerTissue& here, double scatters, bool first) {
    cell_ = (cell_ + stride_) % static_cast<int64_t>(all_.size());
    const Vec3 point = plane_.Point(
        (static_cast<double>(cell_ % settings_.columns) + draws_()) / settings_.columns,
        (static_cast<double>(cell_ / settings_.columns) + draws_()) / settings_.rows);
    const double seen = plane_.Seen(point, photon.position);
    if (!(seen > 0)) return;
    const Vec3 way = point - photon.position, direction = (1 / Norm(way)) * way;
    const double cosine = std::clamp(Dot(direction, photon.direction), -1.0, 1.0);
    const CrossSections::Differential d = sections_.Towards(photon.kev, cosine);
    const PerTissue mass = object_.Along(photon.position, direction);
    const double passes =
        Dot(here, d.coherent) * std::exp(-Dot(mass, sections_.Total(photon.kev))) +
        Dot(here, d.incoherent) *
            std::exp(-Dot(mass, sections_.Total(ComptonKev(photon.kev, cosine))));
    const double signal =
        photon.weight * seen * passes / (scatters * plane_.Seen(point, plane_.source()));
    all_[cell_] += signal;
    if (first) first_[cell_] += signal;
  }

  void Scatter(Photon& photon, const PerTissue& here, const PerTissue& coherent,
               const PerTissue& incoherent, double scatters) {
    double left = draws_() * scatters;
    const double parts[] = {here[0] * coherent[0], here[1] * coherent[1], here[0] * incoherent[0],
                            here[1] * incoherent[1]};
    int part = 0;
    while (part < 3 && left >= parts[part]) left -= parts[part++];
    const auto tissue = static_cast<Tissue>(part % kTissues);
    const double a = draws_(), b = draws_();
    const bool loses = part >= kTissues;
    const double cosine = loses ? sections_.DrawIncoherent(tissue, photon.kev, a, b)
                                : sections_.DrawCoherent(tissue, photon.kev, a, b);
    if (loses) photon.kev = ComptonKev(photon.kev, cosine);
    photon.direction = Turned(photon.direction, cosine, draws_());
  }

  const Object& object_;
  const Beam& beam_;
  const CrossSections& sections_;
  const Plane& plane_;
  const PhotonSettings& settings_;
  Draws draws_;
  std::vector<double> all_, first_, cumulated_;
  int64_t stride_ = 0, cell_ = 0;
};

}  // namespace

absl::StatusOr<ScatterImage> FollowPhotons(const Object& object, const Beam& beam,
                                           const CrossSections& sections,
                                           const ProjectionMatrix& matrix, const Detector& detector,
                                           const PhotonSettings& settings, ThreadPool& threads,
                                           const std::atomic<bool>* stop) {
  ISO_ASSIGN_OR_RETURN(const Plane plane, Plane::Of(matrix, detector));
  const size_t cells = static_cast<size_t>(settings.columns) * settings.rows;
  ScatterImage image{.all = std::vector<double>(cells), .first = std::vector<double>(cells)};
  if (object.empty()) return image;
  std::vector<Batch> batches;
  for (uint32_t b = 0; b < kBatches; ++b) {
    std::seed_seq seed{static_cast<uint32_t>(settings.seed),
                       static_cast<uint32_t>(settings.seed >> 32),
                       static_cast<uint32_t>(settings.view), b};
    batches.emplace_back(object, beam, sections, plane, settings, seed);
  }
  const auto stopped = [stop] { return stop != nullptr && *stop; };
  threads.ParallelFor(kBatches, [&](int64_t b, int) {
    if (stopped()) return;
    batches[b].Run(settings.photons * (b + 1) / kBatches - settings.photons * b / kBatches);
  });
  if (stopped()) return absl::CancelledError("scatter is no longer wanted");
  // Each interaction went to one cell of all.
  const double scale = static_cast<double>(cells) / static_cast<double>(settings.photons);
  for (const Batch& batch : batches) {
    for (size_t i = 0; i < cells; ++i) {
      image.all[i] += scale * batch.all()[i];
      image.first[i] += scale * batch.first()[i];
    }
  }
  return image;
}

}  // namespace isocenter::scatter
