// How sharp a volume is.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"

namespace isocenter::recon {

/// Equal bins from `least` on; values beyond the first and the last bin belong to these.
struct HistogramBins {
  double least = 0, width = 1;
  int count = 1;
};

/// The entropy of a volume's values: H = -Σ p·ln p over the bins, p the share of the voxels in
/// each. It is small where tissues have values of their own: double contours and streaks of frames
/// that do not fit together spread them. A voxel counts in its bin and both beside it by the
/// quadratic B-spline of its distance from their centres, so that H has derivatives. Of ten
/// criteria of volumes of moving heads it told motion best (docs/adr/0095, and Sisniega et al.,
/// Phys. Med. Biol. 62 (2017) 3712, who compare entropies with others).
///
/// `volume` [z][y][x]; `counted`, as many, is not 0 where a voxel counts. `slopes` becomes dH/df of
/// every voxel. The same bits for any number of threads.
double HistogramEntropy(HostView3<const float> volume, std::span<const uint8_t> counted,
                        const HistogramBins& bins, ThreadPool& threads, HostView3<float> slopes);

}  // namespace isocenter::recon
