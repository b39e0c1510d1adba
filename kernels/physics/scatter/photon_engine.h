// Who follows the photons of a scatter simulation, where that is not the host's threads.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/physics/scatter/panel.h"
#include "kernels/physics/scatter/simulation.h"

namespace isocenter::physics {

/// What photons gave before it is made an image of.
struct PhotonTally {
  std::vector<Reading> sums;  // [batch][row][column], of shares of photons over the open share
  PhotonFates fates;
};

/// Follows the same photons with the same draws as ScatterSimulation::View does on threads, in
/// float64 but for the tables, and sums in an order that does not matter: the same bits each time,
/// those of the threads but for the rounding of functions. Made for one simulation, which it does
/// not refer to any more. One thread at a time.
class PhotonEngine {
 public:
  virtual ~PhotonEngine() = default;
  virtual std::string description() const = 0;
  /// Errors: RESOURCE_EXHAUSTED (device memory: needed and free), OUT_OF_RANGE (a photon that
  /// counts more than a sum holds), those of the device.
  virtual absl::StatusOr<PhotonTally> Follow(const Panel& panel,
                                             const ScatterSimulation::Settings& settings) = 0;
};

}  // namespace isocenter::physics
