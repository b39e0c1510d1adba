#include "kernels/recon/iterative/residence/residence.h"

#include <algorithm>

#include "kernels/recon/iterative/residence/host_parts.h"

namespace isocenter::recon {
namespace {

int LargestSubset(const RefinementPlan& plan) {
  size_t views = 0;
  for (const auto& subset : plan.subsets) views = std::max(views, subset.size());
  return static_cast<int>(views);
}

// Slices of a share's pieces, from `fewest` pieces on; of runs that the device likes while there
// are such.
std::vector<int> SlicesOfPieces(int share, int fewest, int step) {
  std::vector<int> all;
  const auto add = [&](int pieces) {
    int slices = (share + pieces - 1) / pieces;
    if (slices > step) slices = (slices + step - 1) / step * step;
    // Rounded up, they may be too few.
    if ((share + slices - 1) / slices < fewest) return;
    if (all.empty() || slices < all.back()) all.push_back(slices);
  };
  for (int pieces = fewest; pieces < 2 * share; pieces *= 2) {
    add(pieces);
    add(pieces + pieces / 2);
  }
  return all;
}

// Chunks of at most so many views: subsets as a whole, in halves, in thirds, in quarters...
void AddChunks(const Residence& like, int subset, int most_views, std::vector<Residence>& all) {
  for (const bool projections_in_host : {false, true}) {
    int before = 0;
    for (int parts = 1; before != 1; parts += (parts + 1) / 2) {
      const int views = std::min((subset + parts - 1) / parts, most_views);
      if (views == before) continue;
      Residence& residence = all.emplace_back(like);
      residence.projections_in_host = projections_in_host;
      residence.chunk_views = before = views;
    }
  }
}

}  // namespace

std::vector<Residence> Residences(const RefinementPlan& plan, const ops::DeviceTraits& traits,
                                  int share) {
  const int subset = LargestSubset(plan), chunk = std::min(traits.chunk_views, subset);
  // Host memory is what it has.
  if (!traits.own_memory) return {{.piece_slices = share, .chunk_views = chunk}};
  std::vector<Residence> all;
  for (const int slices : SlicesOfPieces(share, 1, traits.slab_slices)) {
    AddChunks({.piece_slices = slices}, subset, chunk, all);
  }
  // With as many pieces as rooms all of them would be in the device's memory. Each chunk brings all
  // pieces in, so that large ones are worth more than what suits the kernels.
  for (const int slices : SlicesOfPieces(share, VolumeParts::kRooms + 1, traits.slab_slices)) {
    AddChunks({.pieces_in_host = true, .piece_slices = slices}, subset, subset, all);
  }
  return all;
}

bool SubsetsAreChunks(const RefinementPlan& plan) {
  return LargestSubset(plan) <= plan.chunk_views;
}

}  // namespace isocenter::recon
