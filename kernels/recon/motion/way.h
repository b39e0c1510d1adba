// How far a motion goes.
#pragma once

#include <span>

namespace isocenter::recon {

/// The length of the way through the frames' parameters, [frame][each] in mm, from the first to the
/// last, smooth where it stands still: Σ √(|Δ|² + e²) - e with e = 3 mm over the number of frames.
/// A jerk costs as much as a slow motion to the same place. Adds `weight` times its derivatives to
/// `by_frame` and returns `weight` times the length.
double AddWay(std::span<const double> of_frames, int each, double weight,
              std::span<double> by_frame);

}  // namespace isocenter::recon
