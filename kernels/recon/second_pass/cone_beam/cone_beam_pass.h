// The cone-beam artefact of a volume: that of its bone and air, which are known from the volume
// itself.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_artefact.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_model.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_on_device.h"
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/second_pass/volume_memory.h"

namespace isocenter::recon {

/// After Hsieh, Chao, Thibault, Grekowicz, Horst, McOlash, Myers, Med. Phys. 27 (2000) 511: dense
/// and empty matter is taken from the volume, projected as the scan was and reconstructed; what the
/// reconstruction has beside what was projected is the artefact. In turn: MakeModel, Step until it
/// says that it is done, TakeOff; with a plan that is on_device Upload before, Download after, and
/// those that say so between. Not thread-safe.
class ConeBeamPass {
 public:
  /// `plan`, which has a cone_beam, and `devices` must outlive it. `threads` of the host.
  ConeBeamPass(const SecondPassPlan& plan, const ops::Registry& registry,
               std::span<ops::Device* const> devices, int threads);

  /// `volume` in HU. Errors: INVALID_ARGUMENT (a value that is not finite), RESOURCE_EXHAUSTED, a
  /// device's.
  absl::Status Upload(HostView3<const float> volume);
  /// On the host alone. `volume` in HU; `matrices` of all frames. Errors: FAILED_PRECONDITION
  /// (an object that goes on sideways beyond the volume or the field of view), RESOURCE_EXHAUSTED.
  absl::Status MakeModel(HostView3<const float> volume, std::span<const ProjectionMatrix> matrices);
  absl::Status MakeModelOnDevice(std::span<const ProjectionMatrix> matrices);
  /// The next views on the devices; true when the model has been reconstructed. Errors:
  /// RESOURCE_EXHAUSTED, a device's.
  absl::StatusOr<bool> Step();
  /// On the host alone. Errors: RESOURCE_EXHAUSTED.
  absl::Status TakeOff(HostView3<float> volume);
  absl::Status TakeOffOnDevice();
  absl::Status Download(HostView3<float> volume) { return on_device_->Download(volume); }

  /// Of the views, those that have been projected.
  int views_done() const { return next_view_; }
  std::string findings() const;
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace();

 private:
  void SetMatrices(std::span<const ProjectionMatrix> matrices);
  absl::Status CheckWhole(double cut) const;
  /// Session and buffers, but for what reconstructs.
  absl::Status Open();
  absl::Status Begin();
  absl::Status ProjectChunk(const Chunk& chunk);

  const SecondPassPlan& all_;
  const ConeBeamPlan& plan_;
  const ops::Registry& registry_;
  const std::vector<ops::Device*> devices_;
  ThreadPool threads_;
  std::vector<ProjectionMatrix> matrices_;  // of binned pixels
  SeenSlices seen_;
  std::optional<VolumeMemory> model_;  // on the host alone
  std::optional<VolumeMemory> reconstructed_;
  ConeBeamFindings findings_;
  int next_view_ = 0;
  // While the devices work:
  std::unique_ptr<ops::HostMemory> locked_;    // lines of a chunk, slices on their way
  std::unique_ptr<ops::Session> session_;      // before all that lives in it
  std::unique_ptr<ops::VolumeBuffer> volume_;  // the model's
  std::unique_ptr<ops::ProjectionStack> projections_;
  std::unique_ptr<ops::ForwardProject> project_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;
  std::unique_ptr<Reconstructor> reconstructor_;
  std::optional<StagedCopies> copies_;
  std::unique_ptr<ConeBeamOnDevice> on_device_;  // null: the host does it
};

}  // namespace isocenter::recon
