// The flat detector as it is read out.
#pragma once

namespace isocenter {

struct Detector {
  int columns = 0;        // pixels along u
  int rows = 0;           // pixels along v
  double pitch_u_mm = 0;  // distance of neighbouring columns
  double pitch_v_mm = 0;  // distance of neighbouring rows

  friend bool operator==(const Detector&, const Detector&) = default;
};

}  // namespace isocenter
