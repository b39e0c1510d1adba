// One view of an object in a polychromatic beam.
#pragma once

#include <span>

#include "kernels/base/thread_pool.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/projection_matrix.h"
#include "kernels/physics/beam.h"
#include "kernels/physics/tissue.h"

namespace isocenter::physics {

/// The pixels' readings, [v][u]: `subsamples` rays per pixel and axis are averaged behind the
/// object, as a pixel adds up what reaches it. The beam's materials are the TissueMaterials;
/// `matrix` is normalised, of full rank; no air and no inverse square law: without an object a
/// reading is 1.
void ReadView(const TissueObject& object, const Beam& beam, const ProjectionMatrix& matrix,
              const Detector& detector, int subsamples, ThreadPool& pool,
              std::span<Reading> readings);

}  // namespace isocenter::physics
