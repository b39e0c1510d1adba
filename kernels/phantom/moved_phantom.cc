#include "kernels/phantom/moved_phantom.h"

#include <algorithm>

namespace isocenter::phantom {

Box MovedPhantom::Bounds() const {
  const Box box = object_->Bounds();
  Box moved{there_(box.low), there_(box.low)};
  for (int corner = 1; corner < 8; ++corner) {
    const Vec3 p = there_({corner & 1 ? box.high.x : box.low.x, corner & 2 ? box.high.y : box.low.y,
                           corner & 4 ? box.high.z : box.low.z});
    moved.low = {std::min(moved.low.x, p.x), std::min(moved.low.y, p.y),
                 std::min(moved.low.z, p.z)};
    moved.high = {std::max(moved.high.x, p.x), std::max(moved.high.y, p.y),
                  std::max(moved.high.z, p.z)};
  }
  return moved;
}

std::unique_ptr<Phantom> MovedPhantom::Mapped(const std::function<double(double)>& map) const {
  return std::unique_ptr<Phantom>(new MovedPhantom(object_->Mapped(map), there_));
}

}  // namespace isocenter::phantom
