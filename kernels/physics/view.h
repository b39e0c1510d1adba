// One view of an object in a polychromatic beam.
#pragma once

#include <span>

#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/row_beams.h"
#include "kernels/physics/tissue.h"

namespace isocenter::physics {

/// The pixels' readings, [v][u]: `subsamples` rays per pixel and axis and all `poses` (one, or
/// those of BlurredPoses) are averaged behind the object, as a pixel adds up what reaches it. The
/// beams' materials are the TissueMaterials; matrices are normalised, of full rank; no air and no
/// inverse square law: without an object, a heel and a bow-tie a reading is 1. `object`: nullptr
/// for the empty beam. With a `bow_tie` its material is the beams' last one, after the
/// TissueMaterials, and the beams are those behind its middle.
void ReadView(const TissueObject* object, const RowBeams& beams, const BowTie* bow_tie,
              std::span<const ProjectionMatrix> poses, const Detector& detector, int subsamples,
              ThreadPool& pool, std::span<Reading> readings);
inline void ReadView(const TissueObject& object, const RowBeams& beams,
                     std::span<const ProjectionMatrix> poses, const Detector& detector,
                     int subsamples, ThreadPool& pool, std::span<Reading> readings) {
  ReadView(&object, beams, nullptr, poses, detector, subsamples, pool, readings);
}

}  // namespace isocenter::physics
