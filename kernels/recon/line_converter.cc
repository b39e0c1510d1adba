#include "kernels/recon/line_converter.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {
namespace {

Shape3 ShapeOf(const Acquisition& acquisition, RowRange rows, int64_t views) {
  return {views, rows.count, acquisition.detector.columns};
}

}  // namespace

absl::Status CheckDoseCount(int64_t views, std::span<const float> doses) {
  if (doses.empty() || static_cast<int64_t>(doses.size()) == views) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(doses.size(), " doses for ", views, " frames"));
}

std::span<const float> DosesOf(std::span<const float> doses, int first_view, int views) {
  return doses.empty() ? doses : doses.subspan(first_view, views);
}

absl::Status CheckFrames(const Acquisition& acquisition, int64_t count,
                         const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                         std::span<const float> doses) {
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("frames", frames.shape(),
                          Shape3{count, acquisition.detector.rows, acquisition.detector.columns}));
  if (static_cast<bool>(frames.counts) != (acquisition.pixel_type == PixelType::kUint16Counts)) {
    return absl::InvalidArgumentError("the frames are not of the plan's pixel type");
  }
  if (!measured.empty() && static_cast<int64_t>(measured.size()) != count) {
    return absl::InvalidArgumentError(
        absl::StrCat(measured.size(), " measured matrices for ", count, " frames"));
  }
  return CheckDoseCount(count, doses);
}

absl::StatusOr<std::unique_ptr<LineConverter>> LineConverter::Create(const Acquisition& acquisition,
                                                                     RowRange rows, int chunk_views,
                                                                     const ops::Registry& registry,
                                                                     ops::Session& session) {
  std::unique_ptr<LineConverter> self(new LineConverter(acquisition, rows, session));
  ISO_ASSIGN_OR_RETURN(self->corrector_,
                       FrameCorrector::Create(acquisition, chunk_views, registry, session));
  ISO_ASSIGN_OR_RETURN(const auto preprocess, registry.preprocess.Find(session.backend()));
  ISO_ASSIGN_OR_RETURN(self->preprocess_, preprocess(session));
  ISO_ASSIGN_OR_RETURN(self->lines_,
                       session.NewProjectionStack(ShapeOf(acquisition, rows, chunk_views),
                                                  ops::StackUse::kLineIntegrals));
  return self;
}

absl::StatusOr<int64_t> LineConverter::DeviceBytes(const Acquisition& acquisition, RowRange rows,
                                                   int chunk_views, const ops::Registry& registry,
                                                   const ops::Device& device) {
  const Shape3 shape = ShapeOf(acquisition, rows, chunk_views);
  ISO_ASSIGN_OR_RETURN(const auto preprocess, registry.preprocess.Find(device.backend()));
  ISO_ASSIGN_OR_RETURN(const int64_t corrections,
                       FrameCorrector::DeviceBytes(acquisition, chunk_views, registry, device));
  return corrections + device.ProjectionStackBytes(shape, ops::StackUse::kLineIntegrals) +
         preprocess.WorkspaceBytes(device, {.stack = shape});
}

absl::Status LineConverter::Run(const ops::RawFrames& frames, std::span<const float> doses,
                                HostView3<float> lines) {
  const int64_t count = frames.shape().slow;
  // Without the cosine a matrix counts for nothing: any legal one will do.
  const std::vector<ops::ViewWeights> weights(count, {.matrix = acquisition_.trajectory.front(),
                                                      .column_weight = column_weight_,
                                                      .cosine = false});
  ISO_RETURN_IF_ERROR(lines_->Reshape(ShapeOf(acquisition_, rows_, count)));
  {
    const StageScope scope(session_.timeline(), ops::Stage::kPreprocess);
    if (corrector_ == nullptr) {
      ISO_RETURN_IF_ERROR(preprocess_->Run(frames.rows(rows_.first, rows_.count),
                                           {.i0 = acquisition_.i0_counts}, weights, *lines_));
    } else {
      ISO_RETURN_IF_ERROR(corrector_->Run(frames.counts, doses));
      ISO_RETURN_IF_ERROR(
          preprocess_->Weigh(corrector_->line_integrals(), 0, rows_, weights, *lines_));
    }
  }
  return lines_->Download(0, lines);
}

}  // namespace isocenter::recon
