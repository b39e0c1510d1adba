// A volume of one phase: all frames -> line integrals -> those of the phase -> the volume.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/gating/gated_plan.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/reconstructor.h"

namespace isocenter::recon {
namespace {

class GatedVolume final : public Refinement {
 public:
  static absl::StatusOr<std::unique_ptr<Refinement>> Create(const GatedPlan& plan,
                                                            const ops::Registry& registry,
                                                            std::span<ops::Device* const> devices);

  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                    std::span<const float> doses) override;
  absl::Status Start(HostView3<const float> hounsfield) override;
  absl::StatusOr<bool> Step() override;
  std::span<const IterationReport> reports() const override {
    return iterations_ ? iterations_->reports() : std::span<const IterationReport>();
  }
  double progress() const override;
  bool readable() const override { return done_ || (iterations_ && iterations_->readable()); }
  absl::Status Read(HostView3<float> hounsfield) override;
  std::vector<std::string> findings() const override {
    std::vector<std::string> all{GateText(plan_.window, plan_.gate, plan_.views())};
    if (!iterations_) return all;
    for (std::string& finding : iterations_->findings()) all.push_back(std::move(finding));
    return all;
  }
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace() override;

 private:
  GatedVolume(const GatedPlan& plan, const ops::Registry& registry,
              std::span<ops::Device* const> devices)
      : plan_(plan), registry_(registry), devices_(devices.begin(), devices.end()) {}

  static HostView3<float> ViewOf(const std::unique_ptr<ops::HostMemory>& memory,
                                 const Shape3& shape) {
    return {reinterpret_cast<float*>(memory->data()), shape};
  }
  Shape3 ShapeOf(int64_t views) const {
    const Detector& detector = plan_.acquisition.detector;
    return {views, detector.rows, detector.columns};
  }
  int chosen_views() const { return static_cast<int>(plan_.gate.chosen.views.size()); }
  /// Of chosen views.
  ops::RawFrames Lines(int first, int count) const {
    return {.line_integrals = HostView3<const float>(
                ViewOf(lines_, ShapeOf(chosen_views())).slices(first, count))};
  }
  std::span<const ProjectionMatrix> Matrices(int first, int count) const {
    return measured_ ? std::span(matrices_).subspan(first, count)
                     : std::span<const ProjectionMatrix>();
  }
  absl::StatusOr<bool> BackProject(const ReconstructionPlan& plan);
  absl::StatusOr<bool> Iterate(const RefinementPlan& plan);

  const GatedPlan& plan_;
  const ops::Registry& registry_;
  const std::vector<ops::Device*> devices_;
  std::unique_ptr<ops::HostMemory> lines_;   // of the chosen views
  std::unique_ptr<ops::HostMemory> volume_;  // of filtered back-projection
  Trajectory matrices_;                      // of the chosen views
  bool measured_ = false;                    // one of them is not the planned one
  int next_view_ = 0;                        // of the scan
  int kept_ = 0;                             // of the chosen views
  int worked_on_ = 0;                        // of the chosen views
  bool started_ = false, done_ = false;
  HostView3<const float> start_;
  std::vector<DeviceSpan> trace_;
  // Until Start:
  std::unique_ptr<ops::HostMemory> chunk_;
  std::unique_ptr<ops::Session> session_;
  std::unique_ptr<LineConverter> converter_;
  // After it, one of them:
  std::unique_ptr<Reconstructor> reconstructor_;
  std::unique_ptr<Refinement> iterations_;
};

absl::StatusOr<std::unique_ptr<Refinement>> GatedVolume::Create(
    const GatedPlan& plan, const ops::Registry& registry, std::span<ops::Device* const> devices) {
  std::unique_ptr<GatedVolume> self(new GatedVolume(plan, registry, devices));
  ops::Device& device = *devices[0];
  const auto bytes = [](const Shape3& shape) {
    return shape.count() * static_cast<int64_t>(sizeof(float));
  };
  ISO_ASSIGN_OR_RETURN(self->lines_,
                       device.NewHostMemory(bytes(self->ShapeOf(self->chosen_views()))));
  ISO_ASSIGN_OR_RETURN(self->chunk_, device.NewHostMemory(bytes(self->ShapeOf(plan.chunk_views))));
  if (std::holds_alternative<ReconstructionPlan>(plan.phase)) {
    ISO_ASSIGN_OR_RETURN(self->volume_, device.NewHostMemory(VolumeBytes(plan.grid)));
  }
  ISO_ASSIGN_OR_RETURN(self->session_, device.NewSession());
  ISO_ASSIGN_OR_RETURN(self->converter_,
                       LineConverter::Create(plan.acquisition, {0, plan.acquisition.detector.rows},
                                             plan.chunk_views, registry, *self->session_));
  return self;
}

absl::Status GatedVolume::Push(const ops::RawFrames& frames,
                               std::span<const ProjectionMatrix> measured,
                               std::span<const float> doses) {
  if (started_) return absl::FailedPreconditionError("frames after the start");
  const int64_t count = frames.shape().slow;
  const int64_t most = std::min(plan_.chunk_views, plan_.views() - next_view_);
  if (count < 1 || count > most) {
    return absl::InvalidArgumentError(absl::StrCat(count, " frames after ", next_view_, " of ",
                                                   plan_.views(), "; legal is 1 to ", most));
  }
  ISO_RETURN_IF_ERROR(CheckFrames(plan_.acquisition, count, frames, measured, doses));
  for (size_t i = 0; i < measured.size(); ++i) {
    ISO_RETURN_IF_ERROR(ops::CheckMatrix(next_view_ + i, measured[i]));
  }
  const HostView3<float> lines = ViewOf(chunk_, ShapeOf(count));
  // Also of frames that nobody chose: what a frame leaves behind in the detector is in the next.
  ISO_RETURN_IF_ERROR(converter_->Run(frames, doses, lines));
  const HostView3<float> kept = ViewOf(lines_, ShapeOf(chosen_views()));
  for (int view = 0; view < static_cast<int>(count); ++view) {
    const int of_scan = next_view_ + view;
    if (kept_ == chosen_views() || plan_.gate.chosen.views[kept_] != of_scan) continue;
    const std::span<const float> from = lines.slices(view, 1).span();
    std::copy(from.begin(), from.end(), kept.slices(kept_, 1).span().begin());
    matrices_.push_back(measured.empty() ? plan_.acquisition.trajectory[of_scan] : measured[view]);
    measured_ |= !measured.empty();
    ++kept_;
  }
  next_view_ += static_cast<int>(count);
  return absl::OkStatus();
}

absl::Status GatedVolume::Start(HostView3<const float> hounsfield) {
  if (next_view_ < plan_.views()) {
    return absl::FailedPreconditionError(
        absl::StrCat(next_view_, " of ", plan_.views(), " frames have come"));
  }
  if (hounsfield.shape().count() > 0) {
    ISO_RETURN_IF_ERROR(
        ops::CheckSameShape("the volume to begin with", hounsfield.shape(), plan_.grid.shape()));
  }
  converter_.reset();
  session_.reset();
  chunk_.reset();
  start_ = hounsfield;
  started_ = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> GatedVolume::Step() {
  if (!started_) return absl::FailedPreconditionError("a step before the start");
  if (done_) return true;
  if (const auto* const plan = std::get_if<ReconstructionPlan>(&plan_.phase)) {
    ISO_ASSIGN_OR_RETURN(done_, BackProject(*plan));
  } else {
    ISO_ASSIGN_OR_RETURN(done_, Iterate(std::get<RefinementPlan>(plan_.phase)));
  }
  return done_;
}

absl::StatusOr<bool> GatedVolume::BackProject(const ReconstructionPlan& plan) {
  if (reconstructor_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(reconstructor_, Reconstructor::Create(plan, registry_, devices_));
  }
  const auto next = static_cast<size_t>(reconstructor_->next_chunk());
  if (next < plan.chunks.size()) {
    const Chunk& views = plan.chunks[next];
    ISO_RETURN_IF_ERROR(reconstructor_->Push(Lines(views.first_view, views.views),
                                             Matrices(views.first_view, views.views)));
    worked_on_ += views.views;
    return false;
  }
  ISO_ASSIGN_OR_RETURN(const bool all_started,
                       reconstructor_->FinishStep(ViewOf(volume_, plan_.grid.shape()), nullptr));
  if (!all_started) return false;
  ISO_RETURN_IF_ERROR(reconstructor_->AwaitFinish());
  ISO_ASSIGN_OR_RETURN(trace_, reconstructor_->TakeTrace());
  reconstructor_.reset();
  return true;
}

absl::StatusOr<bool> GatedVolume::Iterate(const RefinementPlan& plan) {
  if (iterations_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(iterations_, Refinement::Create(plan, registry_, devices_));
  }
  if (worked_on_ == chosen_views()) return iterations_->Step();
  const int views = std::min(plan.chunk_views, chosen_views() - worked_on_);
  ISO_RETURN_IF_ERROR(iterations_->Push(Lines(worked_on_, views), Matrices(worked_on_, views)));
  worked_on_ += views;
  if (worked_on_ == chosen_views()) ISO_RETURN_IF_ERROR(iterations_->Start(start_));
  return false;
}

double GatedVolume::progress() const {
  if (done_) return 1;
  if (std::holds_alternative<RefinementPlan>(plan_.phase)) {
    return iterations_ ? iterations_->progress() : 0;
  }
  return static_cast<double>(worked_on_) / (chosen_views() + 1);  // one for its end
}

absl::Status GatedVolume::Read(HostView3<float> hounsfield) {
  if (!readable()) return absl::FailedPreconditionError("the volume of the phase is not complete");
  if (iterations_ != nullptr) return iterations_->Read(hounsfield);
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", hounsfield.shape(), plan_.grid.shape()));
  const std::span<const float> made = ViewOf(volume_, plan_.grid.shape()).span();
  std::copy(made.begin(), made.end(), hounsfield.span().begin());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeviceSpan>> GatedVolume::TakeTrace() {
  std::vector<DeviceSpan> spans = std::exchange(trace_, {});
  if (reconstructor_ != nullptr) {
    ISO_ASSIGN_OR_RETURN(const std::vector<DeviceSpan> more, reconstructor_->TakeTrace());
    spans.insert(spans.end(), more.begin(), more.end());
  }
  if (iterations_ != nullptr) {
    ISO_ASSIGN_OR_RETURN(const std::vector<DeviceSpan> more, iterations_->TakeTrace());
    spans.insert(spans.end(), more.begin(), more.end());
  }
  return spans;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Refinement>> NewGatedVolume(const GatedPlan& plan,
                                                           const ops::Registry& registry,
                                                           std::span<ops::Device* const> devices) {
  return GatedVolume::Create(plan, registry, devices);
}

}  // namespace isocenter::recon
