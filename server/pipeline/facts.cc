#include "server/pipeline/facts.h"

#include <openssl/evp.h>

#include <span>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "kernels/base/units.h"

namespace isocenter::pipeline {
namespace {

const char* WindowName(ops::FilterWindow window) {
  switch (window) {
    case ops::FilterWindow::kRamLak:
      return "ram-lak";
    case ops::FilterWindow::kSheppLogan:
      return "shepp-logan";
    case ops::FilterWindow::kCosine:
      return "cosine";
    case ops::FilterWindow::kHamming:
      return "hamming";
    case ops::FilterWindow::kHann:
      return "hann";
  }
  return "unknown";
}

}  // namespace

std::string TrajectoryHash(const Trajectory& trajectory) {
  static_assert(sizeof(ProjectionMatrix) == 12 * sizeof(double), "matrices are hashed as memory");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (EVP_Digest(trajectory.data(), trajectory.size() * sizeof(ProjectionMatrix), digest, &length,
                 EVP_sha256(), nullptr) != 1) {
    return "";
  }
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), length));
}

jobs::AcquisitionFacts FactsOf(const recon::ReconstructionPlan& plan) {
  jobs::AcquisitionFacts facts;
  const Trajectory& trajectory = plan.acquisition.trajectory;
  const absl::StatusOr<Camera> middle = Decompose(trajectory[trajectory.size() / 2]);
  if (middle.ok()) {
    facts.source_to_isocenter_mm = Norm(middle->source);
    facts.source_to_detector_mm = middle->focal_u_px * plan.acquisition.detector.pitch_u_mm;
  }
  facts.arc_deg = RadiansToDegrees(plan.arc);
  facts.frames = plan.views();
  facts.filter_description =
      absl::StrFormat("%s %.2f", WindowName(plan.settings.window), plan.settings.cutoff);
  facts.trajectory_hash = TrajectoryHash(trajectory);
  return facts;
}

}  // namespace isocenter::pipeline
