#include "client/cli/physics_frames.h"

#include <algorithm>
#include <utility>

#include "client/cli/options/phantom_flags.h"
#include "kernels/base/status_macros.h"
#include "kernels/physics/blur.h"
#include "kernels/physics/view.h"

namespace isocenter::cli {
namespace {

/// The distance of the detector is that of the first frame.
absl::StatusOr<physics::RowBeams> BeamsOf(const PhysicsSetup& setup, const Detector& detector,
                                          const ProjectionMatrix& first) {
  if (!setup.heel) return physics::RowBeams(setup.beam);
  ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(first));
  return physics::RowBeams::WithHeel(*setup.heel, setup.csi_mm, setup.beam.materials(), detector,
                                     camera.focal_u_px * detector.pitch_u_mm);
}

}  // namespace

absl::StatusOr<PhysicsFrames> PhysicsFrames::Make(PhysicsSetup setup, const Exposed& exposed,
                                                  const Detector& detector,
                                                  const Trajectory& trajectory) {
  ISO_ASSIGN_OR_RETURN(physics::Readout readout, physics::Readout::Make(setup.detector, detector));
  ISO_ASSIGN_OR_RETURN(physics::RowBeams beams, BeamsOf(setup, detector, trajectory.front()));
  PhysicsFrames made(std::move(setup), detector, trajectory, std::move(beams), std::move(readout));
  const int frames = static_cast<int>(trajectory.size());
  made.doses_ = exposed.dark ? std::vector<double>(frames)
                             : physics::FrameDoses(made.setup_.detector, frames);
  if (exposed.step) std::fill(made.doses_.begin() + frames / 2, made.doses_.end(), 0);
  made.Open();
  if (exposed.object != nullptr) {
    made.object_.emplace(*exposed.object, kMuWaterPerMm,
                         physics::TissueMap(made.setup_.effective_kev, exposed.metal));
  }
  return made;
}

// What there is without an object.
void PhysicsFrames::Open() {
  const std::vector<double> nothing(setup_.beam.materials().size());
  readings_.resize(static_cast<size_t>(detector_.columns) * detector_.rows);
  for (int v = 0; v < detector_.rows; ++v) {
    physics::Reading open = beams_.Of(v).Behind(nothing);
    if (setup_.scatter) open = BehindGrid(open, {0, 0}, setup_.scatter->settings.grid);
    std::fill_n(readings_.begin() + int64_t{v} * detector_.columns, detector_.columns, open);
  }
}

void PhysicsFrames::SetScatter(formats::StoredScatter scatter) {
  scatter_error_ = scatter.relative_error;
  scatter_.emplace(std::move(scatter.views), detector_, static_cast<int>(doses_.size()));
}

absl::Status PhysicsFrames::Next(int subsamples, ThreadPool& pool, std::span<uint16_t> counts) {
  if (object_) {
    ISO_ASSIGN_OR_RETURN(const std::vector<ProjectionMatrix> poses,
                         physics::BlurredPoses(trajectory_, frame_, detector_, setup_.blur));
    physics::ReadView(*object_, beams_, poses, detector_, subsamples, pool, readings_);
    if (scatter_) scatter_->AddTo(frame_, setup_.scatter->settings.grid, pool, readings_);
  }
  readout_.Expose(readings_, doses_[frame_++], pool, counts);
  return absl::OkStatus();
}

}  // namespace isocenter::cli
