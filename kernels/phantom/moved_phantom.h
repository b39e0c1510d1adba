// A phantom in another pose.
#pragma once

#include <functional>
#include <memory>

#include "kernels/geometry/rigid_motion.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {

/// What is at x in `object` is at R·x + shift in this one.
class MovedPhantom : public Phantom {
 public:
  MovedPhantom(std::shared_ptr<const Phantom> object, const RigidPose& pose)
      : MovedPhantom(std::move(object), TransformOf(pose)) {}

  double Attenuation(Vec3 point) const override { return object_->Attenuation(back_(point)); }
  double LineIntegral(Vec3 source, Vec3 direction) const override {
    return object_->LineIntegral(back_(source), back_.Turn(direction));
  }
  /// The box around the object's moved one.
  Box Bounds() const override;
  std::unique_ptr<Phantom> Mapped(const std::function<double(double)>& map) const override;

 private:
  MovedPhantom(std::shared_ptr<const Phantom> object, const RigidTransform& there)
      : object_(std::move(object)), there_(there), back_(Inverse(there)) {}

  std::shared_ptr<const Phantom> object_;
  RigidTransform there_, back_;
};

}  // namespace isocenter::phantom
