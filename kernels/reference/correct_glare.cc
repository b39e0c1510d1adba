#include "kernels/ops/corrections.h"
#include "kernels/reference/coarse_blocks.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

class CorrectGlarePlain final : public ops::CorrectGlare {
 public:
  explicit CorrectGlarePlain(const ops::Calibration& calibration)
      : CorrectGlare(calibration.detector) {
    for (const ops::SpreadTerm& term : calibration.glare) {
      if (!ops::SpreadsOverBlocks(detector(), term.sigma_mm)) continue;
      terms_.push_back(term);
      stays_ -= term.share;
    }
  }

 private:
  absl::Status DoRun(int64_t views, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    for (int64_t view = 0; view < views; ++view) {
      const CoarseBlocks glare = Glare(CoarseBlocks::MeansOf(detector(), stack->view(), view));
      for (int64_t v = 0; v < detector().rows; ++v) {
        for (int64_t u = 0; u < detector().columns; ++u) {
          double& pixel = stack->view()(view, v, u);
          pixel = (pixel - glare.Interpolated(v, u)) / stays_;
        }
      }
    }
    return absl::OkStatus();
  }

  // What spreads onto each block, from what arrived.
  CoarseBlocks Glare(const CoarseBlocks& arrived) const {
    CoarseBlocks x = arrived;
    for (int step = 0; step < ops::kGlareSteps; ++step) {
      const CoarseBlocks spread = Spread(x);
      for (int v = 0; v < x.rows(); ++v) {
        for (int u = 0; u < x.columns(); ++u) x(v, u) = (arrived(v, u) - spread(v, u)) / stays_;
      }
    }
    return Spread(x);
  }

  CoarseBlocks Spread(const CoarseBlocks& x) const {
    CoarseBlocks sum(detector());
    for (const ops::SpreadTerm& term : terms_) {
      AddSpread(detector(), term.share, term.sigma_mm, x, sum);
    }
    return sum;
  }

  std::vector<ops::SpreadTerm> terms_;
  double stays_ = 1;
};

}  // namespace

std::unique_ptr<ops::CorrectGlare> NewCorrectGlare(const ops::Calibration& calibration) {
  return std::make_unique<CorrectGlarePlain>(calibration);
}

}  // namespace isocenter::reference
