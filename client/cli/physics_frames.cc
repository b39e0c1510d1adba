#include "client/cli/physics_frames.h"

#include <utility>

#include "client/cli/options/phantom_flags.h"
#include "kernels/base/status_macros.h"
#include "kernels/physics/view.h"

namespace isocenter::cli {

absl::StatusOr<PhysicsFrames> PhysicsFrames::Make(PhysicsSetup setup, const Exposed& exposed,
                                                  const Detector& detector, int frames) {
  ISO_ASSIGN_OR_RETURN(physics::Readout readout, physics::Readout::Make(setup.detector, detector));
  PhysicsFrames made(std::move(setup), detector, std::move(readout));
  made.doses_ = exposed.dark ? std::vector<double>(frames)
                             : physics::FrameDoses(made.setup_.detector, frames);
  const std::vector<double> nothing(made.setup_.beam.materials().size());
  made.readings_.assign(static_cast<size_t>(detector.columns) * detector.rows,
                        made.setup_.beam.Behind(nothing));
  if (exposed.object != nullptr) {
    made.object_.emplace(*exposed.object, kMuWaterPerMm,
                         physics::TissueMap(made.setup_.effective_kev, exposed.metal));
  }
  return made;
}

void PhysicsFrames::Next(const ProjectionMatrix& matrix, int subsamples, ThreadPool& pool,
                         std::span<uint16_t> counts) {
  if (object_) {
    physics::ReadView(*object_, setup_.beam, matrix, detector_, subsamples, pool, readings_);
  }
  readout_.Expose(readings_, doses_[frame_++], pool, counts);
}

}  // namespace isocenter::cli
