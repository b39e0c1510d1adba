#include "kernels/recon/second_pass/second_pass_stages.h"

#include <algorithm>
#include <vector>

#include "kernels/base/status_macros.h"

namespace isocenter::recon {

absl::StatusOr<bool> SecondPass::RemoveStripes() {
  if (stripes_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(stripes_, StripeCorrection::Create(plan_, registry_, *devices_[0]));
  }
  ISO_RETURN_IF_ERROR(stripes_->Run(row_, *store_));
  stripes_found_ = stripes_->taken_off();
  row_ += plan_.stripe_rows;
  return row_ >= plan_.acquisition.detector.rows;
}

absl::StatusOr<bool> SecondPass::RemoveScatter() {
  if (removal_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(removal_, ScatterRemoval::Create(plan_, registry_, *devices_[0]));
  }
  const int views = std::min(plan_.chunk_views, plan_.views() - view_);
  ISO_RETURN_IF_ERROR(removal_->Run(*scatter_, view_, views, *store_));
  view_ += views;
  return view_ == plan_.views();
}

absl::StatusOr<bool> SecondPass::Segment() {
  // Of the metal's own HU nothing is known but that they are high: they are kept for the end.
  ISO_ASSIGN_OR_RETURN(const bool looked, OnHost([this]() -> absl::Status {
                         ISO_ASSIGN_OR_RETURN(
                             metal_found_.seen_voxels,
                             FindMetal(*plan_.settings.metal, plan_.grid, volume(), metal()));
                         return absl::OkStatus();
                       }));
  if (!looked) return false;
  if (metal_found_.seen_voxels > 0) {
    Then({&SecondPass::AskRays, &SecondPass::CountMetal, &SecondPass::KeepLines,
          &SecondPass::InterpolateLinearly, &SecondPass::Reconstruct, &SecondPass::FindPrior,
          &SecondPass::InterpolateByPrior, &SecondPass::MarkMetalsVoxels, &SecondPass::AskLight,
          &SecondPass::ReconstructSmoothly, &SecondPass::FindPrior, &SecondPass::InterpolateByPrior,
          &SecondPass::Reconstruct});
  }
  return true;
}

// What interpolation would take off, of lines that stay as they are until it is known what is
// metal.
absl::StatusOr<bool> SecondPass::AskRays() {
  if (evidence_ == nullptr) {
    evidence_ = std::make_unique<MetalEvidence>(plan_.grid, plan_.warm_start->hounsfield, metal());
  }
  const int first = view_;
  ISO_ASSIGN_OR_RETURN(const LineChunk chunk, NextChunk());
  const std::span<const float> before = chunk.lines.span();
  removed_.assign(before.begin(), before.end());
  const HostView3<float> removed(removed_.data(), chunk.lines.shape());
  ISO_RETURN_IF_ERROR(correction_->TakeMetalOut(metal(), {}, {chunk.matrices, removed}));
  for (size_t i = 0; i < removed_.size(); ++i) removed_[i] = before[i] - removed_[i];
  const int stride = AskedViewStride(plan_.views());
  for (int view = first; view < view_; ++view) {
    if (view % stride != 0) continue;
    evidence_->Add(chunk.matrices[view - first],
                   HostView3<const float>(removed.slices(view - first, 1)));
  }
  if (view_ < plan_.views()) return false;
  metal_found_.voxels = evidence_->Prune(metal());
  evidence_.reset();
  std::vector<float>().swap(removed_);
  // It has the metal of before on the device.
  ISO_RETURN_IF_ERROR(FreeDevice());
  return true;
}

absl::StatusOr<bool> SecondPass::KeepLines() {
  if (light_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(light_, MetalLight::Create(plan_, *devices_[0]));
  }
  return Aside([this] { light_->Keep(0, store_->Lines(0, plan_.views())); });
}

absl::StatusOr<bool> SecondPass::WithProjections(const Work& work) {
  const int first = view_;
  ISO_ASSIGN_OR_RETURN(const LineChunk chunk, NextChunk());
  projections_.resize(chunk.lines.span().size());
  const HostView3<float> projections(projections_.data(), chunk.lines.shape());
  ISO_RETURN_IF_ERROR(correction_->Project(volume(), {chunk.matrices, projections}));
  work(first, chunk, projections);
  return view_ == plan_.views();
}

absl::StatusOr<bool> SecondPass::AskLight() {
  ISO_ASSIGN_OR_RETURN(const bool asked, WithProjections([this](int first, const LineChunk& chunk,
                                                                HostView3<float> paths) {
                         light_->Ask(first, chunk.matrices, chunk.lines, paths);
                       }));
  if (!asked) return false;
  lit_ = light_->Fit();
  if (lit_) {
    Then({&SecondPass::MakeMetalLines, &SecondPass::ReconstructMetal, &SecondPass::KeepMetalsVoxels,
          &SecondPass::AddRest});
  }
  return true;
}

absl::StatusOr<bool> SecondPass::FindBone() {
  ISO_ASSIGN_OR_RETURN(const bool looked, Aside([this] {
                         const ops::BoneTable& table = *plan_.acquisition.calibration->bone;
                         bone_found_.voxels = CountBone(table, volume());
                         if (bone_found_.voxels > 0) MakeBone(table, volume());
                       }));
  if (!looked) return false;
  if (bone_found_.voxels > 0) Then({&SecondPass::CorrectBone, &SecondPass::Reconstruct});
  return true;
}

absl::StatusOr<LineChunk> SecondPass::NextChunk() {
  if (correction_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(correction_, LineCorrection::Create(plan_, registry_, *devices_[0]));
  }
  const int views = std::min(plan_.chunk_views, plan_.views() - view_);
  const LineChunk chunk{.matrices = store_->Matrices(view_, views),
                        .lines = store_->Lines(view_, views)};
  view_ += views;
  return chunk;
}

absl::StatusOr<bool> SecondPass::InterpolateLinearly() {
  ISO_ASSIGN_OR_RETURN(const LineChunk chunk, NextChunk());
  ISO_RETURN_IF_ERROR(Counted(chunk, metal_found_.replaced,
                              [&] { return correction_->TakeMetalOut(metal(), {}, chunk); }));
  return view_ == plan_.views();
}

absl::StatusOr<bool> SecondPass::InterpolateByPrior() {
  ISO_ASSIGN_OR_RETURN(const LineChunk chunk, NextChunk());
  ISO_RETURN_IF_ERROR(correction_->TakeMetalOut(metal(), volume(), chunk));
  if (view_ < plan_.views()) return false;
  ISO_RETURN_IF_ERROR(FreeDevice());  // it has the prior there, where another volume will be
  return true;
}

absl::StatusOr<bool> SecondPass::CorrectBone() {
  ISO_ASSIGN_OR_RETURN(const LineChunk chunk, NextChunk());
  ISO_RETURN_IF_ERROR(Counted(chunk, bone_found_.hardened,
                              [&] { return correction_->CorrectBone(volume(), chunk); }));
  return view_ == plan_.views();
}

absl::StatusOr<bool> SecondPass::ReconstructBy(const ReconstructionPlan& plan, MetalLight* light) {
  if (reconstructor_ == nullptr) {
    ISO_RETURN_IF_ERROR(FreeDevice());
    ISO_ASSIGN_OR_RETURN(reconstructor_, Reconstructor::Create(plan, registry_, devices_));
  }
  const auto chunk = static_cast<size_t>(reconstructor_->next_chunk());
  if (chunk < plan.chunks.size()) {
    const Chunk& views = plan.chunks[chunk];
    const HostView3<const float> lines = light != nullptr
                                             ? light->Lines(views.first_view, views.views)
                                             : store_->Lines(views.first_view, views.views);
    ISO_RETURN_IF_ERROR(reconstructor_->Push({.line_integrals = lines},
                                             Matrices().subspan(views.first_view, views.views)));
    view_ += views.views;
    return false;
  }
  ISO_ASSIGN_OR_RETURN(const bool all_started, reconstructor_->FinishStep(volume(), nullptr));
  if (!all_started) return false;
  ISO_RETURN_IF_ERROR(reconstructor_->AwaitFinish());
  ISO_RETURN_IF_ERROR(CollectTrace());
  reconstructor_.reset();
  return true;
}

absl::StatusOr<bool> SecondPass::ModelConeBeam() {
  const auto matrices = store_->Matrices(0, plan_.views());
  if (cone_beam_ == nullptr) {
    ISO_RETURN_IF_ERROR(FreeDevice());
    OpenConeBeam();
    if (plan_.cone_beam->on_device) ISO_RETURN_IF_ERROR(cone_beam_->Upload(volume()));
  }
  if (!plan_.cone_beam->on_device) {
    return OnHost([this, matrices] { return cone_beam_->MakeModel(volume(), matrices); });
  }
  ISO_RETURN_IF_ERROR(cone_beam_->MakeModelOnDevice(matrices));
  return true;
}

absl::StatusOr<bool> SecondPass::FindConeBeamArtefact() {
  ISO_ASSIGN_OR_RETURN(const bool found, cone_beam_->Step());
  view_ = cone_beam_->views_done();
  return found;
}

absl::StatusOr<bool> SecondPass::TakeOffConeBeamArtefact() {
  if (!plan_.cone_beam->on_device) return OnHost([this] { return cone_beam_->TakeOff(volume()); });
  ISO_RETURN_IF_ERROR(cone_beam_->TakeOffOnDevice());
  if (volume_) ISO_RETURN_IF_ERROR(cone_beam_->Download(volume()));
  return true;
}

absl::StatusOr<bool> SecondPass::LookForMotion() {
  ISO_ASSIGN_OR_RETURN(const bool looked, OnHost([this] { return motion_->Search(*store_); }));
  if (!looked) return false;
  if (motion_->found().moved) Then({&SecondPass::Reconstruct});
  return true;
}

absl::StatusOr<bool> SecondPass::LookForDetector() {
  ISO_ASSIGN_OR_RETURN(const bool looked, OnHost([this] { return calibration_->Search(*store_); }));
  if (!looked) return false;
  if (calibration_->found().found()) Then({&SecondPass::Reconstruct});
  return true;
}

}  // namespace isocenter::recon
