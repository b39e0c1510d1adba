// Orbits beyond the circle: an arm that sweeps up and down while it turns.
#pragma once

#include "absl/status/statusor.h"
#include "kernels/geometry/detector.h"
#include "kernels/geometry/trajectory.h"

namespace isocenter {

enum class SweepShape {
  kSine,     // `periods` of a sine over the arc
  kTilted,   // a circle or an arc in a plane that is tilted about x
  kSaddle,   // twice up and down on a turn, where the arm stands front and side
  kTwoArcs,  // half of the views on a sweep above, and the other half back below
};

struct SweptOrbit {
  CircularOrbit base;  // angles around z
  SweepShape shape = SweepShape::kSine;
  double sweep = 0;    // radians: the largest elevation of the source above the plane z = 0
  double periods = 1;  // of a sine
};

/// The source stays at its distance from the isocentre, at angle a around z and elevation e above
/// the plane z = 0: source_to_isocenter · (cos a cos e, sin a cos e, sin e); the central ray always
/// meets the isocentre, and rows stay parallel to the plane z = 0 but in a tilted orbit, where they
/// follow it. Elevations: sine sweep · sin(2π · periods · t), t from 0 at the first to 1 at the
/// last view; saddle sweep · cos(2a); two arcs +sweep, then -sweep on the way back. Errors: those
/// of MakeCircularOrbit; INVALID_ARGUMENT for a sweep outside 0 to 60 degrees, periods outside 0.25
/// to 20, and two arcs of fewer than 4 views.
absl::StatusOr<Trajectory> MakeSweptOrbit(const SweptOrbit& orbit, const Detector& detector);

}  // namespace isocenter
