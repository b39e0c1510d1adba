// One device's part of a reconstruction: the slabs that are its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/chunk_filter.h"
#include "kernels/recon/frame_corrector.h"
#include "kernels/recon/plan.h"
#include "kernels/recon/preview.h"

namespace isocenter::recon {

/// Slices [first_slice, first_slice + slices) are in host memory.
using SlicesArrived = std::function<void(int first_slice, int slices)>;

/// Works in a session of its own; only starts work, and waits where the device has no more room for
/// it. Not thread-safe.
class DeviceWorker {
 public:
  /// `slabs` are a run of plan.slabs; `plan` and `device` must outlive the worker.
  static absl::StatusOr<std::unique_ptr<DeviceWorker>> Create(const ReconstructionPlan& plan,
                                                              std::span<const Slab> slabs,
                                                              const ops::Registry& registry,
                                                              ops::Device& device,
                                                              const ops::SessionOptions& session);
  /// Waits for what has been started.
  ~DeviceWorker();

  /// Before the first chunk: makes the preview's planes too. Errors: RESOURCE_EXHAUSTED.
  absl::Status MakePreview();

  /// Slabs that are not done yet: kChunksFirst works on all of them at once, kSlabsFirst on one.
  bool done() const { return next_slab_ >= slabs_.size(); }

  /// Back-projects the next chunk into the slabs that are worked on. With kept projections chunks
  /// are passed once, for the first slab; otherwise once for each round of slabs.
  absl::Status Add(ChunkData data);
  /// The same from kept projections.
  absl::Status AddKept(int chunk);
  /// After the last chunk: converts the slabs to Hounsfield units, starts their download into
  /// `volume` (the whole grid's), and goes on to the next ones. `arrived` is called for each piece
  /// of them as ops::VolumeBuffer::StartDownload says.
  absl::Status FinishSlabs(HostView3<float> volume, const SlicesArrived& arrived);
  /// What the preview shows after the chunks of the first round so far; only with MakePreview.
  absl::StatusOr<std::vector<PreviewPlane>> TakePreview() const;
  absl::Status Synchronize() { return session_->Synchronize(); }
  /// Back to the first slab.
  absl::Status Restart();

  ops::Timeline& timeline() { return session_->timeline(); }

 private:
  DeviceWorker(const ReconstructionPlan& plan, std::span<const Slab> slabs,
               std::unique_ptr<ops::Session> session);
  absl::Status AllocateBuffers();
  /// Slabs that are worked on.
  std::span<const Slab> OpenSlabs() const;
  ops::VolumeBuffer& VolumeOf(const Slab& slab);
  absl::Status OpenNext();

  struct Preview {
    std::unique_ptr<PreviewPlanes> planes;
    /// Of one view; only where the rows that the slabs need are not all that the planes see.
    std::unique_ptr<ops::ProjectionStack> line_integrals;
    Filtered filtered;
  };

  /// Slabs whose rows are filtered together.
  std::span<const Slab> ServedSlabs() const;
  absl::Status Backproject(const Filtered& filtered);
  absl::Status AddToPreview(const ChunkData& data, const Filtered& filtered);
  absl::Status StartDownloads(ops::VolumeBuffer& slices, const Slab& slab, HostView3<float> volume,
                              const SlicesArrived& arrived);

  const ReconstructionPlan& plan_;
  const std::span<const Slab> slabs_;
  const std::unique_ptr<ops::Session> session_;  // before all that lives in it
  std::unique_ptr<FrameCorrector> corrector_;    // null: nothing to correct
  std::optional<ChunkFilter> filter_;
  std::unique_ptr<ops::Backproject> backproject_;
  std::unique_ptr<ops::ToHounsfield> to_hounsfield_;
  std::unique_ptr<ops::ProjectionStack> line_integrals_;
  std::vector<Filtered> filtered_;  // one for each chunk where projections are kept, else one
  std::vector<std::unique_ptr<ops::VolumeBuffer>> volumes_;
  Preview preview_;
  size_t next_slab_ = 0;  // the first that is not done
  size_t next_kept_ = 0;  // in filtered_
};

}  // namespace isocenter::recon
