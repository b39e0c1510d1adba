#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/ops/session.h"
#include "kernels/rabbitct/schedule.h"

namespace isocenter::rabbitct {
namespace {

constexpr int kFirstBatches[] = {8, 16, 24};

std::vector<int> BatchesOf(int images) {
  std::vector<int> sizes;
  int left = images;
  const auto add = [&](int most) {
    sizes.push_back(std::min(most, left));
    left -= sizes.back();
  };
  for (const int first : kFirstBatches) {
    if (left > 0) add(first);
  }
  while (left > 0) add(kLaunchViews);
  return sizes;
}

class OverlappedSchedule final : public Schedule {
 public:
  explicit OverlappedSchedule(const Bench& bench) : bench_(bench) {}

  absl::Status Allocate() {
    ISO_ASSIGN_OR_RETURN(buffers_, ImageBuffers::Create(bench_.session->device(),
                                                        bench_.images_at_once, bench_.image));
    sizes_ = BatchesOf(buffers_->count());
    ISO_ASSIGN_OR_RETURN(filling_, bench_.NewBatch(kLaunchViews));
    ISO_ASSIGN_OR_RETURN(waiting_, bench_.NewBatch(kLaunchViews));
    ISO_ASSIGN_OR_RETURN(volume_, bench_.session->NewVolume(bench_.grid));
    return absl::OkStatus();
  }

  absl::Status Add(const ProjectionMatrix& matrix, std::span<const float> image,
                   float weight) override {
    ISO_ASSIGN_OR_RETURN(const HostView3<const float> from,
                         buffers_->Take(image, weight, position_));
    ISO_RETURN_IF_ERROR(
        filling_.stack->StartUpload(static_cast<int64_t>(filling_.matrices.size()), from));
    filling_.matrices.push_back(matrix);
    ++position_;
    if (static_cast<int>(filling_.matrices.size()) == sizes_[batch_]) {
      // What a session starts waits for what it started before: copies of the batch that is
      // complete now began before the one that waited is back-projected, and so run beside it.
      ISO_RETURN_IF_ERROR(Empty(waiting_));
      std::swap(waiting_, filling_);
      ++batch_;
    }
    return batch_ == sizes_.size() ? Flush() : absl::OkStatus();
  }

  absl::Status Flush() override {
    ISO_RETURN_IF_ERROR(Empty(waiting_));
    ISO_RETURN_IF_ERROR(Empty(filling_));
    batch_ = 0;
    position_ = 0;
    ISO_RETURN_IF_ERROR(bench_.session->Synchronize());
    buffers_->Reuse();
    return absl::OkStatus();
  }

  absl::Status Download(HostView3<float> volume) override { return volume_->Download(0, volume); }
  ImageBuffers* buffers() override { return &*buffers_; }
  bool busy() const override { return position_ > 0; }

 private:
  absl::Status Empty(Batch& batch) {
    ISO_RETURN_IF_ERROR(bench_.Add(batch, *volume_));
    batch.matrices.clear();
    return absl::OkStatus();
  }

  const Bench bench_;
  std::optional<ImageBuffers> buffers_;
  std::vector<int> sizes_;  // of the batches between two pauses
  size_t batch_ = 0;        // of them
  int position_ = 0;        // images since the pause
  Batch filling_;           // what calls add to
  Batch waiting_;           // complete, back-projected when the next one is
  std::unique_ptr<ops::VolumeBuffer> volume_;
};

}  // namespace

int64_t OverlappedBytes(const Bench& bench, int64_t workspace) {
  const ops::Device& device = bench.session->device();
  return device.VolumeBytes(bench.grid) + workspace +
         2 * device.ProjectionStackBytes({kLaunchViews, bench.image.middle, bench.image.fast},
                                         ops::StackUse::kProjections);
}

absl::StatusOr<std::unique_ptr<Schedule>> NewOverlappedSchedule(const Bench& bench) {
  auto schedule = std::make_unique<OverlappedSchedule>(bench);
  ISO_RETURN_IF_ERROR(schedule->Allocate());
  return schedule;
}

}  // namespace isocenter::rabbitct
