#include <algorithm>

#include "kernels/cuda/device/status.h"
#include "kernels/cuda/physics/cells.cuh"
#include "kernels/cuda/physics/draws.cuh"
#include "kernels/cuda/physics/follow_photons.h"
#include "kernels/cuda/physics/sections.cuh"
#include "kernels/cuda/physics/vector3.cuh"

namespace isocenter::cuda {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kGoldenRatio = 0.6180339887498949;
constexpr double kSilverRatio = 0.41421356237309515;
constexpr int kThreads = 128;
constexpr int kMaterials = 3;
constexpr double kScoreUnits = 1ull << kScoreBits;

__device__ unsigned long long ToEnergy(double kev) {
  return __double2ull_rn(kev * (1 << kEnergyBits));
}

__device__ double SolidAngle(const PanelOnDevice& panel, Point3 point, Point3 from) {
  const Point3 way = point - from;
  const double square = Dot(way, way);
  return Dot(way, panel.normal) / (square * sqrt(square));
}

__device__ Point3 PanelPoint(const PanelOnDevice& panel, double u, double v) {
  return panel.corner + u * panel.width + v * panel.height;
}

__device__ double Intensity(const PanelOnDevice& panel, double v) {
  if (panel.row_intensity == nullptr) return 1;
  const auto row = static_cast<int64_t>(v * static_cast<double>(panel.intensity_rows));
  return panel.row_intensity[min(max(row, int64_t{0}), panel.intensity_rows - 1)];
}

__device__ Point3 DrawDirection(const PanelOnDevice& panel, Draws& draws) {
  while (true) {
    const double u = draws.Uniform(), v = draws.Uniform();
    const Point3 point = PanelPoint(panel, u, v);
    if (panel.most * draws.Uniform() >=
        Intensity(panel, v) * SolidAngle(panel, point, panel.source)) {
      continue;
    }
    return Unit(point - panel.source);
  }
}

__device__ double DrawKev(const SpectrumOnDevice& spectrum, double quantile) {
  const int at = FirstAbove(spectrum.cumulative, 0, spectrum.count,
                            quantile * spectrum.cumulative[spectrum.count - 1]);
  return spectrum.kev[min(at, spectrum.count - 1)];
}

__device__ Point3 Deflected(Point3 d, double cosine, Draws& draws) {
  const double azimuth = 2 * kPi * draws.Uniform();
  const double sine = sqrt(fmax(0.0, 1 - cosine * cosine));
  const Point3 other = fabs(d.x) < 0.5 ? Point3{1, 0, 0} : Point3{0, 1, 0};
  const Point3 a = Unit(Cross(d, other));
  return Unit(cosine * d + sine * (cos(azimuth) * a + sin(azimuth) * Cross(d, a)));
}

// One photon after the other.
class Follower {
 public:
  __device__ Follower(const PhotonScene& scene) : scene_(scene), draws_(0) {}

  __device__ void Start(int64_t number) {
    draws_ = Draws(scene_.frame_seed ^ (static_cast<uint64_t>(number) + 1) * 0x8EBC6AF09C88C6E3u);
    const double quantile =
        (static_cast<double>(number) + draws_.Uniform()) / static_cast<double>(scene_.photons);
    kev_ = DrawKev(scene_.spectrum, quantile);
    position_ = scene_.panel.source;
    direction_ = DrawDirection(scene_.panel, draws_);
    const double sequence = scene_.phase + static_cast<double>(number) * kGoldenRatio;
    sequence_ = sequence - floor(sequence);
    batch_ = static_cast<int>(number % scene_.batches);
    fates_.emitted += ToEnergy(kev_);
    scattered_ = false;
    inside_ = Clip(scene_.cells, position_, direction_);
    at_ = inside_.begin;
  }

  // To the next interaction and through it; false where the photon ends.
  __device__ bool Step() {
    float4 amounts;
    double total;
    if (!Fly(amounts, total)) {
      ++(scattered_ ? fates_.scattered : fates_.unscattered);
      fates_.leaving += ToEnergy(kev_);
      return false;
    }
    Score(amounts, total);
    if (!Interact(amounts, total)) {
      ++fates_.absorbed;
      return false;
    }
    scattered_ = true;
    inside_ = Clip(scene_.cells, position_, direction_);
    at_ = 0;
    return true;
  }

  __device__ void AddFates() const {
    FatesOnDevice& sum = *scene_.fates;
    atomicAdd(&sum.unscattered, fates_.unscattered);
    atomicAdd(&sum.scattered, fates_.scattered);
    atomicAdd(&sum.absorbed, fates_.absorbed);
    atomicAdd(&sum.emitted, fates_.emitted);
    atomicAdd(&sum.leaving, fates_.leaving);
    for (int m = 0; m < kMaterials; ++m) atomicAdd(&sum.imparted[m], fates_.imparted[m]);
    if (fates_.beyond > 0) atomicAdd(&sum.beyond, fates_.beyond);
  }

 private:
  // Interactions are drawn as if all cells attenuated like the densest (Woodcock).
  __device__ bool Fly(float4& amounts, double& total) {
    if (!(inside_.end > inside_.begin)) return false;
    const double most = AtEnergy(scene_.sections, scene_.sections.most, kev_);
    if (!(most > 0)) return false;
    const float4 sections = AtEnergy(scene_.sections, scene_.sections.total, kev_);
    while (true) {
      at_ -= log1p(-draws_.Uniform()) / most;
      if (at_ >= inside_.end) return false;
      const Point3 place = position_ + at_ * direction_;
      amounts = AmountsAt(scene_.cells, place);
      total = SumOf(amounts * sections);
      if (draws_.Uniform() * most >= total) continue;
      position_ = place;
      return true;
    }
  }

  // What of the photon is expected at one point of the next cell.
  __device__ void Score(float4 amounts, double total) {
    const SectionsOnDevice& s = scene_.sections;
    const int cells = scene_.columns * scene_.rows;
    const int cell = min(cells - 1, static_cast<int>(sequence_ * static_cast<double>(cells)));
    sequence_ += kSilverRatio;
    if (sequence_ >= 1) sequence_ -= 1;
    const double u =
        (static_cast<double>(cell % scene_.columns) + draws_.Uniform()) / scene_.columns;
    const double v = (static_cast<double>(cell / scene_.columns) + draws_.Uniform()) / scene_.rows;
    const Point3 point = PanelPoint(scene_.panel, u, v);
    const double solid_angle = SolidAngle(scene_.panel, point, position_);
    if (!(solid_angle > 0)) return;
    const Point3 direction = Unit(point - position_);
    const double cosine = fmin(fmax(Dot(direction, direction_), -1.0), 1.0);
    const double open_share =
        SolidAngle(scene_.panel, point, scene_.panel.source) / scene_.panel.solid_angle;
    const double share = solid_angle / (open_share * total);
    const double x = Transfer(kev_, cosine);
    const float4 paths = PathsMm(scene_.cells, position_, direction);
    double signal = 0, variance = 0;
    const auto add = [&](float4 differential, double kev) {
      const double through = exp(-SumOf(paths * AtEnergy(s, s.total, kev)));
      const double photons = share * SumOf(amounts * differential) * through;
      const double one = AtEnergy(s, s.signal, kev);
      signal += photons * one;
      variance += photons * one * one;
    };
    add(static_cast<float>(Thomson(cosine)) * AtEnergy(s, s.coherent_scale, kev_) *
            AtTransfer(s, s.form_factors, x),
        kev_);
    const double kev = ComptonKev(kev_, cosine);
    if (kev >= s.least_kev) {
      add(static_cast<float>(KleinNishina(kev_, cosine)) * AtEnergy(s, s.incoherent_scale, kev_) *
              AtTransfer(s, s.incoherent_functions, x),
          kev);
    }
    WideSum* const sums = scene_.sums + 2 * (int64_t{batch_} * cells + cell);
    Add(sums[0], signal);
    Add(sums[1], variance);
  }

  __device__ void Add(WideSum& sum, double score) {
    if (!(score < kMostScore)) {
      ++fates_.beyond;
      return;
    }
    const unsigned long long units = __double2ull_rn(score * kScoreUnits);
    const unsigned long long before = atomicAdd(&sum.low, units);
    if (before + units < before) atomicAdd(&sum.high, 1ull);
  }

  // False where the photon is absorbed.
  __device__ bool Interact(float4 amounts, double total) {
    const SectionsOnDevice& s = scene_.sections;
    const float4 all = amounts * AtEnergy(s, s.total, kev_);
    double left = draws_.Uniform() * total;
    int material = 0;
    while (material + 1 < kMaterials && left >= Lane(all, material)) left -= Lane(all, material++);
    left /= Lane(amounts, material);
    const double coherent = Lane(AtEnergy(s, s.coherent, kev_), material);
    if (left < coherent) {
      const double cosine = DrawCoherent(s, material, kev_, draws_);
      direction_ = Deflected(direction_, cosine, draws_);
      return true;
    }
    double imparted = 0;
    bool goes_on = false;
    if (left < coherent + Lane(AtEnergy(s, s.incoherent, kev_), material)) {
      const double cosine = DrawIncoherent(s, material, kev_, draws_);
      const double kev = ComptonKev(kev_, cosine);
      imparted = kev_ - kev;
      kev_ = kev;
      direction_ = Deflected(direction_, cosine, draws_);
      goes_on = kev >= s.least_kev;
    }
    if (!goes_on) imparted += kev_;
    const unsigned long long energy = ToEnergy(imparted);
#pragma unroll
    for (int m = 0; m < kMaterials; ++m) fates_.imparted[m] += m == material ? energy : 0;
    return goes_on;
  }

  const PhotonScene& scene_;
  Draws draws_;
  Point3 position_, direction_;
  double kev_, sequence_, at_;
  Span inside_;
  int batch_;
  bool scattered_;
  FatesOnDevice fates_ = {};
};

// Lanes of a warp are at interactions of different photons: none waits for another's end.
__global__ __launch_bounds__(kThreads) void FollowPhotons(const __grid_constant__ PhotonScene scene,
                                                          int64_t first, int64_t end) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * kThreads;
  int64_t next = first + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  Follower follower(scene);
  bool flies = false;
  while (true) {
    if (!flies) {
      if (next >= end) break;
      follower.Start(next);
      next += threads;
    }
    flies = follower.Step();
  }
  follower.AddFates();
}

}  // namespace

absl::Status LaunchFollowPhotons(const PhotonScene& scene, int64_t first, int64_t end,
                                 int multiprocessors, cudaStream_t stream) {
  int blocks = 0;
  ISO_RETURN_IF_CUDA_ERROR(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, FollowPhotons, kThreads, 0));
  const int64_t most = (end - first + kThreads - 1) / kThreads;
  const auto grid =
      static_cast<unsigned>(std::min<int64_t>(most, int64_t{blocks} * multiprocessors));
  FollowPhotons<<<grid, kThreads, 0, stream>>>(scene, first, end);
  ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  return absl::OkStatus();
}

}  // namespace isocenter::cuda
