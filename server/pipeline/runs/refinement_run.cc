#include "server/pipeline/runs/refinement_run.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_replace.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/subsets.h"
#include "kernels/recon/self_calibration/calibration_pass.h"
#include "server/pipeline/acquisition_request.h"
#include "server/pipeline/runs/chunk_loader.h"

namespace isocenter::pipeline {

RefinementRun::RefinementRun(std::unique_ptr<const recon::AnyRefinementPlan> plan,
                             const RunPlace& place, scheduler::Admission admission,
                             const ops::Registry& registry, const scheduler::Urgency& urgency)
    : Run(place, urgency),
      plan_(std::move(plan)),
      basis_(recon::BasisOf(*plan_)),
      registry_(registry),
      job_class_(urgency.job_class),
      admission_(std::move(admission)),
      workload_(place.slot.backlog.Add(urgency.job_class, basis_.voxel_updates)),
      phase_(basis_.warm_start ? Phase::kChunks : Phase::kFrames) {}

absl::StatusOr<std::shared_ptr<RefinementRun>> RefinementRun::Create(
    std::unique_ptr<const recon::AnyRefinementPlan> plan, const RunPlace& place,
    scheduler::Admission admission, const ops::Registry& registry,
    const scheduler::Urgency& urgency) {
  std::shared_ptr<RefinementRun> run(
      new RefinementRun(std::move(plan), place, std::move(admission), registry, urgency));
  ops::Device& device = *place.devices[0];
  ISO_ASSIGN_OR_RETURN(run->pixels_, device.NewHostMemory(recon::MostViewsAtOnce(run->basis_) *
                                                          FrameBytes(run->basis_.acquisition)));
  ISO_ASSIGN_OR_RETURN(run->volume_, device.NewHostMemory(recon::VolumeBytes(run->basis_.grid)));
  return run;
}

absl::Status RefinementRun::OpenReference(const std::string& job_id,
                                          const std::filesystem::path& file) {
  ISO_ASSIGN_OR_RETURN(recon::ReferenceMaker maker,
                       recon::ReferenceMakerOf(std::get<recon::SecondPassPlan>(*plan_)));
  ISO_ASSIGN_OR_RETURN(reader_, ReferenceReader::Open(job_id, file, std::move(maker)));
  phase_ = Phase::kReference;
  return absl::OkStatus();
}

absl::StatusOr<bool> RefinementRun::AdvanceEarly(jobs::JobSpool& spool, int present) {
  early_ = true;
  if (refinement_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(refinement_, recon::NewRefinement(*plan_, registry_, place_.devices));
  }
  const recon::Chunk next = NextFrames();
  const bool may_push = next.views > 0 && next.first_view + next.views <= present;
  if (may_push) {
    std::vector<ViewSource> sources;
    for (int i = 0; i < next.views; ++i) {
      sources.push_back({.view = next.first_view + i, .frame = next.first_view + i});
    }
    ISO_RETURN_IF_ERROR(PushToRefinement(spool, sources));
  }
  bool idle = false;
  if (!may_push) {
    ISO_ASSIGN_OR_RETURN(idle, refinement_->StepEarly());
  }
  if (BetterClassWaits()) ISO_RETURN_IF_ERROR(refinement_->TakeTrace().status());
  return idle;
}

absl::StatusOr<bool> RefinementRun::Advance(jobs::JobSpool& spool, const FrameLedger& ledger) {
  if (done()) return true;
  if (std::exchange(early_, false)) ISO_RETURN_IF_ERROR(refinement_->TakeTrace().status());
  bool done = false;
  switch (phase_) {
    case Phase::kReference:
      ISO_RETURN_IF_ERROR(ReadReference());
      break;
    case Phase::kChunks:
      ISO_RETURN_IF_ERROR(PushChunk(spool, ledger));
      break;
    case Phase::kVolume:
      ISO_RETURN_IF_ERROR(FinishVolume());
      break;
    case Phase::kFrames:
      ISO_RETURN_IF_ERROR(PushFrames(spool, ledger));
      break;
    case Phase::kRefining: {
      ISO_ASSIGN_OR_RETURN(done, Step());
      break;
    }
  }
  // A device goes on working after the call. Where others are to go first, nothing is left there.
  if (BetterClassWaits()) ISO_RETURN_IF_ERROR(TakeTrace());
  return done;
}

absl::StatusOr<ops::RawFrames> RefinementRun::Load(jobs::JobSpool& spool,
                                                   std::span<const ViewSource> sources) {
  const recon::Acquisition& acquisition = basis_.acquisition;
  const auto views = static_cast<int>(sources.size());
  const std::span<std::byte> pixels(pixels_->data(), views * FrameBytes(acquisition));
  ISO_RETURN_IF_ERROR(LoadChunk(spool, acquisition, sources, pixels, measured_));
  return AsFrames(acquisition, views, pixels);
}

recon::Chunk RefinementRun::NextFrames() const {
  return {.first_view = frames_pushed_,
          .views = std::min(basis_.chunk_views, basis_.views() - frames_pushed_)};
}

absl::Status RefinementRun::PushToRefinement(jobs::JobSpool& spool,
                                             std::span<const ViewSource> sources) {
  ISO_ASSIGN_OR_RETURN(const ops::RawFrames frames, Load(spool, sources));
  ISO_RETURN_IF_ERROR(refinement_->Push(frames, measured_.matrices, measured_.doses));
  frames_pushed_ += static_cast<int>(sources.size());
  return absl::OkStatus();
}

absl::Status RefinementRun::ReadReference() {
  ISO_ASSIGN_OR_RETURN(const bool all_read, reader_->ReadSlice());
  if (!all_read) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(reference_, reader_->Finish());
  reader_.reset();
  phase_ = Phase::kChunks;  // a second pass begins with the first volume
  return absl::OkStatus();
}

absl::Status RefinementRun::PushChunk(jobs::JobSpool& spool, const FrameLedger& ledger) {
  const recon::ReconstructionPlan& plan = *basis_.warm_start;
  if (reconstructor_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(reconstructor_,
                         recon::Reconstructor::Create(plan, registry_, place_.devices));
  }
  const recon::Chunk& chunk = plan.chunks[reconstructor_->next_chunk()];
  ISO_ASSIGN_OR_RETURN(const ops::RawFrames frames, Load(spool, ledger.Sources(chunk)));
  ISO_RETURN_IF_ERROR(reconstructor_->Push(frames, measured_.matrices, measured_.doses));
  frames_backprojected_ += chunk.views;
  if (reconstructor_->next_chunk() == static_cast<int>(plan.chunks.size())) {
    phase_ = Phase::kVolume;
  }
  return absl::OkStatus();
}

absl::Status RefinementRun::FinishVolume() {
  ISO_ASSIGN_OR_RETURN(const bool all_started,
                       reconstructor_->FinishStep(volume(), [](int, int) {}));
  if (!all_started) return absl::OkStatus();
  ISO_RETURN_IF_ERROR(reconstructor_->AwaitFinish());
  ISO_RETURN_IF_ERROR(TakeTrace());
  fdk_seconds_ = recon::SecondsOf(trace_);
  reconstructor_.reset();
  phase_ = Phase::kFrames;
  return absl::OkStatus();
}

absl::Status RefinementRun::PushFrames(jobs::JobSpool& spool, const FrameLedger& ledger) {
  if (refinement_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(refinement_, recon::NewRefinement(*plan_, registry_, place_.devices));
  }
  // Early, all may have been pushed.
  if (const recon::Chunk next = NextFrames(); next.views > 0) {
    ISO_RETURN_IF_ERROR(PushToRefinement(spool, ledger.Sources(next)));
  }
  if (frames_pushed_ < basis_.views()) return absl::OkStatus();
  phase_ = Phase::kRefining;
  if (reference_) {
    ISO_RETURN_IF_ERROR(refinement_->SetReference(*std::move(reference_)));
    reference_.reset();
  }
  return refinement_->Start(basis_.warm_start ? HostView3<const float>(volume())
                                              : HostView3<const float>());
}

absl::StatusOr<bool> RefinementRun::Step() {
  steps_begin_ = std::min(steps_begin_, place_.clock());
  const size_t reports = refinement_->reports().size();
  const double before = refinement_->progress();
  ISO_ASSIGN_OR_RETURN(const bool done, refinement_->Step());
  workload_.Done((refinement_->progress() - before) * basis_.voxel_updates);
  iteration_ended_ = refinement_->reports().size() > reports;
  if (done) steps_end_ = place_.clock();
  return done;
}

absl::Status RefinementRun::Finish() {
  ISO_RETURN_IF_ERROR(refinement_->Read(volume()));
  ISO_RETURN_IF_ERROR(TakeTrace());
  findings_ = refinement_->findings();
  if (const auto* plan = std::get_if<recon::RefinementPlan>(plan_.get())) {
    if (const auto many = recon::ManySubsetsText(plan->settings.algorithm, plan->views(),
                                                 static_cast<int>(plan->subsets.size()))) {
      findings_.push_back(absl::StrReplaceAll(*many, {{"iterative.", "refinement."}}));
    }
  }
  if (const recon::FoundMotion* found = refinement_->motion()) motion_ = *found;
  if (const recon::SelfCalibration* found = refinement_->self_calibration()) {
    self_calibration_ = *found;
  }
  refinement_.reset();
  pixels_.reset();
  workload_ = scheduler::Workload();
  admission_.ShrinkToHost(recon::VolumeBytes(basis_.grid));
  return absl::OkStatus();
}

bool RefinementRun::BetterClassWaits() const {
  // What is ahead of a class counts the class itself.
  return job_class_ == jobs::JobClass::kBatch
             ? place_.slot.backlog.Ahead(jobs::JobClass::kInteractive) > 0
             : place_.slot.backlog.Ahead(jobs::JobClass::kLive) > 0;
}

absl::Status RefinementRun::TakeTrace() {
  const auto add = [this](const auto& spans) {
    if (!spans.ok()) return spans.status();
    const size_t room = kMostSpans - trace_.size();
    trace_.insert(trace_.end(), spans->begin(), spans->begin() + std::min(room, spans->size()));
    return absl::OkStatus();
  };
  // After early passes there are both.
  if (reconstructor_ != nullptr) ISO_RETURN_IF_ERROR(add(reconstructor_->TakeTrace()));
  if (refinement_ != nullptr) ISO_RETURN_IF_ERROR(add(refinement_->TakeTrace()));
  return absl::OkStatus();
}

}  // namespace isocenter::pipeline
