#include "kernels/recon/iterative/plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/iterative/linear_operators.h"
#include "kernels/recon/iterative/memory.h"
#include "kernels/recon/iterative/method.h"
#include "kernels/recon/iterative/residence/pass_cost.h"
#include "kernels/recon/iterative/residence/residence.h"
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

// The pieces, at most so many slices each.
void SetPieces(int slices, const VolumeGrid* around, int devices, int step, RefinementPlan& plan) {
  plan.pieces.clear();
  AddPieces(plan.grid, false, devices, step, slices, plan.pieces);
  if (around == nullptr) return;
  AddPieces(*around, true, plan.pieces.back().device + 1, 1, slices, plan.pieces);
}

// The rows, which depend on each device's share alone.
void SetRows(RefinementPlan& plan) {
  int devices = 0;
  for (const Piece& piece : plan.pieces) devices = std::max(devices, piece.device + 1);
  plan.rows.assign(devices, {});
  for (int device = 0; device < devices; ++device) plan.rows[device].seen = RowsOf(plan, device);
  ShareRows(plan.acquisition.detector.rows, plan.rows);
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

bool KeepsAllSums(const RefinementPlan& plan) {
  return !NeedsOf(plan).column_sums ||
         plan.kept_column_sums == static_cast<int>(plan.subsets.size());
}

// Keeps as many column sums as there is room for, none where pieces wait in host memory; even then
// there may be too little room for the rest.
absl::Status KeepColumnSums(int64_t limit, const ops::Registry& registry,
                            std::span<const ops::Device* const> devices, RefinementPlan& plan) {
  const bool may_keep = NeedsOf(plan).column_sums && !plan.pieces_in_host;
  plan.kept_column_sums = may_keep ? static_cast<int>(plan.subsets.size()) : 0;
  ISO_RETURN_IF_ERROR(CountDeviceBytes(registry, devices, plan));
  int fit = 0, too_many = plan.kept_column_sums;
  if (plan.peak_bytes <= limit || too_many == 0) return absl::OkStatus();
  while (too_many - fit > 1) {
    plan.kept_column_sums = (fit + too_many) / 2;
    ISO_RETURN_IF_ERROR(CountDeviceBytes(registry, devices, plan));
    (plan.peak_bytes <= limit ? fit : too_many) = plan.kept_column_sums;
  }
  plan.kept_column_sums = fit;
  return CountDeviceBytes(registry, devices, plan);
}

// The fastest way of keeping the vectors with which they fit.
absl::Status ChooseResidence(const VolumeGrid* around, const ops::Registry& registry,
                             std::span<const ops::Device* const> devices, RefinementPlan& plan) {
  int64_t limit = devices[0]->limits().memory_bytes, least = 0;
  for (const ops::Device* device : devices) limit = std::min(limit, device->limits().memory_bytes);
  const ops::DeviceTraits traits = devices[0]->traits();
  const int count = static_cast<int>(devices.size());
  const auto arrange = [&](const Residence& residence) {
    plan.projections_in_host = residence.projections_in_host;
    plan.pieces_in_host = residence.pieces_in_host;
    plan.chunk_views = residence.chunk_views;
    SetPieces(residence.piece_slices, around, count, traits.slab_slices, plan);
    return KeepColumnSums(limit, registry, devices, plan);
  };
  const int all_slices = around == nullptr ? plan.grid.nz : std::max(plan.grid.nz, around->nz);
  SetPieces(all_slices, around, count, traits.slab_slices, plan);
  SetRows(plan);
  const int share = std::ranges::max_element(plan.pieces, {}, [](const Piece& piece) {
                      return piece.grid.nz;
                    })->grid.nz;
  const std::vector<Residence> all = Residences(plan, traits, share);
  const Residence* best = nullptr;
  double least_cost = 0;
  for (const Residence& residence : all) {
    // Frames that come between early passes go into projections that are in use.
    if (residence.projections_in_host && !plan.early_frames.empty()) continue;
    ISO_RETURN_IF_ERROR(arrange(residence));
    least = least == 0 ? plan.peak_bytes : std::min(least, plan.peak_bytes);
    if (plan.peak_bytes > limit) continue;
    const double cost = PassCost(plan, NeedsOf(plan));
    if (best == nullptr || cost < least_cost) {
      best = &residence;
      least_cost = cost;
    }
    // Nothing is faster than all memory.
    if (&residence == &all.front() && KeepsAllSums(plan)) return absl::OkStatus();
  }
  if (best != nullptr) return arrange(*best);
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
