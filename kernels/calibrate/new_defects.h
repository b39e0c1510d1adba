// Pixels that became defective since a detector was calibrated, found in the frames of a scan.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/detector.h"
#include "kernels/ops/calibration.h"

namespace isocenter::calibrate {

inline constexpr int kLeastScanFrames = 20;
/// Frames that are looked at, at most, from all over the scan.
inline constexpr int kMostScanFrames = 128;
/// Of the frames, the share in which a defective pixel is implausible.
inline constexpr double kDefectiveShare = 1.0 / 3;

/// Pixels that `known` does not have, v·columns + u, ascending. With lo and hi the smallest and the
/// largest of the good ones (5 at least) of a pixel's 8 neighbours, relative to the empty beam, but
/// for a quarter at each end, which may be dead themselves, as in a line, a value is implausible
/// beyond [lo - m, hi + m], m = max(2·(hi - lo), |lo + hi| / 20). What a pixel sees moves: an edge,
/// a wire or metal makes it implausible in few frames, a dead, stuck or flickering pixel is so in
/// most. `frames`: counts of a scan, [view][v][u]; `known`: legal, of this detector, may lack a
/// response, which leaves counts as they are. Errors: INVALID_ARGUMENT (too few frames),
/// FAILED_PRECONDITION (more than kMostDefectivePercent, or a defect that nothing bridges: the set
/// is not of this detector).
absl::StatusOr<std::vector<int32_t>> FindNewDefects(StridedView3<const uint16_t> frames,
                                                    const ops::Calibration& known,
                                                    ThreadPool& pool);

}  // namespace isocenter::calibrate
