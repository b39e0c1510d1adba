// The frames of a phase, copied out of those of the whole scan.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::recon {

struct GatedFrames {
  Acquisition acquisition;
  std::vector<float> lines;  // [view][v][u], of its frames

  ops::RawFrames view() const {
    const Detector& detector = acquisition.detector;
    const auto views = static_cast<int64_t>(acquisition.trajectory.size());
    return {.line_integrals = {lines.data(), {views, detector.rows, detector.columns}}};
  }
};

/// Of the line integrals of a whole scan, [view][v][u], and its frames' phases. Errors: those of
/// ChooseViews; INVALID_ARGUMENT where there is not one phase, or not one frame of lines, for each
/// view of the scan; RESOURCE_EXHAUSTED (memory).
absl::StatusOr<GatedFrames> ChooseFrames(const Acquisition& scan, std::span<const float> lines,
                                         std::span<const float> phases, const PhaseWindow& window);

}  // namespace isocenter::recon
