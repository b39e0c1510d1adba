#include <algorithm>
#include <cmath>

#include "kernels/ops/corrections.h"
#include "kernels/reference/coarse_blocks.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class CorrectScatterPlain final : public ops::CorrectScatter {
 public:
  explicit CorrectScatterPlain(const ops::Calibration& calibration)
      : CorrectScatter(calibration.detector), kernels_(*calibration.scatter) {}

 private:
  absl::Status DoRun(int64_t views, const ops::ProjectionStack& doses,
                     ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    ISO_ASSIGN_OR_RETURN(const Stack* dose, AsStack(doses));
    for (int64_t view = 0; view < views; ++view) {
      Correct(dose->view()(view, 0, 0), view, stack->view());
    }
    return absl::OkStatus();
  }

  void Correct(double dose, int64_t view, HostView3<double> frames) const {
    CoarseBlocks arrived = CoarseBlocks::MeansOf(detector(), frames, view);
    ForEach(arrived, [&](int v, int u) {
      arrived(v, u) = std::max(arrived(v, u) / dose, ops::kLeastCoarse);
    });
    const CoarseBlocks scatter = Scatter(arrived);
    for (int64_t v = 0; v < detector().rows; ++v) {
      for (int64_t u = 0; u < detector().columns; ++u) {
        double& x = frames(view, v, u);
        x = std::max(x - dose * scatter.Interpolated(v, u), ops::kLeastPrimary * x);
      }
    }
  }

  // Per unattenuated photon of this dose.
  CoarseBlocks Scatter(const CoarseBlocks& arrived) const {
    CoarseBlocks primary = arrived, scatter(detector());
    for (int step = 0; step < ops::kScatterSteps; ++step) {
      scatter = ScatterOf(primary);
      ForEach(primary, [&](int v, int u) {
        const double i = arrived(v, u), p = primary(v, u);
        primary(v, u) =
            std::max({i * p / (p + scatter(v, u)), ops::kLeastPrimary * i, ops::kLeastCoarse});
      });
    }
    return scatter;
  }

  CoarseBlocks ScatterOf(const CoarseBlocks& primary) const {
    CoarseBlocks sum(detector()), thick(detector());
    for (size_t group = 0; group < kernels_.groups.size(); ++group) {
      CoarseBlocks w(detector()), t_w(detector());
      ForEach(w, [&](int v, int u) {
        const double p = primary(v, u), t = Thickness(p);
        if (GroupOf(t) != group) return;
        w(v, u) = Weight(kernels_.groups[group], p);
        t_w(v, u) = t * w(v, u);
      });
      AddKernel(kernels_.groups[group], w, sum);
      AddKernel(kernels_.groups[group], t_w, thick);
    }
    const double gamma = kernels_.gamma_per_mm;
    ForEach(sum, [&](int v, int u) {
      const double t = Thickness(primary(v, u));
      sum(v, u) = std::max(0.0, (1 - gamma * t) * sum(v, u) + gamma * thick(v, u));
    });
    return sum;
  }

  void AddKernel(const ops::ScatterKernels::Group& group, const CoarseBlocks& from,
                 CoarseBlocks& to) const {
    AddSpread(detector(), 1 - group.wide_share, group.narrow_sigma_mm, from, to);
    AddSpread(detector(), group.wide_share, group.wide_sigma_mm, from, to);
  }

  double Thickness(double primary) const {
    return std::max(0.0, -std::log(primary)) / kernels_.mu_water_per_mm;
  }
  size_t GroupOf(double thickness) const {
    size_t group = kernels_.groups.size() - 1;
    while (kernels_.groups[group].from_mm > thickness) --group;
    return group;
  }
  static double Weight(const ops::ScatterKernels::Group& group, double primary) {
    if (primary >= 1) return 0;
    return group.amplitude * std::pow(primary, group.alpha) *
           std::pow(-std::log(primary), group.beta);
  }

  template <class Body>
  static void ForEach(const CoarseBlocks& blocks, const Body& body) {
    for (int v = 0; v < blocks.rows(); ++v) {
      for (int u = 0; u < blocks.columns(); ++u) body(v, u);
    }
  }

  const ops::ScatterKernels kernels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::CorrectScatter>> NewCorrectScatter(
    const ops::Calibration& calibration) {
  ISO_RETURN_IF_ERROR(ops::CheckHasScatter(calibration));
  return std::make_unique<CorrectScatterPlain>(calibration);
}

}  // namespace isocenter::reference
