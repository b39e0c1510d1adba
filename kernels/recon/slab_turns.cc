#include "kernels/recon/slab_turns.h"

namespace isocenter::recon {

size_t SlabOfTurn(std::span<const Slab> slabs, size_t turn) {
  const Slab &first = slabs.front(), &last = slabs.back();
  const int middle = (first.first_slice + last.first_slice + last.slices) / 2;
  size_t begin = 0;
  while (slabs[begin].first_slice + slabs[begin].slices <= middle) ++begin;
  return (begin + turn) % slabs.size();
}

void CutLastTurn(int least, std::vector<Slab>& slabs) {
  if (slabs.size() < 2) return;
  for (;;) {
    const size_t last = SlabOfTurn(slabs, slabs.size() - 1);
    const Slab whole = slabs[last];
    const int half = (whole.slices + 2 * least - 1) / (2 * least) * least;
    if (half >= whole.slices) return;
    slabs[last].slices = half;
    slabs.insert(slabs.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                 {whole.device, whole.first_slice + half, whole.slices - half});
    if (SlabOfTurn(slabs, slabs.size() - 1) != last + 1) return;
  }
}

}  // namespace isocenter::recon
