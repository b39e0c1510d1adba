// Phases of frames from a signal that rises and falls with the organ's cycle.
#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter {

struct SignalPhases {
  std::vector<float> phases;  // of each frame, [0, 1)
  std::vector<double> peaks;  // where they are: frames from the first one, ascending, not integers
  double shortest_cycle = 0, longest_cycle = 0;  // from peak to peak, in frames
};

/// `signal`: a number for each frame, in any unit: of a belt or a camera for breathing, of pressure
/// or volume for a heart. (Of an ECG, whose spikes are shorter than the time between frames, phases
/// themselves are wanted.) The phase is 0 at each peak and rises evenly to the next; before the
/// first and after the last one it goes on as in the cycle beside it. A peak is the largest number
/// between two frames at which the signal is below its lower quarter, made finer by a parabola
/// through its neighbours: ripples that do not cross half of the range make none. The range is that
/// of the signal without its least and greatest twentieth. Errors: INVALID_ARGUMENT (a number that
/// is not finite, with its frame; fewer than 2 peaks; a cycle of fewer than 4 frames, in which no
/// phase can be told).
absl::StatusOr<SignalPhases> PhasesOfSignal(std::span<const float> signal);

}  // namespace isocenter
