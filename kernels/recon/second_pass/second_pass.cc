#include "kernels/recon/second_pass/second_pass.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/check.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_pass.h"
#include "kernels/recon/second_pass/findings.h"
#include "kernels/recon/second_pass/host_work.h"
#include "kernels/recon/second_pass/line_correction.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/metal_evidence.h"
#include "kernels/recon/second_pass/metal_light.h"
#include "kernels/recon/second_pass/motion_pass.h"
#include "kernels/recon/second_pass/reconstruct_twice.h"
#include "kernels/recon/second_pass/scatter_pass.h"
#include "kernels/recon/second_pass/scatter_removal.h"
#include "kernels/recon/second_pass/segment.h"
#include "kernels/recon/second_pass/staged_copies.h"
#include "kernels/recon/second_pass/stripe_correction.h"
#include "kernels/recon/second_pass/volume_memory.h"
#include "kernels/recon/self_calibration/calibration_pass.h"

namespace isocenter::recon {
namespace {

// Of the time that a pass takes which looks for something in the frames first.
constexpr double kSearchShare = 0.9;

class SecondPass final : public Refinement {
 public:
  static absl::StatusOr<std::unique_ptr<Refinement>> Create(const SecondPassPlan& plan,
                                                            const ops::Registry& registry,
                                                            std::span<ops::Device* const> devices);
  // What is under way on the host ends early.
  ~SecondPass() override {
    if (scatter_ != nullptr) scatter_->Stop();
    if (motion_ != nullptr) motion_->Stop();
    if (calibration_ != nullptr) calibration_->Stop();
  }

  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                    std::span<const float> doses) override {
    return store_->Push(frames, measured, doses);
  }
  absl::Status SetReference(ReferenceVolume reference) override;
  absl::Status Start(HostView3<const float> hounsfield) override;
  absl::StatusOr<bool> Step() override;
  std::span<const IterationReport> reports() const override { return {}; }
  double progress() const override { return progress_; }
  bool readable() const override { return started_ && stages_.empty(); }
  absl::Status Read(HostView3<float> hounsfield) override;
  std::vector<std::string> findings() const override;
  const FoundMotion* motion() const override {
    return motion_ != nullptr && readable() ? &motion_->found() : nullptr;
  }
  const SelfCalibration* self_calibration() const override {
    return calibration_ != nullptr && readable() ? &calibration_->found() : nullptr;
  }
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace() override;

 private:
  /// Does the next part; true when the stage has ended.
  using Stage = absl::StatusOr<bool> (SecondPass::*)();

  SecondPass(const SecondPassPlan& plan, const ops::Registry& registry,
             std::span<ops::Device* const> devices)
      : plan_(plan), registry_(registry), devices_(devices.begin(), devices.end()) {}

  absl::StatusOr<bool> RemoveStripes();
  absl::StatusOr<bool> BinLines() {
    return OnHost([this] { return scatter_->Bin(*store_); });
  }
  absl::StatusOr<bool> ReconstructCoarsely() { return scatter_->ReconstructStep(); }
  absl::StatusOr<bool> EstimateScatter() {
    return OnHost([this] { return scatter_->Estimate(); });
  }
  absl::StatusOr<bool> RemoveScatter();
  absl::StatusOr<bool> Segment();
  absl::StatusOr<bool> AskRays();
  absl::StatusOr<bool> CountMetal() {
    return Aside([this] { metal_found_.pieces = CountPieces(plan_.grid, metal()); });
  }
  absl::StatusOr<bool> InterpolateLinearly();
  absl::StatusOr<bool> FindPrior() {
    return Aside([this] {
      MakePrior(*plan_.settings.metal, plan_.warm_start->hounsfield, metal(), volume());
    });
  }
  absl::StatusOr<bool> InterpolateByPrior();
  absl::StatusOr<bool> KeepLines();
  absl::StatusOr<bool> MarkMetalsVoxels() {
    return Aside([this] { MarkMetal(metal(), volume()); });
  }
  absl::StatusOr<bool> AskLight();
  absl::StatusOr<bool> MakeMetalLines() {
    return WithProjections([this](int first, const LineChunk& chunk, HostView3<float> paths) {
      light_->MakeMetal(first, chunk.lines, paths);
    });
  }
  absl::StatusOr<bool> ReconstructMetal() { return ReconstructBy(again(), light_.get()); }
  absl::StatusOr<bool> KeepMetalsVoxels() {
    return Aside(
        [this] { KeepMetal(plan_.grid, plan_.warm_start->hounsfield, metal(), volume()); });
  }
  absl::StatusOr<bool> AddRest() {
    return WithProjections([this](int first, const LineChunk& chunk, HostView3<float> explained) {
      light_->AddRest(first, chunk.lines, explained);
    });
  }
  absl::StatusOr<bool> FindBone();
  absl::StatusOr<bool> CorrectBone();
  absl::StatusOr<bool> Reconstruct() { return ReconstructBy(again(), nullptr); }
  absl::StatusOr<bool> ReconstructSmoothly() {
    return ReconstructBy(*plan_.smooth, lit_ ? light_.get() : nullptr);
  }
  absl::StatusOr<bool> PutMetalBack() {
    return Aside([this] { RestoreMetal(metal(), volume()); });
  }
  void OpenConeBeam() {
    cone_beam_ = std::make_unique<ConeBeamPass>(plan_, registry_, devices_, HostThreads());
  }
  absl::StatusOr<bool> ModelConeBeam();
  absl::StatusOr<bool> FindConeBeamArtefact();
  absl::StatusOr<bool> TakeOffConeBeamArtefact();
  absl::StatusOr<bool> LookForMotion();
  absl::StatusOr<bool> LookForDetector();

  /// Reconstructs the lines, or those of `light`, by a plan of the same trajectory.
  absl::StatusOr<bool> ReconstructBy(const ReconstructionPlan& plan, MetalLight* light);
  /// Of some views: their lines, and projections of the volume.
  using Work =
      std::function<void(int first_view, const LineChunk& lines, HostView3<float> projections)>;
  /// Does it with the next views; true when all are done.
  absl::StatusOr<bool> WithProjections(const Work& work);
  /// Does what needs no device on a thread of its own, so that who waits for the device need not
  /// wait for a second of it; true when it is done.
  absl::StatusOr<bool> OnHost(std::function<absl::Status()> work) {
    return on_host_.Step(std::move(work));
  }
  absl::StatusOr<bool> Aside(std::function<void()> work) {
    return OnHost([work = std::move(work)] { return work(), absl::OkStatus(); });
  }
  /// Half of the host's threads, so that others find some.
  int HostThreads() const { return std::max(1, devices_[0]->limits().threads / 2); }
  /// The next views to correct, on the device.
  absl::StatusOr<LineChunk> NextChunk();
  /// Corrects them, and counts what this changes of the views that are asked.
  absl::Status Counted(const LineChunk& chunk, LineChanges& changes,
                       const std::function<absl::Status()>& correct) {
    const int first = view_ - static_cast<int>(chunk.lines.shape().slow);
    return CountChanges(chunk.lines, first, AskedViewStride(plan_.views()), correct, changes);
  }
  double VoxelMm3() const {
    return plan_.grid.spacing.x * plan_.grid.spacing.y * plan_.grid.spacing.z;
  }
  void Then(std::initializer_list<Stage> stages) {
    stages_.insert(stages_.begin(), stages.begin(), stages.end());
  }
  void CountProgress();
  /// What is reconstructed again, and by which matrices.
  const ReconstructionPlan& again() const {
    const ReconstructionPlan* const found = motion_ != nullptr        ? motion_->at_rest()
                                            : calibration_ != nullptr ? calibration_->corrected()
                                                                      : nullptr;
    return found != nullptr ? *found : plan_.again;
  }
  std::span<const ProjectionMatrix> Matrices() const {
    if (motion_ != nullptr || calibration_ != nullptr) return again().acquisition.trajectory;
    return store_->Matrices(0, plan_.views());
  }
  absl::Status CollectTrace();
  /// Corrections and reconstructions are in the device's memory one at a time.
  absl::Status FreeDevice();
  HostView3<float> volume() const { return volume_->view(); }
  HostView3<float> metal() const { return metal_->view(); }

  const SecondPassPlan& plan_;
  const ops::Registry& registry_;
  const std::vector<ops::Device*> devices_;
  std::unique_ptr<LineStore> store_;
  /// [z][y][x]: the volume so far in HU, and between two reconstructions what is made of it. None:
  /// the cone-beam pass has it on its device.
  std::optional<VolumeMemory> volume_;
  std::optional<VolumeMemory> metal_;  // HU of FindMetal; none: not asked for
  std::unique_ptr<MetalEvidence> evidence_;
  std::unique_ptr<MetalLight> light_;  // null: no metal yet
  bool lit_ = false;                   // whether it has lines to make a prior of
  std::vector<float> projections_;     // a chunk's
  std::vector<float> removed_;         // of a chunk's lines
  std::unique_ptr<StripeCorrection> stripes_;
  std::unique_ptr<ScatterPass> scatter_;  // null: not asked for
  std::unique_ptr<ScatterRemoval> removal_;
  std::unique_ptr<ConeBeamPass> cone_beam_;       // null: not asked for, or not yet
  std::unique_ptr<MotionPass> motion_;            // null: not asked for
  std::unique_ptr<CalibrationPass> calibration_;  // null: not asked for
  std::unique_ptr<LineCorrection> correction_;
  std::unique_ptr<Reconstructor> reconstructor_;
  bool started_ = false;
  MetalFindings metal_found_;
  BoneFindings bone_found_;
  std::optional<LineChanges> stripes_found_;
  std::deque<Stage> stages_;
  size_t stages_done_ = 0;
  double progress_ = 0;
  int view_ = 0;  // the next one of the stage
  int row_ = 0;   // the next one whose stripes are taken off
  std::vector<DeviceSpan> trace_;
  HostWork on_host_;  // last: it ends before what it uses
};

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
  if (store_->views() < plan_.views()) {
    return absl::FailedPreconditionError(
        absl::StrCat("only ", store_->views(), " of ", plan_.views(), " frames have been pushed"));
  }
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

absl::Status SecondPass::Read(HostView3<float> hounsfield) {
  if (!readable()) {
    return absl::FailedPreconditionError("the second pass has not ended");
  }
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", hounsfield.shape(), plan_.grid.shape()));
  if (!volume_) return cone_beam_->Download(hounsfield);
  ThreadPool threads(HostThreads());
  threads.ParallelFor(plan_.grid.nz, [&](int64_t z, int) {
    const std::span<const float> made = volume().slices(z, 1).span();
    std::copy(made.begin(), made.end(), hounsfield.slices(z, 1).span().begin());
  });
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

}  // namespace

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
