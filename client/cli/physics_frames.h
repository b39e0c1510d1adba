// Frames as a detector with its faults reads them out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/options/physics_file.h"
#include "client/formats/scatter_file.h"
#include "kernels/geometry/trajectory.h"
#include "kernels/phantom/phantom.h"
#include "kernels/physics/readout.h"
#include "kernels/physics/row_beams.h"
#include "kernels/physics/scatter/field.h"
#include "kernels/physics/tissue.h"

namespace isocenter::cli {

/// What is exposed: an object, or nothing at all, with X-rays or without.
struct Exposed {
  const phantom::Phantom* object = nullptr;  // nullptr: a sweep without one
  bool metal = false;                        // of physics::TissueMap
  bool dark = false;
  bool step = false;  // dark from the middle of the sweep on
};

class PhysicsFrames {
 public:
  /// Errors: INVALID_ARGUMENT (an anode that the detector sees too flat).
  static absl::StatusOr<PhysicsFrames> Make(PhysicsSetup setup, const Exposed& exposed,
                                            const Detector& detector, const Trajectory& trajectory);

  /// Before the first frame, where setup.scatter is set and there is an object.
  void SetScatter(formats::StoredScatter scatter);

  const PhysicsSetup& setup() const { return setup_; }
  const physics::RowBeams& beams() const { return beams_; }
  /// Standard error of a coarse cell's scatter over the mean, before smoothing; none without any.
  std::optional<double> scatter_error() const { return scatter_error_; }

  /// What the frames tell of their doses; empty: nothing.
  std::vector<float> told_doses() const {
    if (!setup_.tells_dose) return {};
    return {doses_.begin(), doses_.end()};
  }

  /// The next frame of the trajectory, which has one more.
  absl::Status Next(int subsamples, ThreadPool& pool, std::span<uint16_t> counts);

 private:
  PhysicsFrames(PhysicsSetup setup, const Detector& detector, Trajectory trajectory,
                physics::RowBeams beams, physics::Readout readout)
      : setup_(std::move(setup)),
        detector_(detector),
        trajectory_(std::move(trajectory)),
        beams_(std::move(beams)),
        readout_(std::move(readout)) {}

  const physics::BowTie* bow_tie() const { return setup_.bow_tie ? &*setup_.bow_tie : nullptr; }
  void Open(ThreadPool& pool);

  PhysicsSetup setup_;
  Detector detector_;
  Trajectory trajectory_;
  physics::RowBeams beams_;
  physics::Readout readout_;
  std::optional<physics::TissueObject> object_;
  std::optional<physics::ScatterField> scatter_;
  std::optional<double> scatter_error_;
  std::vector<double> doses_;               // of the frames
  std::vector<physics::Reading> readings_;  // of the present frame
  int frame_ = 0;
};

}  // namespace isocenter::cli
