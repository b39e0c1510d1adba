#include "kernels/cuda/physics/photon_engine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/cuda/device/session.h"
#include "kernels/cuda/physics/follow_photons.h"
#include "kernels/physics/streams.h"

namespace isocenter::cuda {
namespace {

using physics::PhotonFates;
using physics::PhotonTables;
using physics::ScatterSimulation;

// Of one launch: short enough for a device that also drives a screen.
constexpr int64_t kLaunchPhotons = int64_t{1} << 22;

Point3 ToPoint(Vec3 v) { return {v.x, v.y, v.z}; }

double FromEnergy(unsigned long long units) {
  return std::ldexp(static_cast<double>(units), -kEnergyBits);
}

double FromScore(WideSum sum) {
  return std::ldexp(static_cast<double>(sum.high), 64 - kScoreBits) +
         std::ldexp(static_cast<double>(sum.low), -kScoreBits);
}

// Arrays that are laid out one behind the other, in steps that suit all of them.
class Layout {
 public:
  template <typename T>
  int64_t Place(std::span<const T> values) {
    const int64_t at = static_cast<int64_t>(bytes_.size());
    const auto raw = std::as_bytes(values);
    bytes_.insert(bytes_.end(), raw.begin(), raw.end());
    bytes_.resize((bytes_.size() + 255) / 256 * 256);
    return at;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Another program's memory counts as well, which the session's limit does not know.
absl::Status CheckFree(int64_t bytes, absl::string_view what) {
  size_t free = 0, total = 0;
  ISO_RETURN_IF_CUDA_ERROR(cudaMemGetInfo(&free, &total));
  if (bytes <= static_cast<int64_t>(free)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " needs ", BytesText(bytes), " of device memory; ",
                   BytesText(static_cast<int64_t>(free)), " of ",
                   BytesText(static_cast<int64_t>(total)), " are free"));
}

template <typename T>
absl::StatusOr<DeviceBuffer<T>> Allocate(const Memory& memory, int64_t count,
                                         absl::string_view what) {
  ISO_RETURN_IF_ERROR(CheckFree(count * static_cast<int64_t>(sizeof(T)), what));
  return DeviceBuffer<T>::Create(memory, count, what);
}

class PhotonEngine final : public physics::PhotonEngine {
 public:
  PhotonEngine(std::unique_ptr<ops::Device> device, std::unique_ptr<ops::Session> session,
               DeviceBuffer<std::byte> tables, DeviceBuffer<FatesOnDevice> fates,
               const PhotonScene& scene, int multiprocessors)
      : device_(std::move(device)),
        session_(std::move(session)),
        tables_(std::move(tables)),
        fates_(std::move(fates)),
        scene_(scene),
        multiprocessors_(multiprocessors) {}

  std::string description() const override { return device_->description(); }
  absl::StatusOr<physics::PhotonTally> Follow(const physics::Panel& panel,
                                              const ScatterSimulation::Settings& settings) override;

 private:
  absl::Status SetPanel(const physics::Panel& panel);
  absl::Status Clear(int64_t sums);
  absl::StatusOr<physics::PhotonTally> Fetch(int64_t cells);

  CudaSession& session() const { return static_cast<CudaSession&>(*session_); }

  std::unique_ptr<ops::Device> device_;
  std::unique_ptr<ops::Session> session_;
  DeviceBuffer<std::byte> tables_;
  DeviceBuffer<FatesOnDevice> fates_;
  DeviceBuffer<double> row_intensity_;
  DeviceBuffer<WideSum> sums_;
  PhotonScene scene_;
  int multiprocessors_;
};

absl::Status PhotonEngine::SetPanel(const physics::Panel& panel) {
  scene_.panel = {.source = ToPoint(panel.source()),
                  .corner = ToPoint(panel.corner()),
                  .width = ToPoint(panel.width()),
                  .height = ToPoint(panel.height()),
                  .normal = ToPoint(panel.normal()),
                  .most = panel.most(),
                  .solid_angle = panel.solid_angle(),
                  .row_intensity = nullptr,
                  .intensity_rows = static_cast<int64_t>(panel.row_intensity().size())};
  if (panel.row_intensity().empty()) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(row_intensity_.Reserve(session().memory(), scene_.panel.intensity_rows));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(row_intensity_.data(), panel.row_intensity().data(),
                                           panel.row_intensity().size_bytes(),
                                           cudaMemcpyHostToDevice, session().stream()));
  scene_.panel.row_intensity = row_intensity_.data();
  return absl::OkStatus();
}

absl::Status PhotonEngine::Clear(int64_t sums) {
  if (sums > sums_.count()) {
    sums_ = {};
    ISO_ASSIGN_OR_RETURN(
        sums_, Allocate<WideSum>(session().memory(), sums, "the image of simulated scatter"));
  }
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(sums_.data(), 0, sums * sizeof(WideSum), session().stream()));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaMemsetAsync(fates_.data(), 0, sizeof(FatesOnDevice), session().stream()));
  return absl::OkStatus();
}

absl::StatusOr<physics::PhotonTally> PhotonEngine::Fetch(int64_t cells) {
  FatesOnDevice fates;
  std::vector<WideSum> sums(2 * cells);
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(sums.data(), sums_.data(), sums.size() * sizeof(sums[0]),
                                           cudaMemcpyDeviceToHost, session().stream()));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(&fates, fates_.data(), sizeof(fates),
                                           cudaMemcpyDeviceToHost, session().stream()));
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(session().stream()));
  if (fates.beyond > 0) {
    return absl::OutOfRangeError(absl::StrCat(
        fates.beyond, " interactions give a place of the detector more than ", kMostScore,
        " times what a photon gives without an object: the object touches the detector"));
  }
  physics::PhotonTally tally;
  for (int64_t i = 0; i < cells; ++i) {
    tally.sums.push_back({FromScore(sums[2 * i]), FromScore(sums[2 * i + 1])});
  }
  tally.fates = {.unscattered = static_cast<int64_t>(fates.unscattered),
                 .scattered = static_cast<int64_t>(fates.scattered),
                 .absorbed = static_cast<int64_t>(fates.absorbed),
                 .emitted_kev = FromEnergy(fates.emitted),
                 .leaving_kev = FromEnergy(fates.leaving)};
  for (int m = 0; m < physics::kTissueMaterials; ++m) {
    tally.fates.imparted_kev[m] = FromEnergy(fates.imparted[m]);
  }
  return tally;
}

absl::StatusOr<physics::PhotonTally> PhotonEngine::Follow(
    const physics::Panel& panel, const ScatterSimulation::Settings& settings) {
  if (settings.photons > kMostPhotons) {
    return absl::InvalidArgumentError(
        absl::StrCat("photons is ", settings.photons, "; legal is 1 to ", kMostPhotons));
  }
  ISO_RETURN_IF_ERROR(session().MakeCurrent());
  const int64_t cells = int64_t{ScatterSimulation::kBatches} * settings.columns * settings.rows;
  ISO_RETURN_IF_ERROR(SetPanel(panel));
  ISO_RETURN_IF_ERROR(Clear(2 * cells));
  scene_.frame_seed = physics::FrameSeed(settings.seed, physics::Draw::kScatter, settings.view);
  scene_.phase = ScatterSimulation::PhaseOf(settings);
  scene_.photons = settings.photons;
  scene_.columns = settings.columns;
  scene_.rows = settings.rows;
  scene_.sums = sums_.data();
  for (int64_t first = 0; first < settings.photons; first += kLaunchPhotons) {
    ISO_RETURN_IF_ERROR(LaunchFollowPhotons(scene_, first,
                                            std::min(first + kLaunchPhotons, settings.photons),
                                            multiprocessors_, session().stream()));
  }
  return Fetch(cells);
}

// The arrays of the tables, and the scene that points to where they will be.
class SceneLayout {
 public:
  explicit SceneLayout(const PhotonTables& tables) : tables_(tables) {
    const physics::SectionTables& s = tables.sections;
    amounts_ = layout_.Place(tables.cells.amounts);
    for (const auto& table : {s.total, s.coherent, s.incoherent, s.coherent_scale,
                              s.incoherent_scale, s.form_factors, s.incoherent_functions}) {
      sections_.push_back(layout_.Place(table));
    }
    // Lanes that no material has are empty and never drawn.
    const size_t transfers = s.form_factors.size() / physics::kLanes;
    std::vector<double> integrals(physics::kLanes * transfers);
    for (int m = 0; m < physics::kLanes; ++m) {
      std::ranges::copy(s.form_factor_integrals[m], integrals.begin() + m * transfers);
    }
    integrals_ = layout_.Place(std::span<const double>(integrals));
    most_ = layout_.Place(tables.most);
    signal_ = layout_.Place(tables.signal);
    kev_ = layout_.Place(tables.kev);
    cumulative_ = layout_.Place(tables.cumulative);
  }

  std::span<const std::byte> bytes() const { return layout_.bytes(); }

  PhotonScene At(const std::byte* base) const {
    const auto lanes = [&](int64_t at) { return reinterpret_cast<const float4*>(base + at); };
    const auto floats = [&](int64_t at) { return reinterpret_cast<const float*>(base + at); };
    const auto doubles = [&](int64_t at) { return reinterpret_cast<const double*>(base + at); };
    const physics::CellTable& c = tables_.cells;
    const physics::SectionTables& s = tables_.sections;
    PhotonScene scene{};
    scene.cells = {.low = ToPoint(c.low),
                   .cell_mm = {c.cell_mm[0], c.cell_mm[1], c.cell_mm[2]},
                   .counts = {c.counts[0], c.counts[1], c.counts[2]},
                   .strides = {static_cast<int>(c.strides[0]), static_cast<int>(c.strides[1]),
                               static_cast<int>(c.strides[2])},
                   .amounts = lanes(amounts_)};
    scene.sections = {.least_kev = s.least_kev,
                      .step_kev = s.step_kev,
                      .energies = static_cast<int>(s.total.size() / physics::kLanes),
                      .transfer_step = s.transfer_step,
                      .transfers = static_cast<int>(s.form_factors.size() / physics::kLanes),
                      .total = lanes(sections_[0]),
                      .coherent = lanes(sections_[1]),
                      .incoherent = lanes(sections_[2]),
                      .coherent_scale = lanes(sections_[3]),
                      .incoherent_scale = lanes(sections_[4]),
                      .form_factors = lanes(sections_[5]),
                      .incoherent_functions = lanes(sections_[6]),
                      .form_factor_integrals = doubles(integrals_),
                      .most = floats(most_),
                      .signal = floats(signal_)};
    scene.spectrum = {.count = static_cast<int>(tables_.kev.size()),
                      .kev = doubles(kev_),
                      .cumulative = doubles(cumulative_)};
    scene.batches = ScatterSimulation::kBatches;
    return scene;
  }

 private:
  const PhotonTables& tables_;
  Layout layout_;
  std::vector<int64_t> sections_;
  int64_t amounts_, integrals_, most_, signal_, kev_, cumulative_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<physics::PhotonEngine>> NewPhotonEngine(
    const ops::DeviceLimits& limits, const ScatterSimulation& simulation) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<ops::Device> device, CudaDevice::Open(limits));
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<ops::Session> opened, device->NewSession());
  auto& session = static_cast<CudaSession&>(*opened);
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  int multiprocessors = 0;
  ISO_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, session.ordinal()));
  const PhotonTables tables = simulation.Tables();
  const SceneLayout layout(tables);
  ISO_ASSIGN_OR_RETURN(
      DeviceBuffer<std::byte> memory,
      Allocate<std::byte>(session.memory(), static_cast<int64_t>(layout.bytes().size()),
                          "the object of simulated scatter"));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(memory.data(), layout.bytes().data(),
                                           layout.bytes().size(), cudaMemcpyHostToDevice,
                                           session.stream()));
  ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(session.stream()));
  ISO_ASSIGN_OR_RETURN(DeviceBuffer<FatesOnDevice> fates,
                       Allocate<FatesOnDevice>(session.memory(), 1, "the fates of photons"));
  PhotonScene scene = layout.At(memory.data());
  scene.fates = fates.data();
  return std::make_unique<PhotonEngine>(std::move(device), std::move(opened), std::move(memory),
                                        std::move(fates), scene, multiprocessors);
}

}  // namespace isocenter::cuda
