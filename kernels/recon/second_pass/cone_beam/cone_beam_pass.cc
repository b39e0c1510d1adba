#include "kernels/recon/second_pass/cone_beam/cone_beam_pass.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {
namespace {

// Of heads whose nose and ears leave the field of view 6 to 17 %; from a third on slices get worse.
constexpr double kMostCut = 0.25;

}  // namespace

ConeBeamPass::ConeBeamPass(const SecondPassPlan& plan, const ops::Registry& registry,
                           std::span<ops::Device* const> devices, int threads)
    : all_(plan),
      plan_(*plan.cone_beam),
      registry_(registry),
      devices_(devices.begin(), devices.end()),
      threads_(threads) {}

absl::Status ConeBeamPass::Open() {
  ISO_ASSIGN_OR_RETURN(session_, devices_[0]->NewSession());
  ISO_ASSIGN_OR_RETURN(volume_, session_->NewVolume(plan_.model.grid));
  const int64_t bytes = ConeBeamLockedBytes(plan_, all_.grid);
  ISO_ASSIGN_OR_RETURN(locked_, devices_[0]->NewHostMemory(bytes));
  if (!plan_.on_device) return absl::OkStatus();
  copies_.emplace(*session_, threads_,
                  std::span(reinterpret_cast<float*>(locked_->data()), bytes / sizeof(float)));
  ISO_ASSIGN_OR_RETURN(on_device_, ConeBeamOnDevice::Create(all_, registry_, *session_, *copies_));
  return absl::OkStatus();
}

absl::Status ConeBeamPass::Upload(HostView3<const float> volume) {
  ISO_RETURN_IF_ERROR(Open());
  return on_device_->Upload(volume);
}

void ConeBeamPass::SetMatrices(std::span<const ProjectionMatrix> matrices) {
  seen_ = FindSeenSlices(plan_, all_.grid, matrices, all_.acquisition.detector, threads_);
  for (const ProjectionMatrix& matrix : matrices) matrices_.push_back(Binned(matrix, plan_));
}

absl::Status ConeBeamPass::MakeModel(HostView3<const float> volume,
                                     std::span<const ProjectionMatrix> matrices) {
  SetMatrices(matrices);
  ISO_ASSIGN_OR_RETURN(model_, VolumeMemory::Create(plan_.model.grid, nullptr));
  MakeConeBeamModel(plan_, all_.grid, all_.warm_start->hounsfield, volume, seen_, threads_,
                    model_->view());
  const ModelSides sides = FindSides(plan_, seen_);
  return CheckWhole(sides.Cut(CountCut(plan_, seen_, sides, model_->view())));
}

absl::Status ConeBeamPass::MakeModelOnDevice(std::span<const ProjectionMatrix> matrices) {
  SetMatrices(matrices);
  ISO_ASSIGN_OR_RETURN(const double cut, on_device_->MakeModel(seen_, *volume_));
  return CheckWhole(cut);
}

absl::Status ConeBeamPass::CheckWhole(double cut) const {
  if (cut <= kMostCut) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "cone_beam: the object goes on beyond %.1f %% of the sides of what the volume has of the "
      "field of view (radius %.0f mm), and what it leaves there is not known; legal is at most "
      "%.0f %%",
      100 * cut, plan_.radius_mm, 100 * kMostCut));
}

absl::Status ConeBeamPass::Begin() {
  ISO_ASSIGN_OR_RETURN(reconstructor_, Reconstructor::Create(plan_.model, registry_, devices_));
  if (!plan_.on_device) {
    ISO_RETURN_IF_ERROR(Open());
    ISO_RETURN_IF_ERROR(volume_->Upload(0, model_->view()));
  }
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry_, session_->backend()));
  const Detector& detector = plan_.model.acquisition.detector;
  ISO_ASSIGN_OR_RETURN(projections_, session_->NewProjectionStack(
                                         {plan_.chunk_views, detector.rows, detector.columns},
                                         ops::StackUse::kProjections));
  ISO_ASSIGN_OR_RETURN(project_, methods.project(*session_));
  ISO_ASSIGN_OR_RETURN(arithmetic_, methods.arithmetic(*session_));
  ISO_ASSIGN_OR_RETURN(reconstructed_, VolumeMemory::Create(plan_.model.grid, nullptr));
  return absl::OkStatus();
}

absl::Status ConeBeamPass::ProjectChunk(const Chunk& chunk) {
  const Detector& detector = plan_.model.acquisition.detector;
  const Shape3 shape{chunk.views, detector.rows, detector.columns};
  const std::span matrices = std::span(matrices_).subspan(chunk.first_view, chunk.views);
  const HostView3<float> lines(reinterpret_cast<float*>(locked_->data()), shape);
  {
    const StageScope scope(session_->timeline(), ops::Stage::kForwardProject);
    ISO_RETURN_IF_ERROR(projections_->Reshape(shape));
    ISO_RETURN_IF_ERROR(arithmetic_->Fill(0, *projections_));
    ISO_RETURN_IF_ERROR(project_->Run(matrices, *volume_, *projections_));
  }
  ISO_RETURN_IF_ERROR(projections_->Download(0, lines));
  return reconstructor_->Push({.line_integrals = HostView3<const float>(lines)}, matrices);
}

absl::StatusOr<bool> ConeBeamPass::Step() {
  if (reconstructor_ == nullptr) ISO_RETURN_IF_ERROR(Begin());
  const auto next = static_cast<size_t>(reconstructor_->next_chunk());
  if (next < plan_.model.chunks.size()) {
    const Chunk& chunk = plan_.model.chunks[next];
    ISO_RETURN_IF_ERROR(ProjectChunk(chunk));
    next_view_ = chunk.first_view + chunk.views;
    return false;
  }
  ISO_ASSIGN_OR_RETURN(const bool all_started,
                       reconstructor_->FinishStep(reconstructed_->view(), nullptr));
  if (!all_started) return false;
  ISO_RETURN_IF_ERROR(reconstructor_->AwaitFinish());
  return true;
}

absl::Status ConeBeamPass::TakeOff(HostView3<float> volume) {
  ISO_ASSIGN_OR_RETURN(const VolumeMemory scratch, VolumeMemory::Create(plan_.model.grid, nullptr));
  const HostView3<float> artefact = model_->view();
  findings_ =
      FindArtefact(plan_, seen_, threads_, artefact, reconstructed_->view(), scratch.view());
  TakeOffArtefact(plan_, all_.warm_start->hounsfield, artefact, threads_, volume);
  return absl::OkStatus();
}

absl::Status ConeBeamPass::TakeOffOnDevice() {
  ISO_ASSIGN_OR_RETURN(findings_, on_device_->TakeOff(seen_, reconstructed_->view(), *volume_));
  return absl::OkStatus();
}

std::string ConeBeamPass::findings() const {
  return absl::StrFormat("cone-beam artefact: %.1f HU (RMS), up to %.0f HU; known to %.1f HU (RMS)",
                         findings_.rms_hu, findings_.most_hu, findings_.unsure_hu);
}

absl::StatusOr<std::vector<DeviceSpan>> ConeBeamPass::TakeTrace() {
  std::vector<DeviceSpan> trace;
  if (session_ == nullptr) return trace;
  ISO_ASSIGN_OR_RETURN(const std::vector<ops::Span> spans, session_->timeline().Take());
  for (const ops::Span& span : spans) trace.push_back({0, span});
  if (reconstructor_ == nullptr) return trace;
  ISO_ASSIGN_OR_RETURN(const std::vector<DeviceSpan> made, reconstructor_->TakeTrace());
  trace.insert(trace.end(), made.begin(), made.end());
  return trace;
}

}  // namespace isocenter::recon
