#include "kernels/recon/device_worker.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/recon/slab_turns.h"
#include "kernels/recon/stage_scope.h"

namespace isocenter::recon {
namespace {

VolumeGrid GridOf(const VolumeGrid& grid, std::span<const Slab> slabs) {
  const int first = slabs.front().first_slice;
  return SlicesOf(grid, first, slabs.back().first_slice + slabs.back().slices - first);
}

// Slices that are downloaded as one, so that they can be encoded while others are under way: at
// least 16 MiB, of which a page-locked copy takes 0.3 ms, many times what it takes to start one. A
// multiple of 16, a cache line of the columns along z in which the cpu backend keeps a volume.
int SlicesOfPiece(const VolumeGrid& grid) {
  constexpr int64_t kPieceBytes = int64_t{16} << 20, kStep = 16;
  const int64_t step_bytes = kStep * grid.nx * grid.ny * static_cast<int64_t>(sizeof(float));
  return static_cast<int>((kPieceBytes + step_bytes - 1) / step_bytes * kStep);
}

}  // namespace

DeviceWorker::DeviceWorker(const ReconstructionPlan& plan, std::span<const Slab> slabs,
                           std::unique_ptr<ops::Session> session)
    : plan_(plan), slabs_(slabs), session_(std::move(session)) {}

absl::StatusOr<std::unique_ptr<DeviceWorker>> DeviceWorker::Create(
    const ReconstructionPlan& plan, std::span<const Slab> slabs, const ops::Registry& registry,
    ops::Device& device, const ops::SessionOptions& session) {
  ISO_ASSIGN_OR_RETURN(std::unique_ptr<ops::Session> own, device.NewSession(session));
  std::unique_ptr<DeviceWorker> self(new DeviceWorker(plan, slabs, std::move(own)));
  ISO_ASSIGN_OR_RETURN(
      const FdkMethods methods,
      FdkMethods::Find(plan.settings, plan.filtered_detector, registry, device.backend()));
  ISO_ASSIGN_OR_RETURN(
      self->corrector_,
      FrameCorrector::Create(plan.acquisition, LargestChunk(plan), registry, *self->session_));
  ISO_ASSIGN_OR_RETURN(self->filter_, ChunkFilter::Create(plan, methods, *self->session_));
  ISO_ASSIGN_OR_RETURN(self->backproject_, methods.backproject(*self->session_));
  ISO_ASSIGN_OR_RETURN(self->to_hounsfield_, methods.to_hounsfield(*self->session_));
  ISO_RETURN_IF_ERROR(self->AllocateBuffers());
  ISO_RETURN_IF_ERROR(self->Restart());
  return self;
}

DeviceWorker::~DeviceWorker() { session_->Synchronize().IgnoreError(); }

absl::Status DeviceWorker::AllocateBuffers() {
  const Detector& detector = plan_.filtered_detector;
  Shape3 shape{LargestChunk(plan_), detector.rows, detector.columns};
  ISO_ASSIGN_OR_RETURN(line_integrals_,
                       session_->NewProjectionStack(shape, ops::StackUse::kLineIntegrals));
  const size_t stacks = plan_.keep_projections ? plan_.chunks.size() : 1;
  for (size_t i = 0; i < stacks; ++i) {
    if (plan_.keep_projections) shape.slow = plan_.chunks[i].views;
    Filtered& filtered = filtered_.emplace_back();
    ISO_ASSIGN_OR_RETURN(filtered.stack,
                         session_->NewProjectionStack(shape, ops::StackUse::kProjections));
  }
  for (const Slab& slab : SlabsInMemory(plan_.order, slabs_)) {
    ISO_ASSIGN_OR_RETURN(auto volume,
                         session_->NewVolume(SlicesOf(plan_.grid, slab.first_slice, slab.slices)));
    volumes_.push_back(std::move(volume));
  }
  return absl::OkStatus();
}

std::span<const Slab> DeviceWorker::OpenSlabs() const {
  if (plan_.order == Order::kChunksFirst || done()) return slabs_.subspan(next_slab_);
  return slabs_.subspan(SlabOfTurn(slabs_, next_slab_), 1);
}

ops::VolumeBuffer& DeviceWorker::VolumeOf(const Slab& slab) {
  const size_t index =
      plan_.order == Order::kChunksFirst ? &slab - slabs_.data() : next_slab_ % volumes_.size();
  return *volumes_[index];
}

std::span<const Slab> DeviceWorker::ServedSlabs() const {
  // What is kept must serve all slabs, what is not only those that are worked on.
  return plan_.keep_projections ? slabs_ : OpenSlabs();
}

absl::Status DeviceWorker::Add(ChunkData data) {
  if (corrector_ != nullptr) {
    const StageScope scope(timeline(), ops::Stage::kPreprocess);
    ISO_RETURN_IF_ERROR(corrector_->Run(data.frames.counts, data.doses));
    data.corrected = &corrector_->line_integrals();
  }
  RowRange rows{0, plan_.acquisition.detector.rows};
  if (session_->device().traits().own_memory) {
    rows = RowsSeen(data.matrices, GridOf(plan_.grid, ServedSlabs()), rows.count);
  }
  Filtered& filtered = filtered_[plan_.keep_projections ? next_kept_++ : 0];
  ISO_RETURN_IF_ERROR(filter_->Run(data, rows, *line_integrals_, filtered));
  ISO_RETURN_IF_ERROR(Backproject(filtered));
  const bool first_round = next_slab_ == 0;
  return preview_.planes != nullptr && first_round ? AddToPreview(data, filtered)
                                                   : absl::OkStatus();
}

absl::Status DeviceWorker::AddKept(int chunk) { return Backproject(filtered_[chunk]); }

absl::Status DeviceWorker::Backproject(const Filtered& filtered) {
  const StageScope scope(timeline(), ops::Stage::kBackproject);
  for (const Slab& slab : OpenSlabs()) {
    ISO_RETURN_IF_ERROR(backproject_->Run(filtered.matrices, *filtered.stack, VolumeOf(slab)));
  }
  return absl::OkStatus();
}

absl::Status DeviceWorker::AddToPreview(const ChunkData& data, const Filtered& filtered) {
  const auto add = [this](const Filtered& views) -> absl::Status {
    const StageScope scope(timeline(), ops::Stage::kBackproject);
    return preview_.planes->Add(views.matrices, *views.stack, *backproject_);
  };
  if (preview_.line_integrals == nullptr) return add(filtered);
  // More rows for the slabs too would move their matrices, and with them the volume's last bits.
  for (int i = 0; i < data.chunk.views; ++i) {
    const ChunkData view{.chunk = {data.chunk.first_view + i, 1},
                         .frames = data.frames.views(i, 1),
                         .matrices = data.matrices.subspan(i, 1),
                         .corrected = data.corrected,
                         .first_corrected = i};
    const RowRange rows = RowsSeen(view.matrices, plan_.grid, plan_.acquisition.detector.rows);
    ISO_RETURN_IF_ERROR(filter_->Run(view, rows, *preview_.line_integrals, preview_.filtered));
    ISO_RETURN_IF_ERROR(add(preview_.filtered));
  }
  return absl::OkStatus();
}

absl::Status DeviceWorker::MakePreview() {
  ISO_ASSIGN_OR_RETURN(preview_.planes, PreviewPlanes::Create(plan_.grid, *session_));
  const bool all_rows = !session_->device().traits().own_memory ||
                        GridOf(plan_.grid, ServedSlabs()).nz == plan_.grid.nz;
  if (all_rows) return absl::OkStatus();
  const Shape3 view{1, plan_.filtered_detector.rows, plan_.filtered_detector.columns};
  ISO_ASSIGN_OR_RETURN(preview_.line_integrals,
                       session_->NewProjectionStack(view, ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(preview_.filtered.stack,
                       session_->NewProjectionStack(view, ops::StackUse::kProjections));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PreviewPlane>> DeviceWorker::TakePreview() const {
  return preview_.planes->Take(plan_.hounsfield);
}

absl::Status DeviceWorker::FinishSlabs(HostView3<float> volume, const SlicesArrived& arrived) {
  for (const Slab& slab : OpenSlabs()) {
    ops::VolumeBuffer& slices = VolumeOf(slab);
    {
      const StageScope scope(timeline(), ops::Stage::kHounsfield);
      ISO_RETURN_IF_ERROR(to_hounsfield_->Run(plan_.hounsfield, slices));
    }
    if (session_->device().traits().own_memory) {  // then the backend records the copies itself
      ISO_RETURN_IF_ERROR(StartDownloads(slices, slab, volume, arrived));
    } else {
      const StageScope scope(timeline(), ops::Stage::kDownload);
      ISO_RETURN_IF_ERROR(StartDownloads(slices, slab, volume, arrived));
    }
  }
  next_slab_ += OpenSlabs().size();
  // Where frames come again for the next slabs, they begin with the first.
  if (corrector_ != nullptr) ISO_RETURN_IF_ERROR(corrector_->Restart());
  return OpenNext();
}

absl::Status DeviceWorker::StartDownloads(ops::VolumeBuffer& slices, const Slab& slab,
                                          HostView3<float> volume, const SlicesArrived& arrived) {
  const int piece = SlicesOfPiece(plan_.grid);
  for (int at = 0; at < slab.slices; at += piece) {
    const int first = slab.first_slice + at, count = std::min(piece, slab.slices - at);
    std::function<void()> piece_arrived;
    if (arrived != nullptr) piece_arrived = [arrived, first, count] { arrived(first, count); };
    ISO_RETURN_IF_ERROR(
        slices.StartDownload(at, volume.slices(first, count), std::move(piece_arrived)));
  }
  return absl::OkStatus();
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
  if (corrector_ != nullptr) ISO_RETURN_IF_ERROR(corrector_->Restart());
  if (preview_.planes != nullptr) ISO_RETURN_IF_ERROR(preview_.planes->Clear());
  return OpenNext();
}

}  // namespace isocenter::recon
