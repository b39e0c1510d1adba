#include "client/cli/rabbitct_data_set.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/options/phantom_flags.h"
#include "client/formats/rabbitct.h"
#include "kernels/base/status_macros.h"
#include "kernels/cpu/register.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/chunk_filter.h"

namespace isocenter::cli {
namespace {

constexpr double kEdgeMm = 256;  // of the benchmark's volume, whatever its number of voxels
constexpr int kSmallest = 128;   // the runner reads all reference volumes from this one on
constexpr float kLargestHu = 4095;
constexpr int kSlab = 16;  // slices that are converted at once

VolumeGrid BenchmarkGrid(int voxels) {
  const double s = kEdgeMm / voxels;
  return CenteredGrid(voxels, voxels, voxels, {s, s, s});
}

class RabbitCtDataSet : public formats::FrameSink {
 public:
  static absl::StatusOr<std::unique_ptr<RabbitCtDataSet>> Create(
      const std::filesystem::path& path, const recon::Acquisition& acquisition,
      const RabbitCtChoice& choice) {
    ops::Registry registry;
    cpu::Register(registry);
    ISO_ASSIGN_OR_RETURN(std::unique_ptr<ops::Device> device,
                         registry.OpenDevice("cpu", {.threads = 0}));
    ISO_ASSIGN_OR_RETURN(recon::ReconstructionPlan plan,
                         recon::MakePlan(acquisition, BenchmarkGrid(kSmallest),
                                         {.mu_water_per_mm = kMuWaterPerMm}, registry, *device));
    if (plan.filtered_detector.columns != acquisition.detector.columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("the detector is displaced: filtered, its ", acquisition.detector.columns,
                       " columns spread to ", plan.filtered_detector.columns,
                       ", which a RabbitCT data set cannot hold; legal is a centred detector"));
    }
    ISO_ASSIGN_OR_RETURN(
        formats::RabbitCtWriter writer,
        formats::RabbitCtWriter::Create(
            path, {.version = choice.version,
                   .columns = static_cast<uint32_t>(acquisition.detector.columns),
                   .rows = static_cast<uint32_t>(acquisition.detector.rows),
                   .projections = static_cast<uint32_t>(acquisition.trajectory.size()),
                   .hu_factor = static_cast<float>(1000 / plan.settings.mu_water_per_mm)}));
    std::unique_ptr<RabbitCtDataSet> self(
        new RabbitCtDataSet(std::move(plan), std::move(device), std::move(writer)));
    ISO_RETURN_IF_ERROR(self->OpenOperations(registry));
    ISO_RETURN_IF_ERROR(self->AllocateReferences(choice.reference_size));
    return self;
  }

  absl::Status Append(std::span<const std::byte> pixels) override {
    if (next_chunk_ == plan_.chunks.size()) {
      return absl::InvalidArgumentError("more frames than the trajectory has");
    }
    raw_.insert(raw_.end(), pixels.begin(), pixels.end());
    const recon::Chunk& chunk = plan_.chunks[next_chunk_];
    const Detector& detector = plan_.acquisition.detector;
    const Shape3 shape{chunk.views, detector.rows, detector.columns};
    const auto bytes =
        static_cast<size_t>(shape.count() * recon::PixelBytes(plan_.acquisition.pixel_type));
    if (raw_.size() < bytes) return absl::OkStatus();
    ISO_RETURN_IF_ERROR(Process(chunk, shape));
    ++next_chunk_;
    raw_.clear();
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    for (const auto& volume : references_) ISO_RETURN_IF_ERROR(WriteReference(*volume));
    return writer_.Finish();
  }

 private:
  RabbitCtDataSet(recon::ReconstructionPlan plan, std::unique_ptr<ops::Device> device,
                  formats::RabbitCtWriter writer)
      : plan_(std::move(plan)), device_(std::move(device)), writer_(std::move(writer)) {}

  absl::Status OpenOperations(const ops::Registry& registry) {
    const Detector& detector = plan_.acquisition.detector;
    ISO_ASSIGN_OR_RETURN(
        const recon::FdkMethods methods,
        recon::FdkMethods::Find(plan_.settings, detector, registry, device_->backend()));
    ISO_ASSIGN_OR_RETURN(session_, device_->NewSession());
    ISO_ASSIGN_OR_RETURN(filter_, recon::ChunkFilter::Create(plan_, methods, *session_));
    ISO_ASSIGN_OR_RETURN(backproject_, methods.backproject(*session_));
    const Shape3 shape{recon::LargestChunk(plan_), detector.rows, detector.columns};
    ISO_ASSIGN_OR_RETURN(line_integrals_,
                         session_->NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
    ISO_ASSIGN_OR_RETURN(filtered_.stack,
                         session_->NewProjectionStack(shape, ops::StackUse::kProjections));
    return absl::OkStatus();
  }

  absl::Status AllocateReferences(int largest) {
    for (int size = kSmallest; size <= largest; size *= 2) {
      auto volume = session_->NewVolume(BenchmarkGrid(size));
      if (!volume.ok()) {
        return absl::Status(
            volume.status().code(),
            absl::StrCat("the reference volume of ", size, "³ voxels does not fit into memory: ",
                         volume.status().message(), "; choose a smaller --rabbitct-size"));
      }
      references_.push_back(*std::move(volume));
    }
    return absl::OkStatus();
  }

  // Filters the frames in raw_, writes them, and adds them to the references.
  absl::Status Process(const recon::Chunk& chunk, const Shape3& shape) {
    const recon::Acquisition& acquisition = plan_.acquisition;
    ops::RawFrames frames;
    if (acquisition.pixel_type == recon::PixelType::kUint16Counts) {
      counts_.resize(shape.count());
      std::memcpy(counts_.data(), raw_.data(), raw_.size());
      frames.counts = {counts_.data(), shape};
    } else {
      images_.resize(shape.count());
      std::memcpy(images_.data(), raw_.data(), raw_.size());
      frames.line_integrals = {images_.data(), shape};
    }
    const std::span<const ProjectionMatrix> matrices =
        std::span(acquisition.trajectory).subspan(chunk.first_view, chunk.views);
    ISO_RETURN_IF_ERROR(filter_->Run({.chunk = chunk, .frames = frames, .matrices = matrices},
                                     {0, acquisition.detector.rows}, *line_integrals_, filtered_));
    images_.resize(shape.count());
    const HostView3<float> images(images_.data(), shape);
    ISO_RETURN_IF_ERROR(filtered_.stack->Download(0, images));
    for (int i = 0; i < chunk.views; ++i) {
      ISO_RETURN_IF_ERROR(writer_.AppendProjection(matrices[i], images.slices(i, 1).span()));
    }
    for (const auto& volume : references_) {
      ISO_RETURN_IF_ERROR(backproject_->Run(matrices, *filtered_.stack, *volume));
    }
    return absl::OkStatus();
  }

  // As the runner converts the module's volume before it compares: rounded, 0 below air.
  absl::Status WriteReference(const ops::VolumeBuffer& volume) {
    const Shape3 shape = volume.grid().shape();
    const auto factor = static_cast<float>(1000 / plan_.settings.mu_water_per_mm);
    std::vector<float> attenuation(kSlab * shape.middle * shape.fast);
    std::vector<uint16_t> hu(attenuation.size());
    for (int64_t z = 0; z < shape.slow; z += kSlab) {
      ISO_RETURN_IF_ERROR(
          volume.Download(z, {attenuation.data(), {kSlab, shape.middle, shape.fast}}));
      std::transform(attenuation.begin(), attenuation.end(), hu.begin(), [&](float mu) {
        return static_cast<uint16_t>(std::clamp(std::floor(factor * mu + 0.5f), 0.0f, kLargestHu));
      });
      ISO_RETURN_IF_ERROR(writer_.AppendReference(hu));
    }
    return absl::OkStatus();
  }

  const recon::ReconstructionPlan plan_;
  std::unique_ptr<ops::Device> device_;
  std::unique_ptr<ops::Session> session_;
  formats::RabbitCtWriter writer_;
  std::optional<recon::ChunkFilter> filter_;
  std::unique_ptr<ops::Backproject> backproject_;
  std::unique_ptr<ops::ProjectionStack> line_integrals_;
  recon::Filtered filtered_;
  std::vector<std::unique_ptr<ops::VolumeBuffer>> references_;  // by ascending size
  size_t next_chunk_ = 0;
  std::vector<std::byte> raw_;  // frames of the next chunk so far
  std::vector<uint16_t> counts_;
  std::vector<float> images_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<formats::FrameSink>> CreateRabbitCtDataSet(
    const std::filesystem::path& path, const recon::Acquisition& acquisition,
    const RabbitCtChoice& choice) {
  return RabbitCtDataSet::Create(path, acquisition, choice);
}

}  // namespace isocenter::cli
