#include "client/cli/gated/gated_frames.h"

#include <algorithm>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/gating/gating.h"

namespace isocenter::cli {

absl::StatusOr<GatedFrames> ChooseFrames(const recon::Acquisition& scan,
                                         std::span<const float> lines,
                                         std::span<const float> phases, const PhaseWindow& window) {
  if (phases.size() != scan.trajectory.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat(phases.size(), " of ", scan.trajectory.size(),
                     " frames tell a phase; legal with --phase and --phases is all of them "
                     "(phases.txt, docs/formats/bundle.md)"));
  }
  GatedFrames frames;
  ISO_ASSIGN_OR_RETURN(ChosenViews chosen, ChooseViews(phases, window));
  const size_t frame = lines.size() / scan.trajectory.size();
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
  ISO_ASSIGN_OR_RETURN(frames.acquisition, recon::GatedAcquisition(scan, std::move(chosen)));
  return frames;
}

}  // namespace isocenter::cli
