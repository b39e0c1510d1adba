// The frames of a phase.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/ops/operations.h"
#include "kernels/recon/acquisition.h"

namespace isocenter::cli {

struct GatedFrames {
  recon::Acquisition acquisition;
  std::vector<float> lines;  // [view][v][u], of its frames

  ops::RawFrames view() const {
    const Detector& detector = acquisition.detector;
    const auto views = static_cast<int64_t>(acquisition.trajectory.size());
    return {.line_integrals = {lines.data(), {views, detector.rows, detector.columns}}};
  }
};

/// Of the line integrals of a whole scan, [view][v][u], and its frames' phases. Errors: those of
/// ChooseViews; FAILED_PRECONDITION where the frames tell no phase; RESOURCE_EXHAUSTED (memory).
absl::StatusOr<GatedFrames> ChooseFrames(const recon::Acquisition& scan,
                                         std::span<const float> lines,
                                         std::span<const float> phases, const PhaseWindow& window);

}  // namespace isocenter::cli
