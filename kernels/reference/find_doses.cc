#include <algorithm>
#include <vector>

#include "kernels/ops/corrections.h"
#include "kernels/reference/device.h"
#include "kernels/reference/methods.h"

namespace isocenter::reference {
namespace {

constexpr int kTile = ops::kAirTile;

class FindDosesPlain final : public ops::FindDoses {
 public:
  explicit FindDosesPlain(const ops::Calibration& calibration)
      : FindDoses(calibration.detector), strip_(calibration.air.columns) {}

 private:
  absl::Status DoRun(std::span<const float> given, const ops::ProjectionStack& frames,
                     ops::ProjectionStack& doses) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(frames));
    ISO_ASSIGN_OR_RETURN(Stack * out, AsStack(doses));
    for (size_t view = 0; view < given.size(); ++view) {
      out->view()(view, 0, 0) = given[view] != 0 ? given[view] : Estimate(stack->view(), view);
    }
    return absl::OkStatus();
  }

  double Estimate(HostView3<const double> frames, int64_t view) const {
    std::vector<double> means;
    for (int v = 0; v + kTile <= detector().rows; v += kTile) {
      for (int u = 0; u + kTile <= strip_; u += kTile) {
        means.push_back(TileMean(frames, view, v, u));
        means.push_back(TileMean(frames, view, v, detector().columns - kTile - u));
      }
    }
    if (means.empty()) return 1;
    const double brightest = *std::max_element(means.begin(), means.end());
    double sum = 0, tiles = 0;
    for (const double mean : means) {
      if (!(mean >= (1 - ops::kAirTolerance) * brightest)) continue;
      sum += mean;
      tiles += 1;
    }
    const double dose = sum / tiles;
    return dose >= ops::kLeastDose && dose <= ops::kMostDose ? dose : 1;
  }

  static double TileMean(HostView3<const double> frames, int64_t view, int64_t v, int64_t u) {
    double sum = 0;
    for (int y = 0; y < kTile; ++y) {
      for (int x = 0; x < kTile; ++x) sum += frames(view, v + y, u + x);
    }
    return sum / (kTile * kTile);
  }

  const int strip_;
};

}  // namespace

std::unique_ptr<ops::FindDoses> NewFindDoses(const ops::Calibration& calibration) {
  return std::make_unique<FindDosesPlain>(calibration);
}

}  // namespace isocenter::reference
