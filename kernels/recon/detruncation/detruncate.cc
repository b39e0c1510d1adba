#include "kernels/recon/detruncation/detruncate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/check.h"
#include "kernels/recon/detruncation/extended_row.h"
#include "kernels/recon/detruncation/outside_model.h"
#include "kernels/recon/detruncation/row_completer.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/line_store.h"
#include "kernels/recon/second_pass/reconstruct_twice.h"
#include "kernels/recon/second_pass/staged_copies.h"
#include "kernels/recon/second_pass/volume_memory.h"

namespace isocenter::recon {
namespace {

constexpr double kCutLine = 0.2;  // a line integral that no air has
constexpr double kReach = 0.98;   // of the model's grid, the radius that extended rows fill

Shape3 FramesOf(const Acquisition& acquisition, int64_t views) {
  return {views, acquisition.detector.rows, acquisition.detector.columns};
}

class Detruncation final : public Refinement {
 public:
  static absl::StatusOr<std::unique_ptr<Refinement>> Create(const DetruncationPlan& plan,
                                                            const ops::Registry& registry,
                                                            std::span<ops::Device* const> devices);

  absl::Status Push(const ops::RawFrames& frames, std::span<const ProjectionMatrix> measured,
                    std::span<const float> doses) override;
  absl::Status Start(HostView3<const float> hounsfield) override;
  absl::StatusOr<bool> Step() override;
  std::span<const IterationReport> reports() const override { return {}; }
  double progress() const override {
    return readable() ? 1 : std::min(1.0, updates_ / plan_.voxel_updates);
  }
  bool readable() const override { return started_ && stages_.empty(); }
  absl::Status Read(HostView3<float> hounsfield) override;
  std::vector<std::string> findings() const override;
  absl::StatusOr<std::vector<DeviceSpan>> TakeTrace() override;

 private:
  /// Does the next part; true when the stage has ended.
  using Stage = absl::StatusOr<bool> (Detruncation::*)();

  Detruncation(const DetruncationPlan& plan, const ops::Registry& registry,
               std::span<ops::Device* const> devices)
      : plan_(plan),
        registry_(registry),
        devices_(devices.begin(), devices.end()),
        // Half of the host's, so that others find some.
        threads_(std::max(1, devices[0]->limits().threads / 2)) {}

  /// Of the rows' ends, the share that lies inside of the object.
  double CutEnds() const;
  void ExtendRows();
  absl::StatusOr<bool> ReconstructExtended();
  absl::StatusOr<bool> GiveBinnedRows();
  absl::StatusOr<bool> RefineModel();
  absl::StatusOr<bool> ReconstructCompleted();

  /// The next chunk of the reconstruction, then its volume; true when that is there.
  absl::StatusOr<bool> Reconstruct(
      const ReconstructionPlan& plan, const Trajectory& matrices,
      const std::function<absl::StatusOr<HostView3<const float>>(const Chunk&)>& lines,
      HostView3<float> volume);
  std::span<const ProjectionMatrix> Of(const Trajectory& matrices, const Chunk& chunk) const {
    return std::span(matrices).subspan(chunk.first_view, chunk.views);
  }
  absl::Status CollectTrace();

  const DetruncationPlan& plan_;
  const ops::Registry& registry_;
  const std::vector<ops::Device*> devices_;
  ThreadPool threads_;
  std::unique_ptr<LineStore> store_;
  std::vector<float> binned_;           // [view][v][u]
  std::optional<VolumeMemory> volume_;  // HU
  bool started_ = false;
  double cut_ = 0;  // CutEnds
  std::deque<Stage> stages_;
  double updates_ = 0;  // of plan_.voxel_updates
  std::vector<DeviceSpan> trace_;
  // From Start on, where rows are cut; matrices are those that the frames have.
  Trajectory binned_matrices_, extended_matrices_, completed_matrices_;
  std::vector<float> extended_;        // [view][v][u], until they have been reconstructed
  std::optional<VolumeMemory> model_;  // HU, then 1/mm
  std::unique_ptr<Reconstructor> reconstructor_;
  std::unique_ptr<Refinement> pass_;  // of the model
  int view_ = 0;                      // the next one that pass_ is given
  std::unique_ptr<RowCompleter> completer_;
  std::vector<float> completed_;  // of a chunk
};

absl::StatusOr<std::unique_ptr<Refinement>> Detruncation::Create(
    const DetruncationPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices) {
  if (devices.empty())
    return absl::InvalidArgumentError("there are no devices; legal is 1 or more");
  std::unique_ptr<Detruncation> self(new Detruncation(plan, registry, devices));
  ops::Device& device = *devices[0];
  ISO_ASSIGN_OR_RETURN(self->store_, LineStore::Create(plan, &plan.acquisition, registry, device));
  ISO_ASSIGN_OR_RETURN(self->volume_, VolumeMemory::Create(plan.grid, &device));
  self->binned_.resize(FramesOf(plan.model.acquisition, plan.views()).count());
  return self;
}

absl::Status Detruncation::Push(const ops::RawFrames& frames,
                                std::span<const ProjectionMatrix> measured,
                                std::span<const float> doses) {
  const int first = store_->views();
  ISO_RETURN_IF_ERROR(store_->Push(frames, measured, doses));
  const Detector& binned = plan_.model.acquisition.detector;
  const size_t pixels = size_t(binned.columns) * binned.rows;
  threads_.ParallelFor(store_->views() - first, [&](int64_t i, int) {
    const int view = first + static_cast<int>(i);
    BinFrame(plan_.bins, binned, store_->Lines(view, 1),
             std::span(binned_).subspan(view * pixels, pixels));
  });
  return absl::OkStatus();
}

absl::Status Detruncation::Start(HostView3<const float> hounsfield) {
  if (started_) return absl::FailedPreconditionError("rows are completed already");
  ISO_RETURN_IF_ERROR(store_->CheckAllPushed());
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the first volume", hounsfield.shape(), plan_.grid.shape()));
  ISO_RETURN_IF_ERROR(CopyFinite(hounsfield, threads_, volume_->view()));
  store_->Close();
  started_ = true;
  cut_ = CutEnds();
  if (cut_ < kLeastCutEnds) return absl::OkStatus();
  for (const ProjectionMatrix& matrix : store_->Matrices(0, plan_.views())) {
    binned_matrices_.push_back(Binned(matrix, plan_.bins));
    extended_matrices_.push_back(Widened(binned_matrices_.back(), plan_.more_binned));
    completed_matrices_.push_back(Widened(matrix, plan_.more_columns));
  }
  ISO_ASSIGN_OR_RETURN(model_, VolumeMemory::Create(plan_.model.grid, nullptr));
  stages_ = {&Detruncation::ReconstructExtended};
  for (int pass = 0; pass < kModelPasses; ++pass) {
    stages_.insert(stages_.end(), {&Detruncation::GiveBinnedRows, &Detruncation::RefineModel});
  }
  stages_.push_back(&Detruncation::ReconstructCompleted);
  return absl::OkStatus();
}

absl::StatusOr<bool> Detruncation::Step() {
  if (!started_) return absl::FailedPreconditionError("completing rows has not started");
  if (stages_.empty()) return true;
  ISO_ASSIGN_OR_RETURN(const bool ended, (this->*stages_.front())());
  if (ended) stages_.pop_front();
  return stages_.empty();
}

double Detruncation::CutEnds() const {
  const int columns = plan_.model.acquisition.detector.columns;
  int64_t cut = 0, ends = 0;
  for (size_t row = 0; row < binned_.size(); row += columns, ends += 2) {
    cut += (binned_[row] > kCutLine ? 1 : 0) + (binned_[row + columns - 1] > kCutLine ? 1 : 0);
  }
  return static_cast<double>(cut) / static_cast<double>(ends);
}

// As the ramp filter sees rows: weighted with the cosine of their rays' angles.
void Detruncation::ExtendRows() {
  const Detector& narrow = plan_.model.acquisition.detector;
  const Detector& wide = plan_.start.acquisition.detector;
  extended_.resize(FramesOf(plan_.start.acquisition, plan_.views()).count());
  threads_.ParallelFor(plan_.views(), [&](int64_t view, int) {
    const auto camera = Decompose(extended_matrices_[view]);
    std::vector<double> row(narrow.columns), longer(wide.columns), cosine(wide.columns);
    for (int v = 0; v < narrow.rows; ++v) {
      const int64_t at = view * narrow.rows + v;
      for (int u = 0; u < wide.columns; ++u) {
        cosine[u] =
            !camera.ok() ? 1 : 1 / std::hypot(1, (u - camera->principal_u_px) / camera->focal_u_px);
      }
      for (int u = 0; u < narrow.columns; ++u) {
        row[u] = binned_[at * narrow.columns + u] * cosine[u + plan_.more_binned];
      }
      ExtendRow(row, longer);
      for (int u = 0; u < wide.columns; ++u) {
        extended_[at * wide.columns + u] = static_cast<float>(longer[u] / cosine[u]);
      }
    }
  });
}

absl::StatusOr<bool> Detruncation::Reconstruct(
    const ReconstructionPlan& plan, const Trajectory& matrices,
    const std::function<absl::StatusOr<HostView3<const float>>(const Chunk&)>& lines,
    HostView3<float> volume) {
  if (reconstructor_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(reconstructor_, Reconstructor::Create(plan, registry_, devices_));
  }
  const auto next = static_cast<size_t>(reconstructor_->next_chunk());
  if (next < plan.chunks.size()) {
    const Chunk& chunk = plan.chunks[next];
    ISO_ASSIGN_OR_RETURN(const HostView3<const float> given, lines(chunk));
    ISO_RETURN_IF_ERROR(reconstructor_->Push({.line_integrals = given}, Of(matrices, chunk)));
    updates_ += plan.voxel_updates * chunk.views / plan_.views();
    return false;
  }
  ISO_ASSIGN_OR_RETURN(const bool all_started, reconstructor_->FinishStep(volume, nullptr));
  if (!all_started) return false;
  ISO_RETURN_IF_ERROR(reconstructor_->AwaitFinish());
  ISO_RETURN_IF_ERROR(CollectTrace());
  reconstructor_.reset();
  return true;
}

absl::StatusOr<bool> Detruncation::ReconstructExtended() {
  if (extended_.empty()) ExtendRows();
  const HostView3<const float> lines(extended_.data(),
                                     FramesOf(plan_.start.acquisition, plan_.views()));
  ISO_ASSIGN_OR_RETURN(const bool done, Reconstruct(
                                            plan_.start, extended_matrices_,
                                            [&](const Chunk& chunk) {
                                              return lines.slices(chunk.first_view, chunk.views);
                                            },
                                            model_->view()));
  if (!done) return false;
  std::vector<float>().swap(extended_);
  const VolumeGrid& grid = plan_.model.grid;
  Bound(grid, kReach * grid.spacing.x * grid.nx / 2, threads_, model_->view());
  return true;
}

absl::StatusOr<bool> Detruncation::GiveBinnedRows() {
  if (pass_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(pass_, Refinement::Create(plan_.model, registry_, devices_));
    view_ = 0;
  }
  const HostView3<const float> lines(binned_.data(),
                                     FramesOf(plan_.model.acquisition, plan_.views()));
  const Chunk chunk{.first_view = view_,
                    .views = std::min(plan_.model.chunk_views, plan_.views() - view_)};
  ISO_RETURN_IF_ERROR(pass_->Push({.line_integrals = lines.slices(view_, chunk.views)},
                                  Of(binned_matrices_, chunk)));
  view_ += chunk.views;
  if (view_ < plan_.views()) return false;
  ISO_RETURN_IF_ERROR(pass_->Start(model_->view()));
  return true;
}

absl::StatusOr<bool> Detruncation::RefineModel() {
  const double before = pass_->progress();
  ISO_ASSIGN_OR_RETURN(const bool done, pass_->Step());
  updates_ += plan_.model.voxel_updates * (pass_->progress() - before);
  if (!done) return false;
  ISO_RETURN_IF_ERROR(pass_->Read(model_->view()));
  ISO_RETURN_IF_ERROR(CollectTrace());
  pass_.reset();
  const bool last = stages_.size() == 2;  // and what completes rows
  if (!last) {
    LeanToTissue(plan_.model.grid, plan_.known_radius_mm, threads_, model_->view());
    return true;
  }
  for (float& voxel : model_->view().span()) {
    voxel = static_cast<float>(ops::AttenuationOf(plan_.model.hounsfield, voxel));
  }
  return true;
}

absl::StatusOr<bool> Detruncation::ReconstructCompleted() {
  if (completer_ == nullptr) {
    ISO_ASSIGN_OR_RETURN(completer_,
                         RowCompleter::Create(plan_, registry_, *devices_[0], model_->view()));
    completed_.resize(FramesOf(plan_.again.acquisition, LargestChunk(plan_.again)).count());
  }
  const auto complete = [&](const Chunk& chunk) -> absl::StatusOr<HostView3<const float>> {
    const HostView3<float> rows(completed_.data(), FramesOf(plan_.again.acquisition, chunk.views));
    ISO_RETURN_IF_ERROR(completer_->Run(Of(completed_matrices_, chunk),
                                        store_->Lines(chunk.first_view, chunk.views), threads_,
                                        rows));
    return HostView3<const float>(rows);
  };
  return Reconstruct(plan_.again, completed_matrices_, complete, volume_->view());
}

absl::Status Detruncation::Read(HostView3<float> hounsfield) {
  if (!readable()) return absl::FailedPreconditionError("completing rows has not ended");
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", hounsfield.shape(), plan_.grid.shape()));
  volume_->CopyTo(hounsfield, threads_);
  return absl::OkStatus();
}

std::vector<std::string> Detruncation::findings() const {
  if (!readable()) return {};
  return {absl::StrFormat("truncation: %s of the rows' ends are inside of the object; %s",
                          ShareText(cut_),
                          cut_ < kLeastCutEnds ? "nothing was completed"
                                               : "rows go on as a model of what is beyond them")};
}

absl::Status Detruncation::CollectTrace() {
  const auto take = [&](const auto& work) -> absl::Status {
    if (work == nullptr) return absl::OkStatus();
    ISO_ASSIGN_OR_RETURN(const std::vector<DeviceSpan> spans, work->TakeTrace());
    trace_.insert(trace_.end(), spans.begin(), spans.end());
    return absl::OkStatus();
  };
  ISO_RETURN_IF_ERROR(take(reconstructor_));
  ISO_RETURN_IF_ERROR(take(pass_));
  if (completer_ == nullptr) return absl::OkStatus();
  ISO_ASSIGN_OR_RETURN(const std::vector<ops::Span> spans, completer_->timeline().Take());
  for (const ops::Span& span : spans) trace_.push_back({0, span});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeviceSpan>> Detruncation::TakeTrace() {
  ISO_RETURN_IF_ERROR(CollectTrace());
  return std::exchange(trace_, {});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Refinement>> NewDetruncation(const DetruncationPlan& plan,
                                                            const ops::Registry& registry,
                                                            std::span<ops::Device* const> devices) {
  return Detruncation::Create(plan, registry, devices);
}

absl::Status ReconstructDetruncated(const DetruncationPlan& plan, const ops::Registry& registry,
                                    std::span<ops::Device* const> devices,
                                    const ops::RawFrames& frames, HostView3<float> volume,
                                    std::span<const float> doses,
                                    std::vector<std::string>* findings) {
  return ReconstructTwice(
      plan, [&] { return NewDetruncation(plan, registry, devices); }, registry, devices, frames,
      volume, doses, findings);
}

}  // namespace isocenter::recon
