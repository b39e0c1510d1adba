#include "kernels/base/status_macros.h"
#include "kernels/ops/session.h"
#include "kernels/rabbitct/schedule.h"

namespace isocenter::rabbitct {
namespace {

// Large, so that the volume is read and written rarely; and it divides the 496 projections of the
// benchmark, so that none is left for the end, which the benchmark does not time.
constexpr int kBatch = 31;

class WaitingSchedule final : public Schedule {
 public:
  explicit WaitingSchedule(const Bench& bench) : bench_(bench) {}

  absl::Status Allocate() {
    ISO_ASSIGN_OR_RETURN(batch_, bench_.NewBatch(kBatch));
    ISO_ASSIGN_OR_RETURN(volume_, bench_.session->NewVolume(bench_.grid));
    scaled_.resize(static_cast<size_t>(bench_.image.count()));
    return absl::OkStatus();
  }

  absl::Status Add(const ProjectionMatrix& matrix, std::span<const float> image,
                   float weight) override {
    const float* pixels = image.data();
    if (weight != 1) {
      for (size_t i = 0; i < image.size(); ++i) scaled_[i] = weight * image[i];
      pixels = scaled_.data();
    }
    ISO_RETURN_IF_ERROR(
        batch_.stack->Upload(static_cast<int64_t>(batch_.matrices.size()), {pixels, bench_.image}));
    batch_.matrices.push_back(matrix);
    return batch_.matrices.size() == kBatch ? Flush() : absl::OkStatus();
  }

  absl::Status Flush() override {
    ISO_RETURN_IF_ERROR(bench_.Add(batch_, *volume_));
    batch_.matrices.clear();
    return bench_.session->Synchronize();
  }

  absl::Status Download(HostView3<float> volume) override { return volume_->Download(0, volume); }

 private:
  const Bench bench_;
  Batch batch_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::vector<float> scaled_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Schedule>> NewWaitingSchedule(const Bench& bench) {
  auto schedule = std::make_unique<WaitingSchedule>(bench);
  ISO_RETURN_IF_ERROR(schedule->Allocate());
  return schedule;
}

}  // namespace isocenter::rabbitct
