// What two frames say of planes of an object that lay otherwise in each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/calibrate/consistency/line_view.h"
#include "kernels/geometry/rigid_motion.h"
#include "kernels/geometry/vec3.h"

namespace isocenter::calibrate {

/// A frame, and how the object lay against its place at rest.
struct PosedView {
  PosedView(const LineView& lines, const RigidPose& pose);

  const LineView* lines;
  RigidTransform transform;
  Vec3 source;  // as the object at rest sees it
};

/// Of one plane: what the first frame says less what the second does, and its derivatives by the
/// first frame's pose (a shift in mm along x, y, z of the world, then a turn in radians about
/// these, both after the pose that it has), then by the second's. The plane follows: it stays one
/// through both sources, and as near to where it was as these let it.
struct PlaneEquation {
  double difference = 0;
  std::array<float, 12> by_pose{};
};

struct PosedPlane {
  /// Lines that leave the detector, through the object (kTruncated) or because they are hardly on
  /// it (kOutside), say nothing.
  LineState state = LineState::kOutside;
  PlaneEquation equation;
};

/// `normal`: of unit length, across the line through both sources as the object at rest sees them.
PosedPlane ComparePlane(const PosedView& first, const PosedView& second, Vec3 normal);

struct PosedPair {
  std::vector<PlaneEquation> equations;
  int64_t cut = 0;  // planes that are not among them because a detector cuts the object
};

/// On planes of EpipolarPlanes.
PosedPair ComparePair(const PosedView& first, const PosedView& second, double radius_mm,
                      int planes);

}  // namespace isocenter::calibrate
