// One device's part of a reconstruction: the slabs that are its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/plan.h"

namespace isocenter::recon {

/// The frames of one chunk and what belongs to them.
struct ChunkData {
  Chunk chunk;
  ops::RawFrames frames;
  std::span<const ProjectionMatrix> matrices;
};

/// Works in a session of its own; only starts work, and waits where the device has no more room for
/// it. Not thread-safe.
class DeviceWorker {
 public:
  /// `slabs` are a run of plan.slabs; `plan` and `device` must outlive the worker.
  static absl::StatusOr<std::unique_ptr<DeviceWorker>> Create(const ReconstructionPlan& plan,
                                                              std::span<const Slab> slabs,
                                                              const ops::Registry& registry,
                                                              ops::Device& device);

  /// Slabs that are not done yet: kChunksFirst works on all of them at once, kSlabsFirst on one.
  bool done() const { return next_slab_ >= slabs_.size(); }

  /// Back-projects the next chunk into the slabs that are worked on. With kept projections chunks
  /// are passed once, for the first slab; otherwise once for each round of slabs.
  absl::Status Add(const ChunkData& data);
  /// The same from kept projections, for all chunks.
  absl::Status AddKept();
  /// After the last chunk: converts the slabs to Hounsfield units, starts their download into
  /// `volume` (the whole grid's), and goes on to the next ones.
  absl::Status FinishSlabs(HostView3<float> volume);
  absl::Status Synchronize() { return session_->Synchronize(); }
  /// Back to the first slab.
  absl::Status Restart();

  ops::Timeline& timeline() { return session_->timeline(); }

 private:
  DeviceWorker(const ReconstructionPlan& plan, std::span<const Slab> slabs,
               std::unique_ptr<ops::Device> session);
  absl::Status AllocateBuffers();
  /// Slabs that are worked on.
  std::span<const Slab> OpenSlabs() const;
  ops::VolumeBuffer& VolumeOf(const Slab& slab);
  absl::Status OpenNext();
  absl::Status Backproject(std::span<const ProjectionMatrix> matrices,
                           const ops::ProjectionStack& filtered);

  /// Filtered projections and the matrices of the rows that were filtered.
  struct Filtered {
    std::unique_ptr<ops::ProjectionStack> stack;
    std::vector<ProjectionMatrix> matrices;
  };

  const ReconstructionPlan& plan_;
  const std::span<const Slab> slabs_;
  const std::unique_ptr<ops::Device> session_;  // before all that lives in it
  std::unique_ptr<ops::Preprocess> preprocess_;
  std::unique_ptr<ops::RampFilter> ramp_filter_;
  std::unique_ptr<ops::Backproject> backproject_;
  std::unique_ptr<ops::ToHounsfield> to_hounsfield_;
  std::unique_ptr<ops::ProjectionStack> line_integrals_;
  std::vector<Filtered> filtered_;  // one for each chunk where projections are kept, else one
  std::vector<std::unique_ptr<ops::VolumeBuffer>> volumes_;
  size_t next_slab_ = 0;  // the first that is not done
  size_t next_kept_ = 0;  // in filtered_
};

}  // namespace isocenter::recon
