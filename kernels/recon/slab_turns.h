// The turns of one device's slabs (kernels/recon/slabs.h) where they are worked on one after the
// other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/recon/slabs.h"

namespace isocenter::recon {

/// The index of the slab whose turn is `turn`. From the one in the middle on, and then from the
/// first: the outermost are seen by few views, and would not keep the device busy while the first
/// one waits for uploads and the last for nothing. `slabs` is not empty.
size_t SlabOfTurn(std::span<const Slab> slabs, size_t turn);

/// Halves the slab whose turn is the last, and the half that is then the last again, down to
/// `least` slices: each of them is downloaded while the next one, of half its size, is worked on,
/// which takes longer as a rule, and nothing goes on beside the download of the very last.
void CutLastTurn(int least, std::vector<Slab>& slabs);

}  // namespace isocenter::recon
