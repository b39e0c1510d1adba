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
                                     camera.focal_u_px * detector.pitch_u_mm,
                                     setup.bow_tie ? &*setup.bow_tie : nullptr);
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
  made.readings_.resize(static_cast<size_t>(detector.columns) * detector.rows);
  if (exposed.object != nullptr) {
    made.object_.emplace(*exposed.object, kMuWaterPerMm,
                         physics::TissueMap(made.setup_.effective_kev, exposed.metal));
  }
  return made;
}

// What there is without an object: the same in all frames unless a filter sways with the arm.
void PhysicsFrames::Open(ThreadPool& pool) {
  if (frame_ > 0 && !(setup_.bow_tie && setup_.bow_tie->sways())) return;
  physics::ReadView(nullptr, beams_, bow_tie(), {&trajectory_[frame_], 1}, detector_, 1, pool,
                    readings_);
  if (!setup_.scatter) return;
  for (physics::Reading& open : readings_) {
    open = BehindGrid(open, {0, 0}, setup_.scatter->settings.grid);
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
    physics::ReadView(&*object_, beams_, bow_tie(), poses, detector_, subsamples, pool, readings_);
    if (scatter_) scatter_->AddTo(frame_, setup_.scatter->settings.grid, pool, readings_);
  } else {
    Open(pool);
  }
  readout_.Expose(readings_, doses_[frame_++], pool, counts);
  return absl::OkStatus();
}

}  // namespace isocenter::cli
