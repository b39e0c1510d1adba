// A phantom of convex bodies.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "kernels/phantom/body.h"
#include "kernels/phantom/phantom.h"

namespace isocenter::phantom {

struct Part {
  Body body;
  double attenuation = 0;  // 1/mm
};

class CompositePhantom : public Phantom {
 public:
  enum class Overlap {
    kAdd,      // attenuations of overlapping parts add up
    kReplace,  // the last part in the list counts alone
  };
  /// At most 64 parts.
  CompositePhantom(std::vector<Part> parts, Overlap overlap);

  double Attenuation(Vec3 point) const override;
  double LineIntegral(Vec3 source, Vec3 direction) const override;
  Box Bounds() const override;
  std::unique_ptr<Phantom> Mapped(const std::function<double(double)>& map) const override;

 private:
  double AddedIntegral(Vec3 source, Vec3 direction) const;
  double MappedIntegral(Vec3 source, Vec3 direction) const;
  double ReplacedIntegral(Vec3 source, Vec3 direction) const;

  std::vector<Part> parts_;
  Overlap overlap_;
  std::function<double(double)> map_;  // of sums; empty: none
};

}  // namespace isocenter::phantom
