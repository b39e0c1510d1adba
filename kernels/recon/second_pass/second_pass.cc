#include "kernels/recon/second_pass/second_pass.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/check.h"
#include "kernels/recon/second_pass/reconstruct_twice.h"
#include "kernels/recon/second_pass/second_pass_stages.h"
#include "kernels/recon/second_pass/staged_copies.h"

namespace isocenter::recon {
namespace {

// Of the time that a pass takes which looks for something in the frames first.
constexpr double kSearchShare = 0.9;

}  // namespace

absl::StatusOr<std::unique_ptr<Refinement>> SecondPass::Create(
    const SecondPassPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices) {
  if (devices.empty())
    return absl::InvalidArgumentError("there are no devices; legal is 1 or more");
  std::unique_ptr<SecondPass> self(new SecondPass(plan, registry, devices));
  ops::Device& device = *devices[0];
  ISO_ASSIGN_OR_RETURN(self->store_, LineStore::Create(plan, LinesOf(plan), registry, device));
  // Without lines nothing is reconstructed into it.
  if (KeepsVolume(plan)) {
    ISO_ASSIGN_OR_RETURN(
        self->volume_,
        VolumeMemory::Create(plan.grid, NeedsLines(plan.settings) ? &device : nullptr));
  }
  if (plan.settings.metal) {
    ISO_ASSIGN_OR_RETURN(self->metal_, VolumeMemory::Create(plan.grid, &device));
  }
  if (plan.scatter) {
    self->scatter_ =
        std::make_unique<ScatterPass>(*plan.scatter, registry, devices, self->HostThreads());
  }
  if (plan.settings.motion) {
    self->motion_ = std::make_unique<MotionPass>(plan, registry, self->HostThreads());
  }
  if (plan.settings.self_calibrate) {
    self->calibration_ =
        std::make_unique<CalibrationPass>(plan, registry, devices, self->HostThreads());
  }
  return self;
}

absl::Status SecondPass::SetReference(ReferenceVolume reference) {
  if (!plan_.settings.reference) return Refinement::SetReference(std::move(reference));
  calibration_->SetReference(std::move(reference));
  return absl::OkStatus();
}

absl::Status SecondPass::Start(HostView3<const float> hounsfield) {
  if (started_) return absl::FailedPreconditionError("the second pass has started already");
  if (plan_.settings.reference && !calibration_->has_reference()) {
    return absl::FailedPreconditionError("the reference volume has not been given");
  }
  ISO_RETURN_IF_ERROR(store_->CheckAllPushed());
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the first volume", hounsfield.shape(), plan_.grid.shape()));
  if (volume_) {
    ThreadPool threads(HostThreads());
    ISO_RETURN_IF_ERROR(CopyFinite(hounsfield, threads, volume()));
  } else {
    OpenConeBeam();
    ISO_RETURN_IF_ERROR(cone_beam_->Upload(hounsfield));
  }
  store_->Close();
  started_ = true;
  if (plan_.settings.stripes) {
    stages_.push_back(&SecondPass::RemoveStripes);
    // Nobody looks at a volume that has its scatter.
    if (!plan_.scatter) stages_.push_back(&SecondPass::Reconstruct);
  }
  if (plan_.scatter) {
    stages_.push_back(&SecondPass::BinLines);
    for (int round = 0; round < ScatterPass::kRounds; ++round) {
      stages_.insert(stages_.end(),
                     {&SecondPass::ReconstructCoarsely, &SecondPass::EstimateScatter});
    }
    stages_.insert(stages_.end(), {&SecondPass::RemoveScatter, &SecondPass::Reconstruct});
  }
  if (plan_.settings.metal) stages_.push_back(&SecondPass::Segment);
  if (plan_.settings.bone) stages_.push_back(&SecondPass::FindBone);
  // Metal that has been interpolated has left no artefact in the volume, until it is put back.
  if (plan_.cone_beam) {
    stages_.insert(stages_.end(), {&SecondPass::ModelConeBeam, &SecondPass::FindConeBeamArtefact,
                                   &SecondPass::TakeOffConeBeamArtefact});
  }
  if (plan_.settings.metal) stages_.push_back(&SecondPass::PutMetalBack);
  if (motion_ != nullptr) stages_.push_back(&SecondPass::LookForMotion);
  if (calibration_ != nullptr) stages_.push_back(&SecondPass::LookForDetector);
  return absl::OkStatus();
}

absl::StatusOr<bool> SecondPass::Step() {
  if (!started_) return absl::FailedPreconditionError("the second pass has not started");
  if (stages_.empty()) return true;
  const Stage stage = stages_.front();
  stages_.pop_front();
  ISO_ASSIGN_OR_RETURN(const bool ended, (this->*stage)());
  if (!ended) {
    stages_.push_front(stage);
    CountProgress();
    return false;
  }
  view_ = 0;
  ++stages_done_;
  CountProgress();
  return stages_.empty();
}

void SecondPass::CountProgress() {
  if (motion_ != nullptr || calibration_ != nullptr) {
    const double searched = motion_ != nullptr ? motion_->done() : calibration_->done();
    const double made = stages_.empty() ? 1 : static_cast<double>(view_) / plan_.views();
    progress_ = std::max(progress_, kSearchShare * searched + (1 - kSearchShare) * made);
    return;
  }
  const double part = static_cast<double>(view_) / plan_.views();
  const double done = static_cast<double>(stages_done_) + part;
  const auto known = static_cast<double>(stages_done_ + stages_.size());
  // Stages find that there are more stages.
  progress_ = std::max(progress_, done / known);
}
absl::Status SecondPass::Read(HostView3<float> hounsfield) {
  if (!readable()) {
    return absl::FailedPreconditionError("the second pass has not ended");
  }
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", hounsfield.shape(), plan_.grid.shape()));
  if (!volume_) return cone_beam_->Download(hounsfield);
  ThreadPool threads(HostThreads());
  volume_->CopyTo(hounsfield, threads);
  return absl::OkStatus();
}

std::vector<std::string> SecondPass::findings() const {
  std::vector<std::string> all;
  if (!readable()) return all;
  if (stripes_found_) all.push_back(StripesText(*stripes_found_));
  if (scatter_ != nullptr) all.push_back(ToText(scatter_->findings()));
  if (plan_.settings.metal) {
    all.push_back(ToText(metal_found_, *plan_.settings.metal, VoxelMm3()));
  }
  if (plan_.settings.bone) {
    all.push_back(ToText(bone_found_, *plan_.acquisition.calibration->bone, VoxelMm3()));
  }
  if (cone_beam_ != nullptr) all.push_back(cone_beam_->findings());
  if (motion_ != nullptr) all.push_back(ToText(motion_->found()));
  if (calibration_ != nullptr) all.push_back(ToText(calibration_->found()));
  return all;
}

absl::Status SecondPass::CollectTrace() {
  const auto take = [&](const auto& work) -> absl::Status {
    if (work == nullptr) return absl::OkStatus();
    ISO_ASSIGN_OR_RETURN(const std::vector<ops::Span> spans, work->timeline().Take());
    for (const ops::Span& span : spans) trace_.push_back({0, span});
    return absl::OkStatus();
  };
  ISO_RETURN_IF_ERROR(take(stripes_));
  ISO_RETURN_IF_ERROR(take(removal_));
  ISO_RETURN_IF_ERROR(take(correction_));
  if (cone_beam_ != nullptr) {
    ISO_ASSIGN_OR_RETURN(const std::vector<DeviceSpan> spans, cone_beam_->TakeTrace());
    trace_.insert(trace_.end(), spans.begin(), spans.end());
  }
  if (reconstructor_ != nullptr) {
    ISO_ASSIGN_OR_RETURN(const std::vector<DeviceSpan> spans, reconstructor_->TakeTrace());
    trace_.insert(trace_.end(), spans.begin(), spans.end());
  }
  return absl::OkStatus();
}

absl::Status SecondPass::FreeDevice() {
  ISO_RETURN_IF_ERROR(CollectTrace());
  stripes_.reset();
  removal_.reset();
  correction_.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeviceSpan>> SecondPass::TakeTrace() {
  ISO_RETURN_IF_ERROR(CollectTrace());
  return std::exchange(trace_, {});
}

absl::StatusOr<std::unique_ptr<Refinement>> NewSecondPass(const SecondPassPlan& plan,
                                                          const ops::Registry& registry,
                                                          std::span<ops::Device* const> devices) {
  return SecondPass::Create(plan, registry, devices);
}

absl::Status ReconstructTwice(const SecondPassPlan& plan, const ops::Registry& registry,
                              std::span<ops::Device* const> devices, const ops::RawFrames& frames,
                              HostView3<float> volume, std::span<const float> doses,
                              std::vector<std::string>* findings) {
  return ReconstructTwice(
      plan, [&] { return NewSecondPass(plan, registry, devices); }, registry, devices, frames,
      volume, doses, findings);
}

}  // namespace isocenter::recon
