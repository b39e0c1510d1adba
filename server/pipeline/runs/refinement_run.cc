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
namespace {

// Where none has been given up.
std::vector<ViewSource> FramesOf(const recon::Chunk& chunk) {
  std::vector<ViewSource> sources;
  for (int view = chunk.first_view; view < chunk.first_view + chunk.views; ++view) {
    sources.push_back({.view = view, .frame = view});
  }
  return sources;
}

}  // namespace

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
  ISO_RETURN_IF_ERROR(StartFdk());
  bool idle = false;
  if (const recon::Chunk chunk = NextChunk();
      chunk.views > 0 && chunk.first_view + chunk.views <= present) {
    ISO_RETURN_IF_ERROR(PushChunk(spool, FramesOf(chunk)));
  } else if (const recon::Chunk next = NextFrames(present); next.views > 0) {
    ISO_RETURN_IF_ERROR(PushToRefinement(spool, FramesOf(next)));
  } else {
    ISO_ASSIGN_OR_RETURN(idle, refinement_->StepEarly());
  }
  if (BetterClassWaits()) ISO_RETURN_IF_ERROR(TakeTrace());
  return idle;
}

absl::StatusOr<bool> RefinementRun::Advance(jobs::JobSpool& spool, const FrameLedger& ledger) {
  if (done()) return true;
  if (early_) {
    ISO_RETURN_IF_ERROR(TakeTrace());
    early_ = false;
  }
  bool done = false;
  switch (phase_) {
    case Phase::kReference:
      ISO_RETURN_IF_ERROR(ReadReference());
      break;
    case Phase::kChunks:
      ISO_RETURN_IF_ERROR(StartFdk());
      ISO_RETURN_IF_ERROR(PushChunk(spool, ledger.Sources(NextChunk())));
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

recon::Chunk RefinementRun::NextFrames(int end) const {
  return {.first_view = frames_pushed_,
          .views = std::min(basis_.chunk_views, end - frames_pushed_)};
}

recon::Chunk RefinementRun::NextChunk() const {
  return phase_ == Phase::kChunks ? basis_.warm_start->chunks[reconstructor_->next_chunk()]
                                  : recon::Chunk{};
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

absl::Status RefinementRun::StartFdk() {
  if (phase_ != Phase::kChunks || reconstructor_ != nullptr) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(reconstructor_,
                       recon::Reconstructor::Create(*basis_.warm_start, registry_, place_.devices));
  return absl::OkStatus();
}

absl::Status RefinementRun::PushChunk(jobs::JobSpool& spool, std::span<const ViewSource> sources) {
  ISO_ASSIGN_OR_RETURN(const ops::RawFrames frames, Load(spool, sources));
  ISO_RETURN_IF_ERROR(reconstructor_->Push(frames, measured_.matrices, measured_.doses));
  frames_backprojected_ += static_cast<int>(sources.size());
  if (reconstructor_->next_chunk() == static_cast<int>(basis_.warm_start->chunks.size())) {
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
  if (const recon::Chunk next = NextFrames(basis_.views()); next.views > 0) {
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
  if (refinement_ == nullptr) return absl::OkStatus();
  auto spans = refinement_->TakeTrace();
  return early_ ? spans.status() : add(std::move(spans));
}

}  // namespace isocenter::pipeline
