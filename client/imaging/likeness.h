// Whether a volume shows the object that it is compared with.
#pragma once

#include <cstdint>

#include "kernels/base/views.h"
#include "kernels/geometry/volume_grid.h"

namespace isocenter::imaging {

/// Compares means over cubes, in which noise and streaks hardly count, near the isocentre's plane,
/// which every orbit sees.
class Likeness {
 public:
  /// Of more wrong than this, a volume is of another object.
  static constexpr double kMostWrong = 0.2;

  explicit Likeness(const VolumeGrid& grid) : grid_(grid) {}
  /// As DifferenceMeter::Add, of a truth everywhere.
  void Add(int first_slice, HostView3<const float> slices, HostView3<const float> truth);

  /// Volume of what differs by more than most of water's step to air, in that of the truth's
  /// object: above 0 where outlines or cavities differ. 0 where there is too little of the object.
  double Wrong() const;

 private:
  struct Cube {
    int first_slice, j, i;
  };
  void AddCube(Cube cube, HostView3<const float> slices, HostView3<const float> truth);

  const VolumeGrid grid_;
  int64_t object_ = 0, wrong_ = 0;
};

}  // namespace isocenter::imaging
