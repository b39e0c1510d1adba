// The scatter of one view, by following photons.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/scatter/beam.h"
#include "kernels/scatter/cross_sections.h"
#include "kernels/scatter/object.h"

namespace isocenter::scatter {

struct PhotonSettings {
  int64_t photons = 0;        // at least 1
  int columns = 0, rows = 0;  // of the coarse grid, which covers the detector
  uint64_t seed = 1, view = 0;
};

/// Relative to what reaches the same place of the detector without an object: [row][column].
struct ScatterImage {
  std::vector<double> all;    // scattered once or more
  std::vector<double> first;  // of that, scattered once
};

/// Every photon that meets the object is made to scatter in it, with the probability of that, of
/// the depth too, as its weight, and goes on so until little is left of it; at each place the
/// expected signal at one point of the detector is added up, with the attenuation on the way there.
/// What is scattered is taken for as bright to the screen as before it lost its share of energy.
/// The source shines evenly on all of the detector and on nothing else. The same for any number of
/// threads. `stop`, if there is one, ends it early. Errors: those of Decompose, CANCELLED.
absl::StatusOr<ScatterImage> FollowPhotons(const Object& object, const Beam& beam,
                                           const CrossSections& sections,
                                           const ProjectionMatrix& matrix, const Detector& detector,
                                           const PhotonSettings& settings, ThreadPool& threads,
                                           const std::atomic<bool>* stop = nullptr);

}  // namespace isocenter::scatter
