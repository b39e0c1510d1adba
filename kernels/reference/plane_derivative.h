// What one projection says of the plane integrals of its object.
#pragma once

#include "kernels/base/views.h"
#include "kernels/geometry/projection_matrix.h"

namespace isocenter::reference {

/// The derivative of the integral of the object over the plane through the source with unit normal
/// `normal`, as the plane moves along its normal (dimensionless, for attenuation in 1/mm): every
/// view whose source is in that plane must say the same. Line integrals of the plane's line on the
/// detector, weighted, differ between neighbouring lines by it.
///
/// Source: Grangeat, Mathematical Methods in Tomography, LNM 1497 (1991) 66; with any matrix and
/// ray directions that are not unit vectors, as in Clack & Defrise, J. Opt. Soc. Am. A 11 (1994)
/// 580. `view`: one view of line integrals; what lies beyond it counts as 0. Lines are
/// integrated in steps of a quarter of a pixel; differences are of lines one pixel apart, averaged
/// over neighbouring lines by a Gaussian of `sigma_px`, 0 or more.
double PlaneDerivative(HostView3<const float> view, const ProjectionMatrix& matrix, Vec3 normal,
                       double sigma_px);

}  // namespace isocenter::reference
