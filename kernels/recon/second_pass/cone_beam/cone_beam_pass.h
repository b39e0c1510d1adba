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
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/second_pass/volume_memory.h"

namespace isocenter::recon {

/// After Hsieh, Chao, Thibault, Grekowicz, Horst, McOlash, Myers, Med. Phys. 27 (2000) 511: dense
/// and empty matter is taken from the volume, projected as the scan was and reconstructed; what the
/// reconstruction has beside what was projected is the artefact. In turn: MakeModel, Step until it
/// says that it is done, TakeOff. Not thread-safe.
class ConeBeamPass {
 public:
  /// `plan`, which has a cone_beam, and `devices` must outlive it. `threads` of the host.
  ConeBeamPass(const SecondPassPlan& plan, const ops::Registry& registry,
               std::span<ops::Device* const> devices, int threads);

  /// On the host alone. `volume` in HU; `matrices` of all frames. Errors: FAILED_PRECONDITION
  /// (an object that goes on sideways beyond the volume or the field of view), RESOURCE_EXHAUSTED.
  absl::Status MakeModel(HostView3<const float> volume, std::span<const ProjectionMatrix> matrices);
  /// The next views on the devices; true when the model has been reconstructed. Errors:
  /// RESOURCE_EXHAUSTED, a device's.
  absl::StatusOr<bool> Step();
  /// On the host alone. Errors: RESOURCE_EXHAUSTED.
  absl::Status TakeOff(HostView3<float> volume);

  /// Of the views, those that have been projected.
  int views_done() const { return next_view_; }
  std::string findings() const;
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace();

 private:
  absl::Status CheckWhole() const;
  absl::Status Begin();
  absl::Status ProjectChunk(const Chunk& chunk);

  const SecondPassPlan& all_;
  const ConeBeamPlan& plan_;
  const ops::Registry& registry_;
  const std::vector<ops::Device*> devices_;
  ThreadPool threads_;
  std::vector<ProjectionMatrix> matrices_;  // of binned pixels
  SeenSlices seen_;
  std::optional<VolumeMemory> model_, reconstructed_;
  ConeBeamFindings findings_;
  int next_view_ = 0;
  // While the devices work:
  std::unique_ptr<ops::HostMemory> lines_;  // of a chunk
  std::unique_ptr<ops::Session> session_;   // before all that lives in it
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> projections_;
  std::unique_ptr<ops::ForwardProject> project_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;
  std::unique_ptr<Reconstructor> reconstructor_;
};

}  // namespace isocenter::recon
