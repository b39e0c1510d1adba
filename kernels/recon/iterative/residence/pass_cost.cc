#include "kernels/recon/iterative/residence/pass_cost.h"

#include <algorithm>

#include "kernels/recon/iterative/subsets.h"

namespace isocenter::recon {
namespace {

// Of an H100 (docs/performance.md): R512 fast.
constexpr double kForwardSeconds = 2.4e-12, kBackSeconds = 1.0e-12;  // a voxel in a view
constexpr double kLinkSeconds = 1 / 50e9;                            // a byte, in each direction
// The volume is copied for the forward projection, and read and written by the back-projection and
// by arithmetic.
constexpr double kVoxelSeconds = 60 / 2.5e12;  // a voxel in a chunk
// Launches, and the rays that are set up for every piece.
constexpr double kPieceSeconds = 1e-4, kRaySeconds = 1e-11;
// What copies that are hidden cost by the way: nothing overlaps entirely.
constexpr double kHiddenShare = 0.1;

// Of the device that has most.
struct Share {
  double voxels = 0, pieces = 0;
};

Share LargestShare(const RefinementPlan& plan) {
  std::vector<Share> shares(plan.devices());
  for (const Piece& piece : plan.pieces) {
    shares[piece.device].voxels += static_cast<double>(piece.grid.voxels());
    ++shares[piece.device].pieces;
  }
  return *std::ranges::max_element(shares, {}, &Share::voxels);
}

}  // namespace

double PassCost(const RefinementPlan& plan, const MethodNeeds& needs) {
  const Share share = LargestShare(plan);
  const double views = plan.views(), subsets = static_cast<double>(plan.subsets.size());
  const double chunks = static_cast<double>(ChunksOf(plan.subsets, plan.chunk_views).size());
  const Detector& detector = plan.acquisition.detector;
  const double pixels = static_cast<double>(detector.rows) * detector.columns;
  // Column sums that are not kept are a back-projection more.
  const double backs = needs.column_sums ? 2 - plan.kept_column_sums / subsets : 1;
  const double work = views * share.voxels * (kForwardSeconds + backs * kBackSeconds) +
                      chunks * share.voxels * kVoxelSeconds +
                      chunks * share.pieces * kPieceSeconds +
                      views * share.pieces * pixels * kRaySeconds;
  double floats = 0;  // to the device; what comes back is no more
  if (plan.projections_in_host) floats += (1 + needs.projections) * views * pixels;
  if (plan.pieces_in_host) {
    // All of x for each chunk, the sums for each chunk but a subset's last, and everything for each
    // update.
    floats += share.voxels * (chunks + 2 * (chunks - subsets) + subsets * (1 + needs.volumes));
  }
  const double copies = floats * static_cast<double>(sizeof(float)) * kLinkSeconds;
  return std::max(work, copies) + kHiddenShare * std::min(work, copies);
}

}  // namespace isocenter::recon
