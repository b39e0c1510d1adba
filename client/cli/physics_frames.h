// Frames as a detector with its faults reads them out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/options/physics_file.h"
#include "kernels/phantom/phantom.h"
#include "kernels/physics/readout.h"
#include "kernels/physics/tissue.h"

namespace isocenter::cli {

/// What is exposed: an object, or nothing at all, with X-rays or without.
struct Exposed {
  const phantom::Phantom* object = nullptr;  // nullptr: a sweep without one
  bool metal = false;                        // of physics::TissueMap
  bool dark = false;
};

class PhysicsFrames {
 public:
  static absl::StatusOr<PhysicsFrames> Make(PhysicsSetup setup, const Exposed& exposed,
                                            const Detector& detector, int frames);

  /// The next frame, of the view with this matrix.
  void Next(const ProjectionMatrix& matrix, int subsamples, ThreadPool& pool,
            std::span<uint16_t> counts);

 private:
  PhysicsFrames(PhysicsSetup setup, const Detector& detector, physics::Readout readout)
      : setup_(std::move(setup)), detector_(detector), readout_(std::move(readout)) {}

  PhysicsSetup setup_;
  Detector detector_;
  physics::Readout readout_;
  std::optional<physics::TissueObject> object_;
  std::vector<double> doses_;               // of the frames
  std::vector<physics::Reading> readings_;  // of the present frame
  size_t frame_ = 0;
};

}  // namespace isocenter::cli
