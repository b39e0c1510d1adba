// What ConeBeamPass does with the volume, where a device does it.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_artefact.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_model.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_shares.h"
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/second_pass/staged_copies.h"

namespace isocenter::recon {

/// The volume is copied in once and out once. In turn: Upload, MakeModel, TakeOff, Download. Not
/// thread-safe.
class ConeBeamOnDevice {
 public:
  /// `plan`, whose cone_beam is on_device, and what else it is given must outlive it. Errors:
  /// RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<ConeBeamOnDevice>> Create(const SecondPassPlan& plan,
                                                                  const ops::Registry& registry,
                                                                  ops::Session& session,
                                                                  StagedCopies& copies);

  absl::Status Upload(HostView3<const float> volume) { return copies_.Upload(volume, *volume_); }
  /// Returns ModelSides::Cut.
  absl::StatusOr<double> MakeModel(const SeenSlices& seen, ops::VolumeBuffer& model);
  /// The model becomes its artefact.
  absl::StatusOr<ConeBeamFindings> TakeOff(const SeenSlices& seen,
                                           HostView3<const float> reconstructed,
                                           ops::VolumeBuffer& model);
  absl::Status Download(HostView3<float> volume) { return copies_.Download(*volume_, volume); }

 private:
  ConeBeamOnDevice(const SecondPassPlan& plan, ops::ConeBeamArtefactFactory factory,
                   ops::Session& session, StagedCopies& copies);

  const SecondPassPlan& all_;
  const ConeBeamPlan& plan_;
  const ops::ConeBeamArtefactFactory factory_;
  ops::Session& session_;
  StagedCopies& copies_;
  ConeBeamShares shares_;
  std::unique_ptr<ops::VolumeBuffer> volume_, reconstructed_;
  std::unique_ptr<ops::ConeBeamArtefact> artefact_;  // null before MakeModel
};

/// What it takes of the device's memory beside the model; none where the backend cannot do it.
std::optional<MemoryParts> ConeBeamOnDeviceParts(const ConeBeamPlan& plan, const VolumeGrid& volume,
                                                 const ops::Registry& registry,
                                                 const ops::Device& device);

}  // namespace isocenter::recon
