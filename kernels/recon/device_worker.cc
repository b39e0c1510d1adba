#include "kernels/recon/device_worker.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/geometry/detector_rows.h"

namespace isocenter::recon {
namespace {

// Brackets a stage in the timeline for the scope.
class StageScope {
 public:
  StageScope(ops::Timeline& timeline, ops::Stage stage) : timeline_(timeline) {
    timeline_.Begin(stage);
  }
  ~StageScope() { timeline_.End(); }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  ops::Timeline& timeline_;
};

}  // namespace

DeviceWorker::DeviceWorker(const ReconstructionPlan& plan, std::span<const Slab> slabs,
                           std::unique_ptr<ops::Device> session)
    : plan_(plan), slabs_(slabs), session_(std::move(session)) {}

absl::StatusOr<std::unique_ptr<DeviceWorker>> DeviceWorker::Create(const ReconstructionPlan& plan,
                                                                   std::span<const Slab> slabs,
                                                                   const ops::Registry& registry,
                                                                   ops::Device& device) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<ops::Device> session, device.NewSession());
  std::unique_ptr<DeviceWorker> self(new DeviceWorker(plan, slabs, std::move(session)));
  const Detector& detector = plan.acquisition.detector;
  const ops::RampFilterSpec filter{.rows = detector.rows,
                                   .columns = detector.columns,
                                   .window = plan.settings.window,
                                   .cutoff = plan.settings.cutoff,
                                   .extend_truncated_rows = plan.settings.extend_truncated_rows};
  const absl::string_view backend = device.backend();
  ISO_ASSIGN_OR_RETURN(const auto new_preprocess, registry.preprocess.Find(backend));
  ISO_ASSIGN_OR_RETURN(const auto new_ramp_filter, registry.ramp_filter.Find(backend));
  ISO_ASSIGN_OR_RETURN(const auto new_backproject,
                       registry.backproject.Find(backend, plan.settings.backproject_method,
                                                 plan.settings.precision));
  ISO_ASSIGN_OR_RETURN(const auto new_to_hounsfield, registry.to_hounsfield.Find(backend));
  ISO_ASSIGN_OR_RETURN(self->preprocess_, new_preprocess(*self->session_));
  ISO_ASSIGN_OR_RETURN(self->ramp_filter_, new_ramp_filter(*self->session_, filter));
  ISO_ASSIGN_OR_RETURN(self->backproject_, new_backproject(*self->session_));
  ISO_ASSIGN_OR_RETURN(self->to_hounsfield_, new_to_hounsfield(*self->session_));
  ISO_RETURN_IF_ERROR(self->AllocateBuffers());
  ISO_RETURN_IF_ERROR(self->Restart());
  return self;
}

absl::Status DeviceWorker::AllocateBuffers() {
  const Detector& detector = plan_.acquisition.detector;
  Shape3 shape{LargestChunk(plan_), detector.rows, detector.columns};
  ISO_ASSIGN_OR_RETURN(line_integrals_,
                       session_->NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
  const size_t stacks = plan_.keep_projections ? plan_.chunks.size() : 1;
  for (size_t i = 0; i < stacks; ++i) {
    if (plan_.keep_projections) shape.slow = plan_.chunks[i].views;
    Filtered& filtered = filtered_.emplace_back();
    ISO_ASSIGN_OR_RETURN(filtered.stack,
                         session_->NewProjectionStack(shape, ops::StackUse::kFiltered));
  }
  // The first slab is one of the largest.
  const size_t volumes =
      plan_.order == Order::kChunksFirst ? slabs_.size() : std::min<size_t>(2, slabs_.size());
  for (size_t i = 0; i < volumes; ++i) {
    const Slab& slab = plan_.order == Order::kChunksFirst ? slabs_[i] : slabs_[0];
    ISO_ASSIGN_OR_RETURN(auto volume,
                         session_->NewVolume(SlicesOf(plan_.grid, slab.first_slice, slab.slices)));
    volumes_.push_back(std::move(volume));
  }
  return absl::OkStatus();
}

std::span<const Slab> DeviceWorker::OpenSlabs() const {
  if (plan_.order == Order::kChunksFirst || done()) return slabs_.subspan(next_slab_);
  // From the middle on, and then from the first: the outermost slabs are seen by few views, and
  // would not keep the device busy while the first one waits for uploads and the last for nothing.
  return slabs_.subspan((next_slab_ + slabs_.size() / 2) % slabs_.size(), 1);
}

ops::VolumeBuffer& DeviceWorker::VolumeOf(const Slab& slab) {
  const size_t index =
      plan_.order == Order::kChunksFirst ? &slab - slabs_.data() : next_slab_ % volumes_.size();
  return *volumes_[index];
}

absl::Status DeviceWorker::Add(const ChunkData& data) {
  const std::span<const Slab> open = OpenSlabs();
  const Detector& detector = plan_.acquisition.detector;
  RowRange rows{0, detector.rows};
  if (session_->traits().own_memory) {
    // What is kept must serve all slabs, what is not only those that are worked on.
    const std::span<const Slab> served = plan_.keep_projections ? slabs_ : open;
    const int first = served.front().first_slice;
    const int end = served.back().first_slice + served.back().slices;
    rows = RowsSeen(data.matrices, SlicesOf(plan_.grid, first, end - first), detector.rows);
  }
  Filtered& filtered = filtered_[plan_.keep_projections ? next_kept_++ : 0];
  const int columns = detector.columns;
  std::vector<ops::ViewWeights> weights;
  filtered.matrices.clear();
  for (int i = 0; i < data.chunk.views; ++i) {
    filtered.matrices.push_back(WithoutRowsBefore(data.matrices[i], rows.first));
    const size_t view = data.chunk.first_view + i;
    weights.push_back({filtered.matrices.back(),
                       std::span(plan_.column_weight).subspan(view * columns, columns)});
  }
  const int capacity = plan_.keep_projections ? data.chunk.views : LargestChunk(plan_);
  ISO_RETURN_IF_ERROR(line_integrals_->Reshape({LargestChunk(plan_), rows.count, columns}));
  ISO_RETURN_IF_ERROR(filtered.stack->Reshape({capacity, rows.count, columns}));
  {
    const StageScope scope(timeline(), ops::Stage::kPreprocess);
    ISO_RETURN_IF_ERROR(preprocess_->Run(data.frames.rows(rows.first, rows.count),
                                         {.i0 = plan_.acquisition.i0_counts}, weights,
                                         *line_integrals_));
  }
  {
    const StageScope scope(timeline(), ops::Stage::kFilter);
    ISO_RETURN_IF_ERROR(ramp_filter_->Run(data.chunk.views, *line_integrals_, *filtered.stack));
  }
  return Backproject(filtered.matrices, *filtered.stack);
}

absl::Status DeviceWorker::AddKept() {
  for (const Filtered& filtered : filtered_) {
    ISO_RETURN_IF_ERROR(Backproject(filtered.matrices, *filtered.stack));
  }
  return absl::OkStatus();
}

absl::Status DeviceWorker::Backproject(std::span<const ProjectionMatrix> matrices,
                                       const ops::ProjectionStack& filtered) {
  const StageScope scope(timeline(), ops::Stage::kBackproject);
  for (const Slab& slab : OpenSlabs()) {
    ISO_RETURN_IF_ERROR(backproject_->Run(matrices, filtered, VolumeOf(slab)));
  }
  return absl::OkStatus();
}

absl::Status DeviceWorker::FinishSlabs(HostView3<float> volume) {
  for (const Slab& slab : OpenSlabs()) {
    ops::VolumeBuffer& slices = VolumeOf(slab);
    {
      const StageScope scope(timeline(), ops::Stage::kHounsfield);
      ISO_RETURN_IF_ERROR(to_hounsfield_->Run(plan_.settings.mu_water_per_mm, slices));
    }
    const HostView3<float> target = volume.slices(slab.first_slice, slab.slices);
    if (session_->traits().own_memory) {  // then the backend records the copy itself
      ISO_RETURN_IF_ERROR(slices.StartDownload(0, target));
    } else {
      const StageScope scope(timeline(), ops::Stage::kDownload);
      ISO_RETURN_IF_ERROR(slices.Download(0, target));
    }
  }
  next_slab_ += OpenSlabs().size();
  return OpenNext();
}

absl::Status DeviceWorker::OpenNext() {
  for (const Slab& slab : OpenSlabs()) {
    ISO_RETURN_IF_ERROR(VolumeOf(slab).Regrid(SlicesOf(plan_.grid, slab.first_slice, slab.slices)));
  }
  return absl::OkStatus();
}

absl::Status DeviceWorker::Restart() {
  next_slab_ = 0;
  next_kept_ = 0;
  return OpenNext();
}

}  // namespace isocenter::recon
