#include "kernels/recon/iterative/plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/linear_operators.h"
#include "kernels/recon/iterative/memory.h"
#include "kernels/recon/iterative/subsets.h"
#include "kernels/recon/iterative/surroundings.h"

namespace isocenter::recon {
namespace {

void AddPieces(const VolumeGrid& grid, bool surroundings, int devices, int step, int most_slices,
               std::vector<Piece>& pieces) {
  for (const Slab& slab : DivideSlices(grid.nz, devices, step, most_slices)) {
    pieces.push_back({.device = slab.device,
                      .grid = SlicesOf(grid, slab.first_slice, slab.slices),
                      .first_slice = slab.first_slice,
                      .surroundings = surroundings});
  }
}

// The planned matrices may be replaced by measured ones when the frames come.
constexpr int RowMargin(int rows) { return 2 + rows / 32; }

RowRange Hull(RowRange a, RowRange b) {
  if (a.count == 0) return b;
  const int first = std::min(a.first, b.first);
  return {first, std::max(a.end(), b.end()) - first};
}

RowRange RowsOf(const RefinementPlan& plan, int device) {
  const int rows = plan.acquisition.detector.rows;
  RowRange seen;
  for (const Piece& piece : plan.pieces) {
    if (piece.device != device) continue;
    seen = Hull(seen, RowsOfPiece(plan.acquisition.trajectory, piece.grid, rows));
  }
  const int first = std::max(seen.first - RowMargin(rows), 0);
  return {first, std::min(seen.end() + RowMargin(rows), rows) - first};
}

// Each row that any device sees belongs to one of those that do: from the first row on, whoever
// sees it and sees most of what follows.
void ShareRows(int rows, std::vector<DeviceRows>& shares) {
  for (int row = 0; row < rows;) {
    DeviceRows* owner = nullptr;
    int next = rows;  // that anybody sees
    for (DeviceRows& share : shares) {
      if (share.seen.first > row) next = std::min(next, share.seen.first);
      if (share.seen.first > row || share.seen.end() <= row) continue;
      if (owner == nullptr || share.seen.end() > owner->seen.end()) owner = &share;
    }
    if (owner == nullptr) {
      row = next;
    } else {
      owner->owned = {row, owner->seen.end() - row};
      row = owner->seen.end();
    }
  }
}

// One way of keeping the vectors.
struct Residence {
  int kept_column_sums = 0;
  bool projections_in_host = false;
  int piece_slices = 0;  // 0: a device's share is one piece, in its memory
  int chunk_views = 0;
};

void Arrange(const Residence& residence, const VolumeGrid* around,
             std::span<const ops::Device* const> devices, RefinementPlan& plan) {
  plan.kept_column_sums = residence.kept_column_sums;
  plan.projections_in_host = residence.projections_in_host;
  plan.pieces_in_host = residence.piece_slices > 0;
  plan.chunk_views = residence.chunk_views;
  plan.pieces.clear();
  const int count = static_cast<int>(devices.size());
  const int step = devices[0]->traits().slab_slices;
  const int slices = plan.pieces_in_host ? residence.piece_slices : plan.grid.nz;
  AddPieces(plan.grid, false, count, step, slices, plan.pieces);
  const int used = plan.pieces.back().device + 1;
  if (around != nullptr) {
    const int coarse = plan.pieces_in_host ? residence.piece_slices : around->nz;
    AddPieces(*around, true, used, 1, coarse, plan.pieces);
  }
  plan.rows.assign(used, {});
  for (int device = 0; device < used; ++device) plan.rows[device].seen = RowsOf(plan, device);
  ShareRows(plan.acquisition.detector.rows, plan.rows);
}

// In how many steps fewer column sums are kept.
constexpr int kMostShares = 32;

// From what needs most memory and least time to the opposite.
std::vector<Residence> Residences(const RefinementPlan& plan, const ops::DeviceTraits& traits,
                                  int devices) {
  size_t subset = 0;
  for (const auto& views : plan.subsets) subset = std::max(subset, views.size());
  const int most = static_cast<int>(subset), chunk = std::min(traits.chunk_views, most);
  // All column sums, or as many as there is room for.
  std::vector<Residence> all;
  const int subsets = static_cast<int>(plan.subsets.size());
  for (int kept = subsets; kept > 0; kept -= (subsets + kMostShares - 1) / kMostShares) {
    all.push_back({.kept_column_sums = kept, .chunk_views = chunk});
  }
  all.push_back({.chunk_views = chunk});
  if (!traits.own_memory) return all;  // host memory is what it has
  all.push_back({.projections_in_host = true, .chunk_views = chunk});
  // Each chunk brings all pieces in: few and large chunks, and pieces as large as there is room.
  // Two of a device's pieces are in its memory at once, so that there are at least three.
  const int share = (plan.grid.nz + devices - 1) / devices;
  for (const int fewest : {8, 1}) {
    for (const bool projections_in_host : {false, true}) {
      for (int views = most; views >= 1; views /= 2) {
        for (int slices = (share + 2) / 3; slices >= fewest; slices /= 2) {
          all.push_back({.projections_in_host = projections_in_host,
                         .piece_slices = slices,
                         .chunk_views = views});
        }
      }
    }
  }
  return all;
}

// Sets what the devices' parts are, of the device that needs most.
absl::Status CountDeviceBytes(const ops::Registry& registry,
                              std::span<const ops::Device* const> devices, RefinementPlan& plan) {
  plan.peak_bytes = 0;
  for (int device = 0; device < plan.devices(); ++device) {
    ISO_ASSIGN_OR_RETURN(MemoryParts parts,
                         DevicePartsOf(plan, device, registry, *devices[device]));
    const int64_t bytes = TotalBytes(parts);
    if (bytes <= plan.peak_bytes) continue;
    plan.peak_bytes = bytes;
    plan.device_parts = std::move(parts);
  }
  return absl::OkStatus();
}

// The first way of keeping the vectors with which they fit.
absl::Status ChooseResidence(const VolumeGrid* around, const ops::Registry& registry,
                             std::span<const ops::Device* const> devices, RefinementPlan& plan) {
  int64_t limit = devices[0]->limits().memory_bytes, least = 0;
  for (const ops::Device* device : devices) limit = std::min(limit, device->limits().memory_bytes);
  const ops::DeviceTraits traits = devices[0]->traits();
  for (const Residence& residence : Residences(plan, traits, static_cast<int>(devices.size()))) {
    // Frames that come between early passes go into projections that are in use.
    if (residence.projections_in_host && !plan.early_frames.empty()) continue;
    Arrange(residence, around, devices, plan);
    ISO_RETURN_IF_ERROR(CountDeviceBytes(registry, devices, plan));
    if (plan.peak_bytes <= limit) return absl::OkStatus();
    least = least == 0 ? plan.peak_bytes : std::min(least, plan.peak_bytes);
  }
  return absl::ResourceExhaustedError(
      absl::StrCat(AlgorithmName(plan.settings.algorithm), " of a volume of ", plan.grid.nx, "x",
                   plan.grid.ny, "x", plan.grid.nz, " needs ", BytesText(least),
                   plan.early_frames.empty() ? "" : ", as it has early passes,",
                   " of memory; the limit is ", BytesText(limit)));
}

absl::Status CheckArguments(const Acquisition& acquisition, const VolumeGrid& grid,
                            const FdkSettings& fdk, const IterativeSettings& settings,
                            std::span<const ops::Device* const> devices) {
  if (devices.empty())
    return absl::InvalidArgumentError("there are no devices; legal is 1 or more");
  ISO_RETURN_IF_ERROR(ValidateAcquisition(acquisition));
  ISO_RETURN_IF_ERROR(ValidateGrid(grid));
  ISO_RETURN_IF_ERROR(ValidateIterativeSettings(settings));
  ISO_RETURN_IF_ERROR(ValidateFdkSettings(fdk));
  const size_t views = acquisition.trajectory.size();
  if (settings.subsets > static_cast<int>(views)) {
    return absl::InvalidArgumentError(absl::StrCat("iterative.subsets is ", settings.subsets,
                                                   "; legal is at most the number of views, ",
                                                   views));
  }
  for (const ops::Device* device : devices) {
    if (device->backend() == devices[0]->backend()) continue;
    return absl::InvalidArgumentError(absl::StrCat("devices of '", devices[0]->backend(), "' and '",
                                                   device->backend(),
                                                   "'; legal is all of one backend"));
  }
  return absl::OkStatus();
}

}  // namespace

RowRange RowsOfPiece(std::span<const ProjectionMatrix> matrices, const VolumeGrid& grid, int rows) {
  VolumeGrid wider = grid;
  wider.nx += 2;
  wider.ny += 2;
  wider.nz += 2;
  wider.origin = grid.VoxelToWorld(-1, -1, -1);
  return RowsSeen(matrices, wider, rows);
}

absl::StatusOr<RefinementPlan> MakeRefinementPlan(const Acquisition& acquisition,
                                                  const VolumeGrid& grid, const FdkSettings& fdk,
                                                  const IterativeSettings& settings,
                                                  const ops::Registry& registry,
                                                  std::span<const ops::Device* const> devices,
                                                  Arrival arrival) {
  ISO_RETURN_IF_ERROR(CheckArguments(acquisition, grid, fdk, settings, devices));
  RefinementPlan plan;
  plan.acquisition = acquisition;
  plan.grid = grid;
  plan.fdk = fdk;
  plan.settings = settings;
  plan.hounsfield = HounsfieldScaleOf(acquisition, fdk);
  IterativeSettings& chosen = plan.settings;
  if (chosen.algorithm == Algorithm::kSart || chosen.subsets == 0) {
    chosen.subsets = DefaultSubsets(chosen.algorithm, plan.views());
  }
  plan.subsets = MakeSubsets(plan.views(), chosen.subsets);
  plan.early_frames = EarlyFrames(plan.views(), chosen.early_passes);
  std::optional<VolumeGrid> around;
  if (chosen.surroundings_factor > 0) {
    ISO_ASSIGN_OR_RETURN(around, SurroundingGrid(grid, chosen.surroundings_factor,
                                                 acquisition.trajectory, acquisition.detector));
  }
  ISO_ASSIGN_OR_RETURN(const LinearMethods methods,
                       LinearMethods::Find(chosen, registry, devices[0]->backend()));
  plan.methods = methods.description;
  plan.limited_arc = FindLimitedArc(acquisition.whole_trajectory(), acquisition.detector);
  if (plan.limited_arc) chosen.warm_start = false;
  if (chosen.warm_start) {
    ISO_ASSIGN_OR_RETURN(plan.warm_start,
                         MakePlan(acquisition, grid, fdk, registry, devices, arrival));
  }
  ISO_RETURN_IF_ERROR(ChooseResidence(around ? &*around : nullptr, registry, devices, plan));
  plan.host_parts = HostPartsOf(plan);
  plan.host_bytes = TotalBytes(plan.host_parts);
  if (plan.warm_start && plan.warm_start->peak_bytes > plan.peak_bytes) {
    plan.device_parts = plan.warm_start->device_parts;
    plan.peak_bytes = plan.warm_start->peak_bytes;
  }
  double voxels = 0;
  for (const Piece& piece : plan.pieces) voxels += static_cast<double>(piece.grid.voxels());
  plan.voxel_updates = 2 * voxels * plan.views();
  return plan;
}

}  // namespace isocenter::recon
