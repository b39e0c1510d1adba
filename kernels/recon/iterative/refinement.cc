#include "kernels/recon/iterative/refinement.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/completeness/beyond_grid.h"
#include "kernels/recon/iterative/frame_store.h"
#include "kernels/recon/iterative/linear_system.h"
#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/surroundings.h"
#include "kernels/recon/self_calibration/reference/reference_volume.h"
#include "kernels/recon/volume_exchange.h"

namespace isocenter::recon {
namespace {

class PlannedRefinement final : public Refinement {
 public:
  static absl::StatusOr<std::unique_ptr<Refinement>> Create(const RefinementPlan& plan,
                                                            const ops::Registry& registry,
                                                            std::span<ops::Device* const> devices);

  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                    std::span<const float> doses) override;
  absl::StatusOr<bool> StepEarly() override;
  absl::Status Start(HostView3<const float> hounsfield) override;
  absl::StatusOr<bool> Step() override;
  std::span<const IterationReport> reports() const override { return reports_; }
  double progress() const override;
  bool readable() const override;
  absl::Status Read(HostView3<float> hounsfield) override;
  std::vector<std::string> findings() const override;
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace() override;

 private:
  enum class Phase { kReceiving, kPreparing, kIterating, kDone };

  PlannedRefinement(const RefinementPlan& plan, std::unique_ptr<LinearSystem> system,
                    ProjectionVector b, VolumeVector x)
      : plan_(plan),
        system_(std::move(system)),
        b_(std::move(b)),
        x_(std::move(x)),
        beyond_grid_(plan.acquisition, GridWithSurroundings(plan), SurroundedGrid(plan)) {}
  // That change the volume.
  size_t EarlyPasses() const { return plan_.settings.warm_start ? 0 : plan_.early_frames.size(); }
  absl::Status DoTask();
  void EndPass();

  const RefinementPlan& plan_;
  std::unique_ptr<LinearSystem> system_;  // before all that lives in its sessions
  ProjectionVector b_;
  VolumeVector x_;
  std::unique_ptr<FrameStore> frames_;  // until Start
  BeyondGrid beyond_grid_;
  std::unique_ptr<VolumeExchange> exchange_;
  std::unique_ptr<Method> method_;
  Phase phase_ = Phase::kReceiving;
  Agenda agenda_;
  size_t early_passes_ = 0;  // that are in the agenda or have ended
  size_t tasks_ = 0;         // of the present pass or the preparation
  std::vector<IterationReport> reports_;
  double begin_ = 0;
};

absl::StatusOr<std::unique_ptr<Refinement>> PlannedRefinement::Create(
    const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices) {
  ISO_ASSIGN_OR_RETURN(auto system, LinearSystem::Create(plan, registry, devices));
  ISO_ASSIGN_OR_RETURN(ProjectionVector b, system->NewProjections());
  ISO_ASSIGN_OR_RETURN(VolumeVector x, system->NewVolume());
  std::unique_ptr<PlannedRefinement> self(
      new PlannedRefinement(plan, std::move(system), std::move(b), std::move(x)));
  ISO_ASSIGN_OR_RETURN(self->frames_, FrameStore::Create(*self->system_, self->b_));
  ISO_ASSIGN_OR_RETURN(self->exchange_, VolumeExchange::Create(*self->system_));
  ISO_ASSIGN_OR_RETURN(self->method_, NewMethod(*self->system_, self->b_, self->x_));
  return self;
}

absl::Status PlannedRefinement::Push(const ops::RawFrames& frames,
                                     std::span<const ProjectionMatrix> measured,
                                     std::span<const float> doses) {
  if (phase_ != Phase::kReceiving) {
    return absl::FailedPreconditionError("frames after the start of the refinement");
  }
  const int first = frames_->views();
  ISO_RETURN_IF_ERROR(frames_->Push(frames, measured, doses));
  for (int i = 0; i < frames_->views() - first; ++i) {
    beyond_grid_.Add(measured.empty() ? plan_.acquisition.trajectory[first + i] : measured[i],
                     frames, i, doses.empty() ? 0 : doses[i]);
  }
  return absl::OkStatus();
}

std::vector<std::string> PlannedRefinement::findings() const { return beyond_grid_.Texts(); }

absl::StatusOr<bool> PlannedRefinement::StepEarly() {
  if (phase_ != Phase::kReceiving) {
    return absl::FailedPreconditionError("early passes after the start of the refinement");
  }
  if (agenda_.empty()) {
    if (early_passes_ == plan_.early_frames.size()) return true;
    const int frames = plan_.early_frames[early_passes_];
    if (frames_->views() < frames) return true;
    method_->AddEarlyPass(frames, agenda_);
    ++early_passes_;
  }
  ISO_RETURN_IF_ERROR(DoTask());
  return false;
}

absl::Status PlannedRefinement::Start(HostView3<const float> hounsfield) {
  if (phase_ != Phase::kReceiving) {
    return absl::FailedPreconditionError("the refinement has started already");
  }
  if (frames_->views() < plan_.views()) {
    return absl::FailedPreconditionError(
        absl::StrCat("only ", frames_->views(), " of ", plan_.views(), " frames have been pushed"));
  }
  if (hounsfield.data() != nullptr) {
    if (EarlyPasses() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a volume to begin with was given beside ", EarlyPasses(),
                       " early passes, which begin from zero; legal is one of them"));
    }
    ISO_RETURN_IF_ERROR(
        ops::CheckSameShape("the volume to begin with", hounsfield.shape(), plan_.grid.shape()));
    ISO_RETURN_IF_ERROR(exchange_->Set(hounsfield, x_));
  }
  ISO_RETURN_IF_ERROR(system_->Synchronize());
  frames_.reset();
  phase_ = Phase::kPreparing;
  for (; early_passes_ < plan_.early_frames.size(); ++early_passes_) {
    method_->AddEarlyPass(plan_.early_frames[early_passes_], agenda_);
  }
  method_->AddPreparation(agenda_);
  tasks_ = agenda_.size();
  return absl::OkStatus();
}

absl::StatusOr<bool> PlannedRefinement::Step() {
  if (phase_ == Phase::kReceiving) {
    return absl::FailedPreconditionError("the refinement has not started");
  }
  if (phase_ == Phase::kDone) return true;
  if (begin_ == 0) begin_ = ops::SteadySeconds();
  ISO_RETURN_IF_ERROR(DoTask());
  if (!agenda_.empty()) return false;
  if (phase_ == Phase::kPreparing) {
    phase_ = Phase::kIterating;
  } else {
    EndPass();
  }
  if (phase_ == Phase::kDone) return true;
  method_->AddPass(static_cast<int>(reports_.size()), agenda_);
  tasks_ = agenda_.size();
  return false;
}

absl::Status PlannedRefinement::DoTask() {
  ISO_RETURN_IF_ERROR(system_->Synchronize());
  if (agenda_.empty()) return absl::OkStatus();
  const auto task = std::move(agenda_.front());
  agenda_.pop_front();
  return task();
}

void PlannedRefinement::EndPass() {
  const PassFigures figures = method_->figures();
  reports_.push_back({.iteration = static_cast<int>(reports_.size()) + 1,
                      .relative_residual = figures.relative_residual,
                      .objective = figures.objective,
                      .seconds = ops::SteadySeconds() - begin_,
                      .taken = figures.taken});
  const bool close = figures.taken && figures.relative_residual < plan_.settings.stop_residual;
  if (close || reports_.back().iteration >= plan_.settings.iterations) phase_ = Phase::kDone;
}

double PlannedRefinement::progress() const {
  if (phase_ == Phase::kDone) return 1;
  if (phase_ == Phase::kReceiving) return 0;
  const auto early = static_cast<double>(EarlyPasses());
  const double done = 1 - static_cast<double>(agenda_.size()) / static_cast<double>(tasks_);
  const double passes = phase_ == Phase::kPreparing
                            ? early * done
                            : early + static_cast<double>(reports_.size()) + done;
  return passes / (early + plan_.settings.iterations);
}

bool PlannedRefinement::readable() const {
  if (phase_ == Phase::kDone) return true;
  if (phase_ != Phase::kIterating) return false;
  return EarlyPasses() > 0 || !reports_.empty() || agenda_.size() < tasks_;
}

absl::Status PlannedRefinement::Read(HostView3<float> hounsfield) {
  if (phase_ == Phase::kReceiving) {
    return absl::FailedPreconditionError("the refinement has not started");
  }
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", hounsfield.shape(), plan_.grid.shape()));
  return exchange_->Read(x_, hounsfield);
}

absl::StatusOr<std::vector<DeviceSpan>> PlannedRefinement::TakeTrace() {
  std::vector<DeviceSpan> trace;
  for (int device = 0; device < system_->devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(const std::vector<ops::Span> spans,
                         system_->session(device).timeline().Take());
    for (const ops::Span& span : spans) trace.push_back({device, span});
  }
  return trace;
}

}  // namespace

absl::Status Refinement::SetReference(ReferenceVolume /*reference*/) {
  return absl::FailedPreconditionError("a reference volume for a refinement that takes none");
}

absl::StatusOr<std::unique_ptr<Refinement>> Refinement::Create(
    const RefinementPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices) {
  return PlannedRefinement::Create(plan, registry, devices);
}

}  // namespace isocenter::recon
