// A projector and its adjoint, chunk by chunk of views.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "kernels/c/arguments.h"
#include "kernels/c/control.h"
#include "kernels/c/device.h"
#include "kernels/c/status.h"
#include "kernels/ops/session.h"
#include "kernels/recon/iterative/linear_operators.h"

namespace isocenter::c {

/// A and its adjoint in a session of their own. Thread-safe: one call at a time.
class Projector {
 public:
  /// Errors: NOT_FOUND (a method that the backend lacks), RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<Projector>> Create(
      std::shared_ptr<const OpenDevice> device, const recon::Acquisition& acquisition,
      const VolumeGrid& grid, const recon::IterativeSettings& settings);

  const OpenDevice& device() const { return *device_; }
  absl::Status Forward(const float* volume, int64_t voxels, float* projections, int64_t pixels,
                       const Control& control);
  absl::Status Adjoint(const float* projections, int64_t pixels, float* volume, int64_t voxels,
                       const Control& control);

 private:
  Projector(std::shared_ptr<const OpenDevice> device, const recon::Acquisition& acquisition,
            const VolumeGrid& grid, Shape3 chunk)
      : device_(std::move(device)),
        trajectory_(acquisition.trajectory),
        grid_(grid),
        chunk_(chunk) {}
  absl::Status Allocate(const recon::LinearMethods& methods);

  int64_t views() const { return static_cast<int64_t>(trajectory_.size()); }
  Shape3 shape() const { return {views(), chunk_.middle, chunk_.fast}; }
  /// Calls work(first view, their matrices) for each chunk, with a stack of so many views.
  template <class Work>
  absl::Status ForChunks(const Control& control, const Work& work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<const OpenDevice> device_;  // before what lives on it
  const Trajectory trajectory_;
  const VolumeGrid grid_;
  const Shape3 chunk_;  // the largest
  absl::Mutex mutex_;
  std::unique_ptr<ops::Session> session_;
  std::unique_ptr<recon::LinearOperators> operators_;
  std::unique_ptr<ops::Arithmetic> arithmetic_;
  std::unique_ptr<ops::VolumeBuffer> volume_;
  std::unique_ptr<ops::ProjectionStack> stack_;
};

absl::StatusOr<std::unique_ptr<Projector>> Projector::Create(
    std::shared_ptr<const OpenDevice> device, const recon::Acquisition& acquisition,
    const VolumeGrid& grid, const recon::IterativeSettings& settings) {
  ops::Device& on = **device;
  ISO_ASSIGN_OR_RETURN(const recon::LinearMethods methods,
                       recon::LinearMethods::Find(settings, Backends(), on.backend()));
  const int64_t views = static_cast<int64_t>(acquisition.trajectory.size());
  const Shape3 chunk{std::min<int64_t>(on.traits().chunk_views, views), acquisition.detector.rows,
                     acquisition.detector.columns};
  const int64_t bytes = on.VolumeBytes(grid) +
                        on.ProjectionStackBytes(chunk, ops::StackUse::kProjections) +
                        methods.WorkspaceBytes(on, {chunk, grid});
  ISO_RETURN_IF_ERROR(
      CheckMemory(absl::StrCat("a projector of ", grid.nx, "x", grid.ny, "x", grid.nz, " voxels"),
                  on, bytes, 0));
  std::unique_ptr<Projector> self(new Projector(std::move(device), acquisition, grid, chunk));
  ISO_RETURN_IF_ERROR(self->Allocate(methods));
  return self;
}

absl::Status Projector::Allocate(const recon::LinearMethods& methods) {
  ISO_ASSIGN_OR_RETURN(session_, (*device_)->NewSession());
  ISO_ASSIGN_OR_RETURN(auto operators, recon::LinearOperators::Create(methods, *session_));
  operators_ = std::make_unique<recon::LinearOperators>(std::move(operators));
  ISO_ASSIGN_OR_RETURN(const auto new_arithmetic,
                       Backends().arithmetic.Find((*device_)->backend()));
  ISO_ASSIGN_OR_RETURN(arithmetic_, new_arithmetic(*session_));
  ISO_ASSIGN_OR_RETURN(volume_, session_->NewVolume(grid_));
  ISO_ASSIGN_OR_RETURN(stack_, session_->NewProjectionStack(chunk_, ops::StackUse::kProjections));
  return absl::OkStatus();
}

template <class Work>
absl::Status Projector::ForChunks(const Control& control, const Work& work) {
  for (int64_t first = 0; first < views(); first += chunk_.slow) {
    ISO_RETURN_IF_ERROR(control.Advance(static_cast<double>(first) / static_cast<double>(views())));
    const int64_t count = std::min(chunk_.slow, views() - first);
    ISO_RETURN_IF_ERROR(stack_->Reshape({count, chunk_.middle, chunk_.fast}));
    ISO_RETURN_IF_ERROR(work(first, std::span(trajectory_).subspan(first, count)));
  }
  return control.Advance(1);
}

absl::Status Projector::Forward(const float* volume, int64_t voxels, float* projections,
                                int64_t pixels, const Control& control) {
  ISO_ASSIGN_OR_RETURN(const HostView3<float> out,
                       ArrayOf("projections", projections, pixels, shape()));
  ISO_ASSIGN_OR_RETURN(const HostView3<const float> in,
                       ArrayOf("volume", volume, voxels, grid_.shape()));
  ISO_RETURN_IF_ERROR(
      CheckApart("volume", std::as_bytes(in.span()), "projections", std::as_bytes(out.span())));
  ISO_RETURN_IF_ERROR(CheckFinite("volume", in));
  const absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(volume_->Upload(0, in));
  return ForChunks(control, [&](int64_t first, auto matrices) -> absl::Status {
    ISO_RETURN_IF_ERROR(arithmetic_->Fill(0, *stack_));
    ISO_RETURN_IF_ERROR(operators_->Forward(matrices, *volume_, *stack_));
    return stack_->Download(0, out.slices(first, static_cast<int64_t>(matrices.size())));
  });
}

absl::Status Projector::Adjoint(const float* projections, int64_t pixels, float* volume,
                                int64_t voxels, const Control& control) {
  ISO_ASSIGN_OR_RETURN(const HostView3<float> out,
                       ArrayOf("volume", volume, voxels, grid_.shape()));
  ISO_ASSIGN_OR_RETURN(const HostView3<const float> in,
                       ArrayOf("projections", projections, pixels, shape()));
  ISO_RETURN_IF_ERROR(
      CheckApart("projections", std::as_bytes(in.span()), "volume", std::as_bytes(out.span())));
  ISO_RETURN_IF_ERROR(CheckFinite("projections", in));
  const absl::MutexLock lock(&mutex_);
  ISO_RETURN_IF_ERROR(volume_->Clear());
  ISO_RETURN_IF_ERROR(ForChunks(control, [&](int64_t first, auto matrices) -> absl::Status {
    ISO_RETURN_IF_ERROR(stack_->Upload(0, in.slices(first, static_cast<int64_t>(matrices.size()))));
    return operators_->Back(matrices, *stack_, *volume_);
  }));
  return volume_->Download(0, out);
}

}  // namespace isocenter::c

using isocenter::c::Call;

struct isocenter_projector {
  std::unique_ptr<isocenter::c::Projector> projector;
};

isocenter_status isocenter_projector_new(isocenter_device* device, const isocenter_scan* scan,
                                         const isocenter_grid* grid, const char* model,
                                         const char* precision, isocenter_projector** projector) {
  return Call([&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(isocenter::c::CheckPointer("device", device));
    ISO_RETURN_IF_ERROR(device->open->CheckOwn());
    ISO_RETURN_IF_ERROR(isocenter::c::CheckPointer("projector", projector));
    isocenter::recon::IterativeSettings settings;
    ISO_ASSIGN_OR_RETURN(settings.projector,
                         isocenter::ops::ProjectorNamed(isocenter::c::TextOf(model)));
    ISO_ASSIGN_OR_RETURN(settings.precision, isocenter::c::PrecisionNamed(precision));
    ISO_ASSIGN_OR_RETURN(const auto filled, isocenter::c::GridOf(grid));
    ISO_ASSIGN_OR_RETURN(const auto acquisition, isocenter::c::AcquisitionOf(scan));
    ISO_ASSIGN_OR_RETURN(
        auto made, isocenter::c::Projector::Create(device->open, acquisition, filled, settings));
    *projector = new isocenter_projector{std::move(made)};
    return absl::OkStatus();
  });
}

isocenter_status isocenter_projector_forward(isocenter_projector* projector, const float* volume,
                                             int64_t voxels, float* projections, int64_t pixels,
                                             isocenter_control* control) {
  return Call([&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(isocenter::c::CheckPointer("projector", projector));
    ISO_RETURN_IF_ERROR(projector->projector->device().CheckOwn());
    return projector->projector->Forward(volume, voxels, projections, pixels,
                                         isocenter::c::Control(control));
  });
}

isocenter_status isocenter_projector_adjoint(isocenter_projector* projector,
                                             const float* projections, int64_t pixels,
                                             float* volume, int64_t voxels,
                                             isocenter_control* control) {
  return Call([&]() -> absl::Status {
    ISO_RETURN_IF_ERROR(isocenter::c::CheckPointer("projector", projector));
    ISO_RETURN_IF_ERROR(projector->projector->device().CheckOwn());
    return projector->projector->Adjoint(projections, pixels, volume, voxels,
                                         isocenter::c::Control(control));
  });
}

void isocenter_projector_free(isocenter_projector* projector) {
  // In a child of its process its session can neither be used nor ended.
  if (projector != nullptr && projector->projector->device().foreign()) {
    (void)projector->projector.release();
  }
  delete projector;
}
