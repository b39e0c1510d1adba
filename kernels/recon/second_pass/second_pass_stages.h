// A second pass while it is carried out: stages that follow one another, some of which find that
// there are more.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/cone_beam/cone_beam_pass.h"
#include "kernels/recon/second_pass/findings.h"
#include "kernels/recon/second_pass/host_work.h"
#include "kernels/recon/second_pass/line_correction.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/metal_evidence.h"
#include "kernels/recon/second_pass/metal_light.h"
#include "kernels/recon/second_pass/motion_pass.h"
#include "kernels/recon/second_pass/scatter_pass.h"
#include "kernels/recon/second_pass/scatter_removal.h"
#include "kernels/recon/second_pass/second_pass.h"
#include "kernels/recon/second_pass/segment.h"
#include "kernels/recon/second_pass/stripe_correction.h"
#include "kernels/recon/second_pass/volume_memory.h"
#include "kernels/recon/self_calibration/calibration_pass.h"

namespace isocenter::recon {

/// As NewSecondPass makes it.
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

}  // namespace isocenter::recon
