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

absl::Status ConeBeamArtefact::CheckModel(const VolumeBuffer& model) const {
  const Shape3 shape = model.grid().shape();
  const int64_t columns = shape.middle * shape.fast;
  if (static_cast<int64_t>(spec_.first.size()) == columns &&
      spec_.last.size() == spec_.first.size())
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a model of ", columns, " columns, of which ",
                                                 spec_.first.size(), " and ", spec_.last.size(),
                                                 " have slices that are known; legal is all"));
}

absl::Status ConeBeamArtefact::CheckBoth(const VolumeBuffer& volume,
                                         const VolumeBuffer& model) const {
  ISO_RETURN_IF_ERROR(CheckModel(model));
  const Shape3 fine = volume.grid().shape(), coarse = model.grid().shape();
  const auto merged = [](int64_t count, int merge) { return (count + merge - 1) / merge; };
  const Shape3 least{spec_.more_below + merged(fine.slow, spec_.merge_slices),
                     merged(fine.middle, spec_.merge), merged(fine.fast, spec_.merge)};
  if (coarse.slow >= least.slow && coarse.middle == least.middle && coarse.fast == least.fast)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the model has ", coarse.fast, " x ", coarse.middle, " x ", coarse.slow, " voxels; legal is ",
      least.fast, " x ", least.middle, " x ", least.slow, " or more slices"));
}

absl::Status ConeBeamArtefact::MakeModel(const VolumeBuffer& volume, VolumeBuffer& model) {
  ISO_RETURN_IF_ERROR(CheckBoth(volume, model));
  return DoMakeModel(volume, model);
}

absl::StatusOr<int64_t> ConeBeamArtefact::CountDense(std::span<const int> columns, double least,
                                                     const VolumeBuffer& model) {
  ISO_RETURN_IF_ERROR(CheckModel(model));
  for (const int column : columns) {
    if (column >= 0 && column < static_cast<int>(spec_.first.size())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column ", column, " of a model; legal is 0 to ", spec_.first.size() - 1));
  }
  return DoCountDense(columns, least, model);
}

absl::StatusOr<std::vector<ConeBeamSums>> ConeBeamArtefact::Find(VolumeBuffer& model,
                                                                 VolumeBuffer& reconstructed) {
  ISO_RETURN_IF_ERROR(CheckModel(model));
  ISO_RETURN_IF_ERROR(CheckSameShape("what was reconstructed of the model",
                                     reconstructed.grid().shape(), model.grid().shape()));
  return DoFind(model, reconstructed);
}

absl::StatusOr<ConeBeamArtefact::Kept> ConeBeamArtefact::Keep(std::span<const float> shares,
                                                              VolumeBuffer& found) {
  ISO_RETURN_IF_ERROR(CheckModel(found));
  if (static_cast<int>(shares.size()) != spec_.heights.count) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", shares.size(),
                                                   " shares; legal is one for each of ",
                                                   spec_.heights.count, " heights"));
  }
  return DoKeep(shares, found);
}

absl::Status ConeBeamArtefact::TakeOff(const VolumeBuffer& artefact, VolumeBuffer& volume) {
  ISO_RETURN_IF_ERROR(CheckBoth(volume, artefact));
  return DoTakeOff(artefact, volume);
}

absl::Status CheckHasBone(const Calibration& calibration) {
  if (calibration.bone.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the calibration '", calibration.name,
      "' has no bone table; legal for a correction of bone's hardening are those that have one"));
}

}  // namespace isocenter::ops
