#include "kernels/recon/reconstructor.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"
#include "kernels/recon/line_converter.h"

namespace isocenter::recon {
namespace {

template <class Pixel>
HostView3<const Pixel> CopyInto(StridedView3<const Pixel> frames, std::byte* memory) {
  const HostView3<Pixel> copy(reinterpret_cast<Pixel*>(memory), frames.shape());
  for (int64_t view = 0; view < frames.shape().slow; ++view) {
    std::copy_n(frames.row(view, 0), frames.shape().middle * frames.shape().fast,
                copy.row(view, 0));
  }
  return copy;
}

}  // namespace

/// Passes on what copies say, as long as somebody listens: a copy that failed may leave others
/// behind it whose call is still to come. Thread-safe.
class Reconstructor::Arrivals {
 public:
  void Open(const SlicesArrived& listener) {
    absl::MutexLock lock(&mutex_);
    listener_ = listener;
  }
  /// On return no call is under way, and none will be made.
  void Close() {
    absl::MutexLock lock(&mutex_);
    listener_ = nullptr;
  }
  void Call(int first_slice, int slices) {
    absl::MutexLock lock(&mutex_);
    if (listener_ != nullptr) listener_(first_slice, slices);
  }

 private:
  absl::Mutex mutex_;
  SlicesArrived listener_ ABSL_GUARDED_BY(mutex_);
};

Reconstructor::Reconstructor(const ReconstructionPlan& plan)
    : plan_(plan), arrivals_(std::make_shared<Arrivals>()) {}

Reconstructor::~Reconstructor() { arrivals_->Close(); }

absl::StatusOr<std::unique_ptr<Reconstructor>> Reconstructor::Create(
    const ReconstructionPlan& plan, const ops::Registry& registry,
    std::span<ops::Device* const> devices, const ReconstructorOptions& options) {
  std::unique_ptr<Reconstructor> self(new Reconstructor(plan));
  const std::span<const Slab> slabs = plan.slabs;
  for (size_t first = 0, end = 0; first < slabs.size(); first = end) {
    const int device = slabs[first].device;
    while (end < slabs.size() && slabs[end].device == device) ++end;
    if (device >= static_cast<int>(devices.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the plan is for ", device + 1, " devices or more; there are ", devices.size()));
    }
    ISO_ASSIGN_OR_RETURN(auto worker,
                         DeviceWorker::Create(plan, slabs.subspan(first, end - first), registry,
                                              *devices[device], {.urgent = options.urgent}));
    self->workers_.push_back(std::move(worker));
  }
  self->preview_ = options.preview;
  if (options.preview) ISO_RETURN_IF_ERROR(self->workers_[0]->MakePreview());
  self->threads_ = std::make_unique<ThreadPool>(static_cast<int>(self->workers_.size()));
  if (plan.kept_frames_bytes > 0) {
    ISO_ASSIGN_OR_RETURN(self->kept_frames_, devices[0]->NewHostMemory(plan.kept_frames_bytes));
  }
  return self;
}

absl::Status Reconstructor::CheckChunk(const ops::RawFrames& frames,
                                       const FrameFacts& facts) const {
  if (next_chunk_ >= static_cast<int>(plan_.chunks.size())) {
    return absl::FailedPreconditionError("all chunks of the plan have been pushed");
  }
  const Chunk& chunk = plan_.chunks[next_chunk_];
  return CheckFrames(plan_.acquisition, chunk.views, frames, facts.measured, facts.doses);
}

absl::Status Reconstructor::Push(const ops::RawFrames& frames,
                                 std::span<const ProjectionMatrix> measured,
                                 std::span<const float> doses) {
  return PushChunk(frames, {measured, doses}, /*stay=*/false);
}

absl::Status Reconstructor::PushChunk(const ops::RawFrames& frames, const FrameFacts& facts,
                                      bool stay) {
  ISO_RETURN_IF_ERROR(CheckChunk(frames, facts));
  if (plan_.order == Order::kSlabsFirst && !plan_.keep_projections) {
    KeptChunk kept{.frames = frames,
                   .measured = {facts.measured.begin(), facts.measured.end()},
                   .doses = {facts.doses.begin(), facts.doses.end()}};
    if (!stay) {
      ISO_ASSIGN_OR_RETURN(kept.frames, CopyOf(frames));
    }
    kept_.push_back(std::move(kept));
  }
  ISO_RETURN_IF_ERROR(AddToWorkers(next_chunk_, frames, facts));
  ++next_chunk_;
  return absl::OkStatus();
}

absl::Status Reconstructor::AddToWorkers(int chunk, const ops::RawFrames& frames,
                                         const FrameFacts& facts) {
  const Chunk& views = plan_.chunks[chunk];
  const ChunkData data{
      .chunk = views,
      .frames = frames,
      .matrices =
          facts.measured.empty()
              ? std::span(plan_.acquisition.trajectory).subspan(views.first_view, views.views)
              : facts.measured,
      .doses = facts.doses};
  return OnWorkers([&data](DeviceWorker& worker) { return worker.Add(data); });
}

absl::Status Reconstructor::OnWorkers(const std::function<absl::Status(DeviceWorker&)>& work) {
  std::vector<absl::Status> statuses(workers_.size());
  threads_->ParallelFor(static_cast<int64_t>(workers_.size()), [&](int64_t i, int) {
    if (!workers_[i]->done()) statuses[i] = work(*workers_[i]);
  });
  for (const absl::Status& status : statuses) ISO_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::StatusOr<ops::RawFrames> Reconstructor::CopyOf(const ops::RawFrames& frames) {
  if (kept_frames_ == nullptr) {
    return absl::FailedPreconditionError(
        "the plan was made for frames that are all in memory when it starts");
  }
  const Shape3& shape = frames.shape();
  const int64_t at = plan_.chunks[next_chunk_].first_view * shape.middle * shape.fast *
                     PixelBytes(plan_.acquisition.pixel_type);
  std::byte* const to = kept_frames_->data() + at;
  if (frames.counts) return ops::RawFrames{.counts = CopyInto(frames.counts, to)};
  return ops::RawFrames{.line_integrals = CopyInto(frames.line_integrals, to)};
}

absl::Status Reconstructor::RequireAllChunks() const {
  if (next_chunk_ >= static_cast<int>(plan_.chunks.size())) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("only ", next_chunk_, " of ", plan_.chunks.size(), " chunks have been pushed"));
}

bool Reconstructor::Done() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const auto& w) { return w->done(); });
}

absl::StatusOr<bool> Reconstructor::FinishStep(HostView3<float> volume,
                                               const SlicesArrived& arrived) {
  ISO_RETURN_IF_ERROR(RequireAllChunks());
  ISO_RETURN_IF_ERROR(
      ops::CheckSameShape("the volume's slices", volume.shape(), plan_.grid.shape()));
  if (Done()) return true;
  if (!first_round_ && added_again_ < static_cast<int>(plan_.chunks.size())) {
    ISO_RETURN_IF_ERROR(AddAgain(added_again_));
    ++added_again_;
    return false;
  }
  SlicesArrived call;
  if (arrived != nullptr) {
    arrivals_->Open(arrived);
    call = [arrivals = arrivals_](int first_slice, int slices) {
      arrivals->Call(first_slice, slices);
    };
  }
  ISO_RETURN_IF_ERROR(
      OnWorkers([&](DeviceWorker& worker) { return worker.FinishSlabs(volume, call); }));
  first_round_ = false;
  added_again_ = 0;
  return Done();
}

absl::Status Reconstructor::AddAgain(int chunk) {
  if (plan_.keep_projections) {
    return OnWorkers([chunk](DeviceWorker& worker) { return worker.AddKept(chunk); });
  }
  return AddToWorkers(chunk, kept_[chunk].frames,
                      {.measured = kept_[chunk].measured, .doses = kept_[chunk].doses});
}

absl::Status Reconstructor::AwaitFinish() {
  absl::Status status;
  for (const auto& worker : workers_) status.Update(worker->Synchronize());
  arrivals_->Close();
  ISO_RETURN_IF_ERROR(status);
  ISO_RETURN_IF_ERROR(RequireAllChunks());
  if (!Done()) return absl::FailedPreconditionError("steps of the end are missing");
  for (const auto& worker : workers_) ISO_RETURN_IF_ERROR(worker->Restart());
  kept_.clear();
  next_chunk_ = 0;
  first_round_ = true;
  return absl::OkStatus();
}

absl::Status Reconstructor::Finish(HostView3<float> volume) {
  for (bool done = false; !done;) {
    ISO_ASSIGN_OR_RETURN(done, FinishStep(volume, nullptr));
  }
  return AwaitFinish();
}

absl::StatusOr<std::vector<PreviewPlane>> Reconstructor::TakePreview() const {
  if (!preview_) return absl::FailedPreconditionError("no preview was asked for");
  return workers_[0]->TakePreview();
}

absl::Status Reconstructor::Run(const ops::RawFrames& frames, HostView3<float> volume,
                                std::span<const float> doses,
                                const std::function<absl::Status(double done)>& progress) {
  const Detector& detector = plan_.acquisition.detector;
  ISO_RETURN_IF_ERROR(ops::CheckSameShape("frames", frames.shape(),
                                          Shape3{plan_.views(), detector.rows, detector.columns}));
  ISO_RETURN_IF_ERROR(CheckDoseCount(plan_.views(), doses));
  for (const Chunk& chunk : plan_.chunks) {
    ISO_RETURN_IF_ERROR(PushChunk(frames.views(chunk.first_view, chunk.views),
                                  {.doses = DosesOf(doses, chunk.first_view, chunk.views)},
                                  /*stay=*/true));
    if (progress == nullptr) continue;
    ISO_RETURN_IF_ERROR(
        progress(static_cast<double>(next_chunk_) / static_cast<double>(plan_.chunks.size())));
  }
  return Finish(volume);
}

absl::StatusOr<std::vector<DeviceSpan>> Reconstructor::TakeTrace() {
  std::vector<DeviceSpan> trace;
  for (size_t i = 0; i < workers_.size(); ++i) {
    ISO_ASSIGN_OR_RETURN(const std::vector<ops::Span> spans, workers_[i]->timeline().Take());
    for (const ops::Span& span : spans) trace.push_back({static_cast<int>(i), span});
  }
  return trace;
}

absl::StatusOr<StageSeconds> ReconstructAll(const ReconstructionPlan& plan,
                                            const ops::Registry& registry, ops::Device& device,
                                            const ops::RawFrames& frames, HostView3<float> volume) {
  ISO_ASSIGN_OR_RETURN(const auto reconstructor, Reconstructor::Create(plan, registry, device));
  ISO_RETURN_IF_ERROR(reconstructor->Run(frames, volume));
  ISO_ASSIGN_OR_RETURN(const std::vector<DeviceSpan> trace, reconstructor->TakeTrace());
  return SecondsOf(trace);
}

}  // namespace isocenter::recon
