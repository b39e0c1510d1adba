// One attempt to refine a volume, on one place.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/ops/registry.h"
#include "kernels/recon/any_refinement.h"
#include "kernels/recon/motion/find_motion.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/self_calibration/self_calibration.h"
#include "server/jobs/frame_spool.h"
#include "server/pipeline/frames/frame_ledger.h"
#include "server/pipeline/runs/chunk_loader.h"
#include "server/pipeline/runs/reference_reader.h"
#include "server/pipeline/runs/run.h"
#include "server/scheduler/scheduler.h"

namespace isocenter::pipeline {

/// The plan and all memory of one attempt. Used by the slot's thread, but for volume(), which is
/// its exporter's after Finish. Its trace is the first kMostSpans of what the devices did, but for
/// early passes, which are before the job.
class RefinementRun : public Run {
 public:
  /// Takes the host's memory; the devices' memory is taken by the first units. Errors: those of
  /// Device::NewHostMemory.
  static absl::StatusOr<std::shared_ptr<RefinementRun>> Create(
      std::unique_ptr<const recon::AnyRefinementPlan> plan, const RunPlace& place,
      scheduler::Admission admission, const ops::Registry& registry,
      const scheduler::Urgency& urgency);

  std::string PlanText() const override { return recon::PlanTextOf(*plan_); }

  /// Before Advance, of a second pass with a reference: the stored volume of job `job_id`, which
  /// the first units read. Errors: ReferenceReader::Open's.
  absl::Status OpenReference(const std::string& job_id, const std::filesystem::path& file);

  /// Before Advance, of iterations with early passes: a chunk of FDK, frames for the refinement, or
  /// the next part of an early pass, where no live job waits for the device. So many frames at the
  /// beginning are `present`, none of them given up, at least as many as before. True when there is
  /// nothing to do until more are. Errors: those of recon::Reconstructor and recon::Refinement, and
  /// of JobSpool::Read.
  absl::StatusOr<bool> AdvanceEarly(jobs::JobSpool& spool, int present);

  /// The next unit of work: slices of the reference, a chunk of FDK, frames for the refinement, or
  /// one of its steps. True when the last one has ended. One unit at most is under way on the
  /// devices, and none where a better class waits for them. Nothing once the last one has ended.
  /// `ledger` is complete. Errors: those of recon::Reconstructor, recon::Refinement and
  /// ReferenceReader, and of JobSpool::Read.
  absl::StatusOr<bool> Advance(jobs::JobSpool& spool, const FrameLedger& ledger);
  /// Whether the next unit is a step of the refinement.
  bool refining() const { return phase_ == Phase::kRefining; }
  /// Whether the last unit has ended.
  bool done() const { return steps_end_ < absl::InfiniteFuture(); }
  int frames_backprojected() const { return frames_backprojected_; }
  std::span<const recon::IterationReport> reports() const {
    return refinement_ == nullptr ? std::span<const recon::IterationReport>()
                                  : refinement_->reports();
  }
  double progress() const { return refinement_ == nullptr ? 0 : refinement_->progress(); }
  /// Whether there is a better volume than that of FDK.
  bool readable() const { return refinement_ != nullptr && refinement_->readable(); }

  /// Whether the last unit was the last one of an iteration.
  bool iteration_ended() const { return iteration_ended_; }
  /// When the first step of the refinement began.
  absl::Time steps_begin() const { return steps_begin_; }
  /// When the last step ended; InfiniteFuture until then.
  absl::Time steps_end() const { return steps_end_; }

  /// Waits for the best volume so far and frees all memory but the volume's. Only when readable.
  absl::Status Finish();
  /// Hounsfield units.
  HostView3<float> volume() const {
    return {reinterpret_cast<float*>(volume_->data()), basis_.grid.shape()};
  }
  /// After Finish: what the refinement found out on its way, for people.
  const std::vector<std::string>& findings() const { return findings_; }
  /// After Finish: how the object moved; unset: nobody looked.
  const std::optional<recon::FoundMotion>& motion() const { return motion_; }
  /// After Finish: where the detector was; unset: nobody looked.
  const std::optional<recon::SelfCalibration>& self_calibration() const {
    return self_calibration_;
  }
  /// Of FDK alone.
  const recon::StageSeconds& fdk_seconds() const { return fdk_seconds_; }

 private:
  static constexpr size_t kMostSpans = 20000;
  enum class Phase { kReference, kChunks, kVolume, kFrames, kRefining };

  RefinementRun(std::unique_ptr<const recon::AnyRefinementPlan> plan, const RunPlace& place,
                scheduler::Admission admission, const ops::Registry& registry,
                const scheduler::Urgency& urgency);
  absl::Status ReadReference();
  /// Without effect where the volume to begin with needs none, or no longer.
  absl::Status StartFdk();
  absl::Status PushChunk(jobs::JobSpool& spool, std::span<const ViewSource> sources);
  absl::Status FinishVolume();
  absl::Status PushFrames(jobs::JobSpool& spool, const FrameLedger& ledger);
  absl::StatusOr<bool> Step();
  /// Loads views into the buffer and `measured_`.
  absl::StatusOr<ops::RawFrames> Load(jobs::JobSpool& spool, std::span<const ViewSource> sources);
  /// The next of the first `end` views that the refinement takes at once; none: it has them.
  recon::Chunk NextFrames(int end) const;
  /// Of FDK; none: it has all. After StartFdk.
  recon::Chunk NextChunk() const;
  absl::Status PushToRefinement(jobs::JobSpool& spool, std::span<const ViewSource> sources);
  bool BetterClassWaits() const;
  absl::Status TakeTrace();

  const std::unique_ptr<const recon::AnyRefinementPlan> plan_;
  const recon::RefinementBasis& basis_;  // of plan_
  const ops::Registry& registry_;
  const jobs::JobClass job_class_;
  scheduler::Admission admission_;  // before the memory that it counts
  scheduler::Workload workload_;
  std::unique_ptr<ops::HostMemory> pixels_;
  std::unique_ptr<ops::HostMemory> volume_;
  // First to go:
  std::optional<ReferenceReader> reader_;
  std::optional<recon::ReferenceVolume> reference_;
  std::unique_ptr<recon::Reconstructor> reconstructor_;
  std::unique_ptr<recon::Refinement> refinement_;

  Phase phase_ = Phase::kChunks;
  bool early_ = false;  // AdvanceEarly did the last unit, whose passes are in no trace
  bool iteration_ended_ = false;
  absl::Time steps_begin_ = absl::InfiniteFuture(), steps_end_ = absl::InfiniteFuture();
  int frames_backprojected_ = 0;
  int frames_pushed_ = 0;  // to refinement_
  Measured measured_;
  std::vector<std::string> findings_;
  std::optional<recon::FoundMotion> motion_;
  std::optional<recon::SelfCalibration> self_calibration_;
  recon::StageSeconds fdk_seconds_;
};

}  // namespace isocenter::pipeline
