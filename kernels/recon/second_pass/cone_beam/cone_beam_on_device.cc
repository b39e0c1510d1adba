#include "kernels/recon/second_pass/cone_beam/cone_beam_on_device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/second_pass/settings.h"

namespace isocenter::recon {
namespace {

ops::ConeBeamSpec SpecOf(const ConeBeamPlan& plan, const ops::HounsfieldScale& scale,
                         const SeenSlices& seen, const ops::ConeBeamHeights& heights) {
  const MetalSettings tissue;
  return {.merge = plan.merge,
          .merge_slices = plan.merge_slices,
          .more_below = plan.more_below,
          .air_hu = tissue.air_hu,
          .tissue_hu = tissue.tissue_hu,
          .bone_hu = tissue.bone_hu,
          .scale = scale,
          .first = seen.first,
          .last = seen.last,
          .heights = heights};
}

int64_t CountSeen(const SeenSlices& seen) {
  int64_t voxels = 0;
  for (size_t i = 0; i < seen.first.size(); ++i) {
    voxels += std::max(0, seen.last[i] - seen.first[i] + 1);
  }
  return voxels;
}

}  // namespace

ConeBeamOnDevice::ConeBeamOnDevice(const SecondPassPlan& plan, ops::ConeBeamArtefactFactory factory,
                                   ops::Session& session, StagedCopies& copies)
    : all_(plan),
      plan_(*plan.cone_beam),
      factory_(std::move(factory)),
      session_(session),
      copies_(copies),
      shares_(ConeBeamShares::Of(plan_)) {}

absl::StatusOr<std::unique_ptr<ConeBeamOnDevice>> ConeBeamOnDevice::Create(
    const SecondPassPlan& plan, const ops::Registry& registry, ops::Session& session,
    StagedCopies& copies) {
  ISO_ASSIGN_OR_RETURN(auto factory, registry.cone_beam.Find(session.backend()));
  std::unique_ptr<ConeBeamOnDevice> self(
      new ConeBeamOnDevice(plan, std::move(factory), session, copies));
  ISO_ASSIGN_OR_RETURN(self->volume_, session.NewVolume(plan.grid));
  ISO_ASSIGN_OR_RETURN(self->reconstructed_, session.NewVolume(self->plan_.model.grid));
  return self;
}

absl::StatusOr<double> ConeBeamOnDevice::MakeModel(const SeenSlices& seen,
                                                   ops::VolumeBuffer& model) {
  ISO_ASSIGN_OR_RETURN(artefact_, factory_(session_, SpecOf(plan_, all_.warm_start->hounsfield,
                                                            seen, shares_.heights())));
  ISO_RETURN_IF_ERROR(artefact_->MakeModel(*volume_, model));
  const ModelSides sides = FindSides(plan_, seen);
  ISO_ASSIGN_OR_RETURN(const int64_t object,
                       artefact_->CountDense(sides.columns, LeastOfObject(plan_), model));
  return sides.Cut(object);
}

absl::StatusOr<ConeBeamFindings> ConeBeamOnDevice::TakeOff(const SeenSlices& seen,
                                                           HostView3<const float> reconstructed,
                                                           ops::VolumeBuffer& model) {
  ISO_RETURN_IF_ERROR(copies_.Upload(reconstructed, *reconstructed_));
  ISO_ASSIGN_OR_RETURN(const std::vector<ops::ConeBeamSums> sums,
                       artefact_->Find(model, *reconstructed_));
  shares_.Add(sums);
  ConeBeamFindings findings{.unsure_hu = shares_.Choose()};
  ISO_ASSIGN_OR_RETURN(const ops::ConeBeamArtefact::Kept kept,
                       artefact_->Keep(shares_.shares(), model));
  findings.most_hu = kept.most;
  if (const int64_t voxels = CountSeen(seen); voxels > 0) {
    findings.rms_hu = std::sqrt(kept.squares / static_cast<double>(voxels));
  }
  ISO_RETURN_IF_ERROR(artefact_->TakeOff(model, *volume_));
  return findings;
}

std::optional<MemoryParts> ConeBeamOnDeviceParts(const ConeBeamPlan& plan, const VolumeGrid& volume,
                                                 const ops::Registry& registry,
                                                 const ops::Device& device) {
  const auto factory = registry.cone_beam.Find(device.backend());
  if (!factory.ok()) return std::nullopt;
  const ops::ConeBeamSpec spec{.heights = ConeBeamShares::Of(plan).heights()};
  return MemoryParts{
      {"volume that is corrected", device.VolumeBytes(volume)},
      {"model's reconstruction", device.VolumeBytes(plan.model.grid)},
      {"model's artefact", factory->WorkspaceBytes(device, {.grid = plan.model.grid}, spec)}};
}

}  // namespace isocenter::recon
