#include "kernels/ops/second_pass.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {
namespace {

absl::Status CheckFrames(int64_t views, const ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckUse(frames, StackUse::kLineIntegrals));
  Shape3 used = frames.shape();
  used.slow = views;
  return CheckSlices("views", 0, used, frames.shape());
}

absl::Status CheckBeside(absl::string_view what, const ProjectionStack& beside,
                         const ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckUse(beside, StackUse::kLineIntegrals));
  return CheckSameShape(what, beside.shape(), frames.shape());
}

}  // namespace

absl::Status InterpolateTrace::Run(int64_t views, const MetalTrace& trace,
                                   const ProjectionStack& metal, const ProjectionStack* prior,
                                   ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckNotNegative("the least line integral of metal", trace.least));
  if (trace.margin < 0 || trace.margin > kMostTraceMargin) {
    return absl::InvalidArgumentError(absl::StrCat("the margin of a metal trace is ", trace.margin,
                                                   "; legal is 0 to ", kMostTraceMargin));
  }
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckBeside("the metal's line integrals", metal, frames));
  if (prior != nullptr) {
    ISO_RETURN_IF_ERROR(CheckBeside("the prior's line integrals", *prior, frames));
  }
  return DoRun(views, trace, metal, prior, frames);
}

absl::Status CorrectBone::Run(int64_t views, const ProjectionStack& bone, ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckBeside("the bone's paths", bone, frames));
  return DoRun(views, bone, frames);
}

absl::Status RemoveScatter::Run(int64_t views, const ProjectionStack& scatter,
                                ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckUse(scatter, StackUse::kLineIntegrals));
  const Shape3& cells = scatter.shape();
  if (cells.slow != frames.shape().slow || cells.middle < 1 || cells.fast < 1 ||
      cells.middle > kMostScatterCells || cells.fast > kMostScatterCells) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scatter is of ", cells.slow, " views of ", cells.fast, " x ", cells.middle,
        " cells; legal is that of ", frames.shape().slow, " views of 1 to ", kMostScatterCells));
  }
  return DoRun(views, scatter, frames);
}

absl::Status CheckHasBone(const Calibration& calibration) {
  if (calibration.bone.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the calibration '", calibration.name,
      "' has no bone table; legal for a correction of bone's hardening are those that have one"));
}

}  // namespace isocenter::ops
