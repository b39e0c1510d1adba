#include "kernels/ops/corrections.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class NormalizeCountsPlain final : public ops::NormalizeCounts {
 public:
  explicit NormalizeCountsPlain(const ops::Calibration& calibration)
      : NormalizeCounts(calibration.detector), response_(*calibration.response) {}

 private:
  absl::Status DoRun(StridedView3<const uint16_t> counts, ops::ProjectionStack& out) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(out));
    const Shape3 shape = counts.shape();
    for (int64_t i = 0; i < shape.slow; ++i) {
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < shape.fast; ++u) {
          const size_t pixel = v * shape.fast + u;
          const double dark = response_.offset_counts[pixel], air = response_.air_counts[pixel];
          stack->view()(i, v, u) = (counts(i, v, u) - dark) / air;
        }
      }
    }
    return absl::OkStatus();
  }

  const ops::PixelResponse response_;
};

class CorrectLagPlain final : public ops::CorrectLag {
 public:
  explicit CorrectLagPlain(const ops::Calibration& calibration)
      : CorrectLag(calibration.detector),
        lag_(calibration.lag),
        kept_(lag_.size() * detector().rows * detector().columns) {}

  absl::Status Restart() override {
    std::fill(kept_.begin(), kept_.end(), 0.0);
    return absl::OkStatus();
  }

 private:
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    for (int64_t i = 0; i < views; ++i) {
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < shape.fast; ++u) {
          double* kept = &kept_[(v * shape.fast + u) * lag_.size()];
          stack->view()(i, v, u) = Exposed(stack->view()(i, v, u), kept);
        }
      }
    }
    return absl::OkStatus();
  }

  // What a pixel was exposed to that reads `read`, and what it keeps after that.
  double Exposed(double read, double* kept) const {
    double passed = 1, released = 0;
    for (size_t n = 0; n < lag_.size(); ++n) {
      passed -= lag_[n].share;
      released += lag_[n].release * kept[n];
    }
    const double exposed = (read - released) / passed;
    for (size_t n = 0; n < lag_.size(); ++n) {
      kept[n] = kept[n] - lag_[n].release * kept[n] + lag_[n].share * exposed;
    }
    return exposed;
  }

  const std::vector<ops::LagTerm> lag_;
  std::vector<double> kept_;  // [v][u][term]
};

class LinearizePlain final : public ops::Linearize {
 public:
  explicit LinearizePlain(const ops::Calibration& calibration)
      : water_(calibration.water.coefficient), hardness_(calibration.water.hardness) {}

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& doses,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* dose, AsStack(doses));
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    for (int64_t i = 0; i < views; ++i) {
      for (int64_t v = 0; v < shape.middle; ++v) {
        for (int64_t u = 0; u < shape.fast; ++u) {
          double& pixel = stack->view()(i, v, u);
          const double h = hardness_.empty() ? 0 : hardness_[u];
          pixel = OfWater(LineIntegral(pixel / dose->view()(i, 0, 0)) + h) - OfWater(h);
        }
      }
    }
    return absl::OkStatus();
  }

  static double LineIntegral(double transmitted) {
    if (!std::isfinite(transmitted)) return ops::kLongestLineIntegral;
    return transmitted > 0 ? std::min(-std::log(transmitted), ops::kLongestLineIntegral)
                           : ops::kLongestLineIntegral;
  }
  double OfWater(double p) const {
    if (water_.empty()) return p;
    double sum = 0;
    for (size_t n = 0; n < water_.size(); ++n) {
      sum += water_[n] * std::pow(p, static_cast<double>(n + 1));
    }
    return sum;
  }

  const std::vector<double> water_;
  const std::vector<float> hardness_;
};

}  // namespace

std::unique_ptr<ops::NormalizeCounts> NewNormalizeCounts(const ops::Calibration& calibration) {
  return std::make_unique<NormalizeCountsPlain>(calibration);
}
std::unique_ptr<ops::CorrectLag> NewCorrectLag(const ops::Calibration& calibration) {
  return std::make_unique<CorrectLagPlain>(calibration);
}
std::unique_ptr<ops::Linearize> NewLinearize(const ops::Calibration& calibration) {
  return std::make_unique<LinearizePlain>(calibration);
}

}  // namespace isocenter::reference
