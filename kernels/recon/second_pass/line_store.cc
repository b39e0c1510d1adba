#include "kernels/recon/second_pass/line_store.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::recon {

absl::StatusOr<std::unique_ptr<LineStore>> LineStore::Create(const RefinementBasis& plan,
                                                             const Acquisition* stored,
                                                             const ops::Registry& registry,
                                                             ops::Device& device) {
  std::unique_ptr<LineStore> self(new LineStore(plan));
  if (stored == nullptr) return self;
  const Detector& detector = plan.acquisition.detector;
  ISO_ASSIGN_OR_RETURN(self->session_, device.NewSession());
  ISO_ASSIGN_OR_RETURN(self->converter_,
                       LineConverter::Create(*stored, {0, detector.rows}, plan.chunk_views,
                                             registry, *self->session_));
  const Shape3 all{plan.views(), detector.rows, detector.columns};
  ISO_ASSIGN_OR_RETURN(self->lines_,
                       device.NewHostMemory(all.count() * static_cast<int64_t>(sizeof(float))));
  return self;
}

absl::Status LineStore::Check(const ops::RawFrames& frames,
                              std::span<const ProjectionMatrix> measured,
                              std::span<const float> doses) const {
  const int64_t count = frames.shape().slow;
  const int64_t most = std::min(plan_.chunk_views, plan_.views() - next_view_);
  if (count < 1 || count > most) {
    return absl::InvalidArgumentError(absl::StrCat(count, " frames after ", next_view_, " of ",
                                                   plan_.views(), "; legal is 1 to ", most));
  }
  ISO_RETURN_IF_ERROR(CheckFrames(plan_.acquisition, count, frames, measured, doses));
  for (size_t i = 0; i < measured.size(); ++i) {
    ISO_RETURN_IF_ERROR(ops::CheckMatrix(next_view_ + i, measured[i]));
  }
  return absl::OkStatus();
}

absl::Status LineStore::Push(const ops::RawFrames& frames,
                             std::span<const ProjectionMatrix> measured,
                             std::span<const float> doses) {
  if (closed_) return absl::FailedPreconditionError("frames after the start");
  ISO_RETURN_IF_ERROR(Check(frames, measured, doses));
  const int count = static_cast<int>(frames.shape().slow);
  std::copy(measured.begin(), measured.end(), matrices_.begin() + next_view_);
  if (converter_ != nullptr) {
    ISO_RETURN_IF_ERROR(converter_->Run(frames, doses, Lines(next_view_, count)));
  }
  next_view_ += count;
  return absl::OkStatus();
}

absl::Status LineStore::CheckAllPushed() const {
  if (next_view_ == plan_.views()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("only ", next_view_, " of ", plan_.views(), " frames have been pushed"));
}

void LineStore::Close() {
  closed_ = true;
  converter_.reset();
  session_.reset();
}

HostView3<float> LineStore::Lines(int first_view, int views) {
  const Detector& detector = plan_.acquisition.detector;
  const int64_t frame = int64_t{detector.rows} * detector.columns;
  return {reinterpret_cast<float*>(lines_->data()) + first_view * frame,
          {views, detector.rows, detector.columns}};
}

}  // namespace isocenter::recon
