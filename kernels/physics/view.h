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
/// inverse square law: without an object and a heel a reading is 1.
void ReadView(const TissueObject& object, const RowBeams& beams,
              std::span<const ProjectionMatrix> poses, const Detector& detector, int subsamples,
              ThreadPool& pool, std::span<Reading> readings);

}  // namespace isocenter::physics
