#include "kernels/recon/gating/gated_frames.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/gating/gating.h"

namespace isocenter::recon {

absl::StatusOr<GatedFrames> ChooseFrames(const Acquisition& scan, std::span<const float> lines,
                                         std::span<const float> phases, const PhaseWindow& window) {
  const size_t views = scan.trajectory.size();
  const size_t frame = size_t(scan.detector.rows) * scan.detector.columns;
  if (phases.size() != views) {
    return absl::InvalidArgumentError(absl::StrCat(
        phases.size(), " of ", views, " frames tell a phase; legal for gating is all of them"));
  }
  if (lines.size() != views * frame) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", lines.size(),
                                                   " line integrals; legal is ", views * frame,
                                                   ", those of ", views, " frames"));
  }
  GatedFrames frames;
  ISO_ASSIGN_OR_RETURN(ChosenViews chosen, ChooseViews(phases, window));
  try {
    frames.lines.resize(chosen.views.size() * frame);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the chosen frames need ",
                     BytesText(static_cast<int64_t>(chosen.views.size() * frame * sizeof(float))),
                     " of memory"));
  }
  for (size_t i = 0; i < chosen.views.size(); ++i) {
    std::copy_n(lines.begin() + static_cast<int64_t>(chosen.views[i] * frame), frame,
                frames.lines.begin() + static_cast<int64_t>(i * frame));
  }
  ISO_ASSIGN_OR_RETURN(frames.acquisition, GatedAcquisition(scan, std::move(chosen)));
  return frames;
}

}  // namespace isocenter::recon
