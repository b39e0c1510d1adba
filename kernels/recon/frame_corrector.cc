#include "kernels/recon/frame_corrector.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/air_places.h"

namespace isocenter::recon {
namespace {

// The acquisition's calibration, with a response: where none was measured, the acquisition's i0.
std::shared_ptr<const ops::Calibration> WithResponse(const Acquisition& acquisition) {
  if (acquisition.calibration->response.has_value()) return acquisition.calibration;
  auto whole = std::make_shared<ops::Calibration>(*acquisition.calibration);
  const Detector& detector = acquisition.detector;
  const auto pixels = static_cast<size_t>(detector.rows) * detector.columns;
  whole->response = {
      .offset_counts = std::vector<float>(pixels, 0.f),
      .air_counts = std::vector<float>(pixels, static_cast<float>(acquisition.i0_counts))};
  return whole;
}

struct Methods {
  ops::NormalizeCountsFactory normalize;
  ops::RecoverOverexposedFactory overexposed;
  ops::InterpolateDefectsFactory defects;
  ops::CorrectLagFactory lag;
  ops::CorrectAirSweepFactory air_sweep;
  ops::FindDosesFactory doses;
  ops::CorrectGlareFactory glare;
  ops::CorrectScatterFactory scatter;
  ops::LinearizeFactory linearize;

  static absl::StatusOr<Methods> Find(const ops::CorrectionMethods& table,
                                      absl::string_view backend) {
    ISO_ASSIGN_OR_RETURN(auto normalize, table.normalize.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto overexposed, table.overexposed.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto defects, table.defects.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto lag, table.lag.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto air_sweep, table.air_sweep.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto doses, table.doses.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto glare, table.glare.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto scatter, table.scatter.Find(backend));
    ISO_ASSIGN_OR_RETURN(auto linearize, table.linearize.Find(backend));
    return Methods{std::move(normalize), std::move(overexposed), std::move(defects),
                   std::move(lag),       std::move(air_sweep),   std::move(doses),
                   std::move(glare),     std::move(scatter),     std::move(linearize)};
  }
};

Shape3 FramesShape(const Acquisition& acquisition, int chunk_views) {
  return {chunk_views, acquisition.detector.rows, acquisition.detector.columns};
}

Shape3 DosesShape(int chunk_views) { return {chunk_views, 1, 1}; }

bool KnowsFullScale(const ops::Calibration& known) {
  return known.response.has_value() && known.response->full_scale_counts > 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FrameCorrector>> FrameCorrector::Create(
    const Acquisition& acquisition, int chunk_views, const ops::Registry& registry,
    ops::Session& session) {
  if (acquisition.calibration == nullptr) return nullptr;
  ISO_ASSIGN_OR_RETURN(const Methods methods,
                       Methods::Find(registry.corrections, session.backend()));
  const std::shared_ptr<const ops::Calibration> known = WithResponse(acquisition);
  std::unique_ptr<FrameCorrector> self(new FrameCorrector);
  ISO_ASSIGN_OR_RETURN(self->frames_,
                       session.NewProjectionStack(FramesShape(acquisition, chunk_views),
                                                  ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(self->doses_, session.NewProjectionStack(DosesShape(chunk_views),
                                                                ops::StackUse::kLineIntegrals));
  ISO_ASSIGN_OR_RETURN(self->normalize_, methods.normalize(session, *known));
  if (KnowsFullScale(*known)) {
    ISO_ASSIGN_OR_RETURN(self->overexposed_, methods.overexposed(session, *known));
  }
  if (!known->defects.pixels.empty()) {
    ISO_ASSIGN_OR_RETURN(self->defects_, methods.defects(session, *known));
  }
  if (!known->lag.empty()) {
    ISO_ASSIGN_OR_RETURN(self->lag_, methods.lag(session, *known));
  }
  if (!known->air_sweep.angles.empty()) {
    ISO_ASSIGN_OR_RETURN(self->air_places_, AirPlaces(known->air_sweep, acquisition.trajectory));
    ISO_ASSIGN_OR_RETURN(self->air_sweep_, methods.air_sweep(session, *known));
  }
  ISO_ASSIGN_OR_RETURN(self->find_doses_, methods.doses(session, *known));
  if (!known->glare.empty()) {
    ISO_ASSIGN_OR_RETURN(self->glare_, methods.glare(session, *known));
  }
  if (known->scatter.has_value()) {
    ISO_ASSIGN_OR_RETURN(self->scatter_, methods.scatter(session, *known));
  }
  ISO_ASSIGN_OR_RETURN(self->linearize_, methods.linearize(session, *known));
  return self;
}

absl::StatusOr<int64_t> FrameCorrector::DeviceBytes(const Acquisition& acquisition, int chunk_views,
                                                    const ops::Registry& registry,
                                                    const ops::Device& device) {
  if (acquisition.calibration == nullptr) return 0;
  ISO_ASSIGN_OR_RETURN(const Methods methods,
                       Methods::Find(registry.corrections, device.backend()));
  const ops::Calibration& known = *acquisition.calibration;
  const Shape3 shape = FramesShape(acquisition, chunk_views);
  const ops::Extents extents{.stack = shape};
  int64_t bytes =
      device.ProjectionStackBytes(shape, ops::StackUse::kLineIntegrals) +
      device.ProjectionStackBytes(DosesShape(chunk_views), ops::StackUse::kLineIntegrals) +
      methods.normalize.WorkspaceBytes(device, extents, known) +
      methods.doses.WorkspaceBytes(device, extents, known) +
      methods.linearize.WorkspaceBytes(device, extents, known);
  if (KnowsFullScale(known)) {
    bytes += methods.overexposed.WorkspaceBytes(device, extents, known);
  }
  if (!known.air_sweep.angles.empty()) {
    bytes += methods.air_sweep.WorkspaceBytes(device, extents, known);
  }
  if (!known.defects.pixels.empty()) {
    bytes += methods.defects.WorkspaceBytes(device, extents, known);
  }
  if (!known.lag.empty()) bytes += methods.lag.WorkspaceBytes(device, extents, known);
  if (!known.glare.empty()) bytes += methods.glare.WorkspaceBytes(device, extents, known);
  if (known.scatter.has_value()) bytes += methods.scatter.WorkspaceBytes(device, extents, known);
  return bytes;
}

absl::Status FrameCorrector::Run(StridedView3<const uint16_t> counts,
                                 std::span<const float> doses) {
  const int64_t views = counts.shape().slow;
  const std::vector<float> not_told(doses.empty() ? views : 0);
  ISO_RETURN_IF_ERROR(normalize_->Run(counts, *frames_));
  if (overexposed_ != nullptr && !doses.empty()) {
    ISO_RETURN_IF_ERROR(overexposed_->Run(doses, *frames_));
  }
  if (defects_ != nullptr) ISO_RETURN_IF_ERROR(defects_->Run(views, *frames_));
  if (lag_ != nullptr) ISO_RETURN_IF_ERROR(lag_->Run(views, *frames_));
  if (air_sweep_ != nullptr) {
    if (next_frame_ + views > static_cast<int64_t>(air_places_.size())) {
      return absl::FailedPreconditionError(absl::StrCat("frame ", next_frame_ + views - 1,
                                                        " is beyond the trajectory's ",
                                                        air_places_.size(), " frames"));
    }
    ISO_RETURN_IF_ERROR(
        air_sweep_->Run(std::span(air_places_).subspan(next_frame_, views), *frames_));
  }
  next_frame_ += views;
  ISO_RETURN_IF_ERROR(find_doses_->Run(doses.empty() ? std::span<const float>(not_told) : doses,
                                       *frames_, *doses_));
  if (glare_ != nullptr) ISO_RETURN_IF_ERROR(glare_->Run(views, *frames_));
  if (scatter_ != nullptr) ISO_RETURN_IF_ERROR(scatter_->Run(views, *doses_, *frames_));
  return linearize_->Run(views, *doses_, *frames_);
}

absl::Status FrameCorrector::Restart() {
  next_frame_ = 0;
  return lag_ == nullptr ? absl::OkStatus() : lag_->Restart();
}

}  // namespace isocenter::recon
