#include "kernels/recon/detruncation/detruncate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "absl/strings/str_format.h"
#include "kernels/base/share_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/thread_pool.h"
#include "kernels/ops/check.h"
#include "kernels/recon/detruncation/extended_row.h"
#include "kernels/recon/detruncation/outside_model.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/line_converter.h"
#include "kernels/recon/reconstructor.h"
#include "kernels/recon/second_pass/plan.h"
#include "kernels/recon/second_pass/volume_memory.h"

namespace isocenter::recon {
namespace {

constexpr double kCutLine = 0.2;  // a line integral that no air has
constexpr double kReach = 0.98;   // of the model's grid, the radius that extended rows fill
// What is measured at a row's end, beside what the model has there, fades out beyond it.
constexpr int kEndColumns = 3;
constexpr double kFadeMm = 8;

Shape3 FramesOf(const Acquisition& acquisition, int64_t views) {
  return {views, acquisition.detector.rows, acquisition.detector.columns};
}

class Detruncation {
 public:
  Detruncation(const DetruncationPlan& plan, const ops::Registry& registry,
               std::span<ops::Device* const> devices)
      : plan_(plan),
        registry_(registry),
        devices_(devices),
        threads_(std::max(1, devices[0]->limits().threads)) {}

  absl::Status TakeFrames(const ops::RawFrames& frames, std::span<const float> doses);
  /// Of the rows' ends, the share that lies inside of the object.
  double CutEnds() const;
  absl::Status MakeModel();
  absl::Status Reconstruct(HostView3<float> volume);

 private:
  HostView3<float> Lines(int first, int views) {
    const Shape3 all = FramesOf(plan_.acquisition, plan_.views());
    return HostView3<float>(reinterpret_cast<float*>(lines_->data()), all).slices(first, views);
  }
  std::vector<float> ExtendedRows();
  absl::Status BeginCompleting();
  absl::Status Complete(const Chunk& chunk, HostView3<float> completed);
  void JoinRow(std::span<const float> measured, std::span<float> completed) const;

  const DetruncationPlan& plan_;
  const ops::Registry& registry_;
  const std::span<ops::Device* const> devices_;
  ThreadPool threads_;
  std::unique_ptr<ops::HostMemory> lines_;
  std::vector<float> binned_;          // [view][v][u]
  std::optional<VolumeMemory> model_;  // HU, then 1/mm
  // While rows are completed:
  std::unique_ptr<ops::Session> session_;  // before all that lives in it
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> projections_;
  std::unique_ptr<ops::ForwardProject> project_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;
};

absl::Status Detruncation::TakeFrames(const ops::RawFrames& frames, std::span<const float> doses) {
  ops::Device& device = *devices_[0];
  const Acquisition& acquisition = plan_.acquisition;
  ISO_ASSIGN_OR_RETURN(lines_, device.NewHostMemory(FramesOf(acquisition, plan_.views()).count() *
                                                    static_cast<int64_t>(sizeof(float))));
  ISO_ASSIGN_OR_RETURN(const auto session, device.NewSession());
  ISO_ASSIGN_OR_RETURN(const auto converter,
                       LineConverter::Create(acquisition, {0, acquisition.detector.rows},
                                             plan_.chunk_views, registry_, *session));
  for (int view = 0; view < plan_.views(); view += plan_.chunk_views) {
    const int count = std::min(plan_.chunk_views, plan_.views() - view);
    ISO_RETURN_IF_ERROR(
        converter->Run(frames.views(view, count), DosesOf(doses, view, count), Lines(view, count)));
  }
  const Detector& binned = plan_.model.acquisition.detector;
  const size_t pixels = size_t(binned.columns) * binned.rows;
  binned_.resize(pixels * plan_.views());
  threads_.ParallelFor(plan_.views(), [&](int64_t view, int) {
    BinFrame(plan_.bins, binned, Lines(static_cast<int>(view), 1),
             std::span(binned_).subspan(view * pixels, pixels));
  });
  return absl::OkStatus();
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
std::vector<float> Detruncation::ExtendedRows() {
  const Detector& narrow = plan_.model.acquisition.detector;
  const Detector& wide = plan_.start.acquisition.detector;
  std::vector<float> extended(FramesOf(plan_.start.acquisition, plan_.views()).count());
  threads_.ParallelFor(plan_.views(), [&](int64_t view, int) {
    const auto camera = Decompose(plan_.start.acquisition.trajectory[view]);
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
        extended[at * wide.columns + u] = static_cast<float>(longer[u] / cosine[u]);
      }
    }
  });
  return extended;
}

absl::Status Detruncation::MakeModel() {
  const VolumeGrid& grid = plan_.model.grid;
  ISO_ASSIGN_OR_RETURN(model_, VolumeMemory::Create(grid, nullptr));
  const HostView3<float> model = model_->view();
  {
    const std::vector<float> extended = ExtendedRows();
    ISO_ASSIGN_OR_RETURN(const auto first, Reconstructor::Create(plan_.start, registry_, devices_));
    const HostView3<const float> lines(extended.data(),
                                       FramesOf(plan_.start.acquisition, plan_.views()));
    ISO_RETURN_IF_ERROR(first->Run({.line_integrals = lines}, model, {}));
  }
  Bound(grid, kReach * grid.spacing.x * grid.nx / 2, threads_, model);
  const HostView3<const float> lines(binned_.data(),
                                     FramesOf(plan_.model.acquisition, plan_.views()));
  for (int pass = 0; pass < kModelPasses; ++pass) {
    if (pass > 0) LeanToTissue(grid, plan_.known_radius_mm, threads_, model);
    ISO_RETURN_IF_ERROR(
        RefineFrom(model, plan_.model, registry_, devices_, {.line_integrals = lines}, model)
            .status());
  }
  for (float& voxel : model.span()) {
    voxel = static_cast<float>(ops::AttenuationOf(plan_.model.hounsfield, voxel));
  }
  return absl::OkStatus();
}

absl::Status Detruncation::BeginCompleting() {
  ISO_ASSIGN_OR_RETURN(session_, devices_[0]->NewSession());
  ISO_ASSIGN_OR_RETURN(const SecondPassMethods methods,
                       SecondPassMethods::Find(registry_, session_->backend()));
  ISO_ASSIGN_OR_RETURN(volume_, session_->NewVolume(plan_.model.grid));
  ISO_ASSIGN_OR_RETURN(
      projections_,
      session_->NewProjectionStack(FramesOf(plan_.again.acquisition, LargestChunk(plan_.again)),
                                   ops::StackUse::kProjections));
  ISO_ASSIGN_OR_RETURN(project_, methods.project(*session_));
  ISO_ASSIGN_OR_RETURN(arithmetic_, methods.arithmetic(*session_));
  return volume_->Upload(0, model_->view());
}

void Detruncation::JoinRow(std::span<const float> measured, std::span<float> completed) const {
  const int more = plan_.more_columns, columns = static_cast<int>(measured.size());
  const double fade_px = kFadeMm * columns / (2 * plan_.known_radius_mm);
  const int ends = std::min(kEndColumns, columns);
  for (const int side : {-1, 1}) {
    const int edge = side < 0 ? 0 : columns - 1;
    double missed = 0;
    for (int k = 0; k < ends; ++k) {
      const int u = edge - side * k;
      missed += (measured[u] - completed[more + u]) / ends;
    }
    for (int k = 1; k <= more; ++k) {
      float& beyond = completed[more + edge + side * k];
      beyond = static_cast<float>(std::max(0.0, beyond + missed * std::exp(-(k - 1) / fade_px)));
    }
  }
  std::copy(measured.begin(), measured.end(), completed.begin() + more);
}

absl::Status Detruncation::Complete(const Chunk& chunk, HostView3<float> completed) {
  const std::span matrices =
      std::span(plan_.again.acquisition.trajectory).subspan(chunk.first_view, chunk.views);
  ISO_RETURN_IF_ERROR(projections_->Reshape(completed.shape()));
  ISO_RETURN_IF_ERROR(arithmetic_->Fill(0, *projections_));
  ISO_RETURN_IF_ERROR(project_->Run(matrices, *volume_, *projections_));
  ISO_RETURN_IF_ERROR(projections_->Download(0, completed));
  const HostView3<float> lines = Lines(chunk.first_view, chunk.views);
  const size_t narrow = plan_.acquisition.detector.columns;
  const size_t wide = plan_.again.acquisition.detector.columns;
  threads_.ParallelFor(int64_t{chunk.views} * plan_.acquisition.detector.rows, [&](int64_t row,
                                                                                   int) {
    JoinRow(lines.span().subspan(row * narrow, narrow), completed.span().subspan(row * wide, wide));
  });
  return absl::OkStatus();
}

absl::Status Detruncation::Reconstruct(HostView3<float> volume) {
  ISO_RETURN_IF_ERROR(BeginCompleting());
  ISO_ASSIGN_OR_RETURN(const auto again, Reconstructor::Create(plan_.again, registry_, devices_));
  std::vector<float> rows(FramesOf(plan_.again.acquisition, LargestChunk(plan_.again)).count());
  for (const Chunk& chunk : plan_.again.chunks) {
    const HostView3<float> completed(rows.data(), FramesOf(plan_.again.acquisition, chunk.views));
    ISO_RETURN_IF_ERROR(Complete(chunk, completed));
    ISO_RETURN_IF_ERROR(again->Push({.line_integrals = HostView3<const float>(completed)}));
  }
  for (bool all_started = false; !all_started;) {
    ISO_ASSIGN_OR_RETURN(all_started, again->FinishStep(volume, nullptr));
  }
  return again->AwaitFinish();
}

}  // namespace

absl::Status ReconstructDetruncated(const DetruncationPlan& plan, const ops::Registry& registry,
                                    std::span<ops::Device* const> devices,
                                    const ops::RawFrames& frames, HostView3<float> volume,
                                    std::span<const float> doses,
                                    std::vector<std::string>* findings) {
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("frames", frames.shape(), FramesOf(plan.acquisition, plan.views())));
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", volume.shape(), plan.grid.shape()));
  ISO_RETURN_IF_ERROR(CheckDoseCount(plan.views(), doses));
  Detruncation detruncation(plan, registry, devices);
  ISO_RETURN_IF_ERROR(detruncation.TakeFrames(frames, doses));
  const double cut = detruncation.CutEnds();
  const bool completes = cut >= kLeastCutEnds;
  if (findings != nullptr) {
    findings->push_back(absl::StrFormat(
        "truncation: %s of the rows' ends are inside of the object; %s", ShareText(cut),
        completes ? "rows go on as a model of what is beyond them" : "nothing was completed"));
  }
  if (!completes) {
    ISO_ASSIGN_OR_RETURN(const auto first,
                         Reconstructor::Create(*plan.warm_start, registry, devices));
    return first->Run(frames, volume, doses);
  }
  ISO_RETURN_IF_ERROR(detruncation.MakeModel());
  return detruncation.Reconstruct(volume);
}

}  // namespace isocenter::recon
