#include "kernels/ops/corrections.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/ops/check.h"

namespace isocenter::ops {
namespace {

absl::Status CheckFrames(int64_t views, const ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckUse(frames, StackUse::kLineIntegrals));
  Shape3 used = frames.shape();
  used.slow = views;
  return CheckSlices("views", 0, used, frames.shape());
}

absl::Status CheckDoses(int64_t views, const ProjectionStack& doses) {
  ISO_RETURN_IF_ERROR(CheckUse(doses, StackUse::kLineIntegrals));
  return CheckSlices("doses", 0, {views, 1, 1}, doses.shape());
}

absl::Status CheckWhole(const Detector& detector, const Shape3& frames) {
  return CheckSameShape("frames", frames, {frames.slow, detector.rows, detector.columns});
}

}  // namespace

absl::Status NormalizeCounts::Run(StridedView3<const uint16_t> counts, ProjectionStack& out) {
  ISO_RETURN_IF_ERROR(CheckFrames(counts.shape().slow, out));
  ISO_RETURN_IF_ERROR(CheckWhole(detector_, counts.shape()));
  ISO_RETURN_IF_ERROR(CheckWhole(detector_, out.shape()));
  return DoRun(counts, out);
}

absl::Status RecoverOverexposed::Run(std::span<const float> given, ProjectionStack& frames) {
  const auto views = static_cast<int64_t>(given.size());
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckWhole(detector_, frames.shape()));
  for (int64_t view = 0; view < views; ++view) {
    ISO_RETURN_IF_ERROR(CheckGivenDose(view, given[view]));
  }
  return DoRun(given, frames);
}

absl::Status CorrectAirSweep::Run(std::span<const float> places, ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckFrames(static_cast<int64_t>(places.size()), frames));
  ISO_RETURN_IF_ERROR(CheckWhole(detector_, frames.shape()));
  for (const float place : places) {
    if (place >= 0 && place <= static_cast<float>(last_place_)) continue;
    return absl::InvalidArgumentError(absl::StrCat("a frame's place in the air sweep is ", place,
                                                   "; legal is 0 to ", last_place_));
  }
  return DoRun(places, frames);
}

absl::Status InPlaceCorrection::Run(int64_t views, ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckWhole(detector_, frames.shape()));
  return DoRun(views, frames);
}

absl::Status FindDoses::Run(std::span<const float> given, const ProjectionStack& frames,
                            ProjectionStack& doses) {
  const auto views = static_cast<int64_t>(given.size());
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckWhole(detector_, frames.shape()));
  ISO_RETURN_IF_ERROR(CheckDoses(views, doses));
  for (int64_t view = 0; view < views; ++view) {
    ISO_RETURN_IF_ERROR(CheckGivenDose(view, given[view]));
  }
  return DoRun(given, frames, doses);
}

absl::Status CorrectScatter::Run(int64_t views, const ProjectionStack& doses,
                                 ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckWhole(detector_, frames.shape()));
  ISO_RETURN_IF_ERROR(CheckDoses(views, doses));
  return DoRun(views, doses, frames);
}

absl::Status Linearize::Run(int64_t views, const ProjectionStack& doses, ProjectionStack& frames) {
  ISO_RETURN_IF_ERROR(CheckFrames(views, frames));
  ISO_RETURN_IF_ERROR(CheckDoses(views, doses));
  return DoRun(views, doses, frames);
}

absl::Status CheckGivenDose(int64_t view, double dose) {
  if (dose == 0 || (dose >= kLeastGivenDose && dose <= kMostGivenDose)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the dose of frame ", view, " is ", dose,
                                                 "; legal is ", kLeastGivenDose, " to ",
                                                 kMostGivenDose, ", or 0: to be estimated"));
}

int OverexposedFit(const Detector& detector) {
  return std::clamp(static_cast<int>(std::lround(kOverexposedFitMm / detector.pitch_u_mm)), 3, 16);
}

bool SpreadsOverBlocks(const Detector& detector, double sigma_mm) {
  const double d = kCoarseBlock * std::max(detector.pitch_u_mm, detector.pitch_v_mm);
  return 3 * sigma_mm * sigma_mm > d * d;
}

absl::Status CheckHasScatter(const Calibration& calibration) {
  if (calibration.scatter.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the calibration '", calibration.name,
      "' has no scatter kernels; legal for a correction of scatter are those that have some"));
}

}  // namespace isocenter::ops
