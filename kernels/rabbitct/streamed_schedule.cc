#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/rabbitct/schedule.h"
#include "kernels/rabbitct/streamed_volume.h"

namespace isocenter::rabbitct {
namespace {

// Of a room for parts, the paper's; on devices with little memory an eighth of it.
constexpr int64_t kMostRoomBytes = int64_t{256} << 20;
constexpr int kPauses = 2;  // whose images stay at most

// What a device can hold.
struct Sizes {
  int slices = 0;  // of a part
  int images = 0;  // that stay
};

VolumeGrid PartOf(VolumeGrid grid, int slices) {
  grid.nz = slices;
  return grid;
}

absl::StatusOr<Sizes> SizesFor(const Bench& bench, const ops::BackprojectFactory& factory) {
  const ops::Device& device = bench.session->device();
  const int64_t limit = device.limits().memory_bytes;
  const Shape3 launch{kLaunchViews, bench.image.middle, bench.image.fast};
  const int64_t slice = device.VolumeBytes(PartOf(bench.grid, 1));
  const int step = device.traits().slab_slices;
  const int64_t room = std::min(kMostRoomBytes, limit / 8);
  const int64_t slices = std::max<int64_t>(room / slice / step * step, step);
  Sizes sizes{.slices = static_cast<int>(std::min<int64_t>(slices, bench.grid.nz))};
  const VolumeGrid part = PartOf(bench.grid, sizes.slices);
  const int64_t beside = 2 * device.VolumeBytes(part) +
                         factory.WorkspaceBytes(device, {.stack = launch, .grid = part});
  const int64_t batch = device.ProjectionStackBytes(launch, ops::StackUse::kProjections);
  const int64_t batches = (limit - beside) / batch;
  if (limit < beside || batches < 1) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a volume of ", bench.grid.nx, "³ voxels in parts of ", sizes.slices, " slices needs ",
        beside + batch, " bytes of device memory; the limit is ", limit));
  }
  const int at_once = std::min(bench.images_at_once, ImageBuffers::kMost);
  const int64_t most = std::min<int64_t>(batches * kLaunchViews, kPauses * at_once);
  // Whole pauses if there is room for one: all that is between two of them is done together.
  sizes.images = static_cast<int>(most < at_once ? most : most / at_once * at_once);
  return sizes;
}

class StreamedSchedule final : public Schedule {
 public:
  StreamedSchedule(const Bench& bench, const Sizes& sizes) : bench_(bench), sizes_(sizes) {}

  absl::Status Allocate() {
    ISO_ASSIGN_OR_RETURN(buffers_, ImageBuffers::Create(bench_.session->device(),
                                                        bench_.images_at_once, bench_.image));
    for (int first = 0; first < sizes_.images; first += kLaunchViews) {
      ISO_ASSIGN_OR_RETURN(Batch batch,
                           bench_.NewBatch(std::min(kLaunchViews, sizes_.images - first)));
      batches_.push_back(std::move(batch));
    }
    ISO_ASSIGN_OR_RETURN(volume_,
                         StreamedVolume::Create(bench_.grid, sizes_.slices, *bench_.session));
    return absl::OkStatus();
  }

  absl::Status Add(const ProjectionMatrix& matrix, std::span<const float> image,
                   float weight) override {
    Batch& batch = batches_[static_cast<size_t>(images_ / kLaunchViews)];
    ISO_ASSIGN_OR_RETURN(const HostView3<const float> from,
                         buffers_->Take(image, weight, position_));
    ISO_RETURN_IF_ERROR(
        batch.stack->StartUpload(static_cast<int64_t>(batch.matrices.size()), from));
    batch.matrices.push_back(matrix);
    ++images_;
    ++position_;
    if (images_ == sizes_.images) ISO_RETURN_IF_ERROR(Pass());
    if (position_ < buffers_->count()) return absl::OkStatus();
    position_ = 0;  // the buffers will be written
    ISO_RETURN_IF_ERROR(bench_.session->Synchronize());
    buffers_->Reuse();
    return absl::OkStatus();
  }

  absl::Status Flush() override {
    if (images_ > 0 || !volume_->passed()) ISO_RETURN_IF_ERROR(Pass());
    position_ = 0;
    buffers_->Reuse();
    return absl::OkStatus();
  }

  absl::Status Download(HostView3<float> volume) override {
    const HostView3<float> own = volume_->voxels();
    if (volume.data() != own.data()) {
      std::memcpy(volume.data(), own.data(),
                  static_cast<size_t>(own.shape().count()) * sizeof(float));
    }
    return absl::OkStatus();
  }

  ImageBuffers* buffers() override { return &*buffers_; }
  float* volume() override { return volume_->voxels().data(); }
  bool busy() const override { return position_ > 0; }
  std::string text() const override {
    return absl::StrCat("the volume goes through the device in ", volume_->parts(), " parts of ",
                        sizes_.slices, " slices for each ", sizes_.images, " images");
  }

 private:
  absl::Status Pass() {
    ISO_RETURN_IF_ERROR(volume_->Pass([&](ops::VolumeBuffer& part) -> absl::Status {
      for (const Batch& batch : batches_) ISO_RETURN_IF_ERROR(bench_.Add(batch, part));
      return absl::OkStatus();
    }));
    for (Batch& batch : batches_) batch.matrices.clear();
    images_ = 0;
    return absl::OkStatus();
  }

  const Bench bench_;
  const Sizes sizes_;
  std::optional<ImageBuffers> buffers_;
  std::vector<Batch> batches_;
  std::unique_ptr<StreamedVolume> volume_;
  int images_ = 0;    // on the device
  int position_ = 0;  // images since the pause
};

}  // namespace

absl::StatusOr<std::unique_ptr<Schedule>> NewStreamedSchedule(
    const Bench& bench, const ops::BackprojectFactory& factory) {
  ISO_ASSIGN_OR_RETURN(const Sizes sizes, SizesFor(bench, factory));
  auto schedule = std::make_unique<StreamedSchedule>(bench, sizes);
  ISO_RETURN_IF_ERROR(schedule->Allocate());
  return schedule;
}

}  // namespace isocenter::rabbitct
