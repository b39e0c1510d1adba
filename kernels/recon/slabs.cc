#include "kernels/recon/slabs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/preview.h"

namespace isocenter::recon {
namespace {

// A share that is downloaded while it is computed is cut into this many slabs: the last one's
// download is all that is left at the end. Smaller slabs than this do not fill a device.
constexpr int kSlabsOfShare = 8;
constexpr int64_t kLeastSlabBytes = int64_t{128} << 20;

constexpr int RoundUp(int value, int step) { return (value + step - 1) / step * step; }

struct Share {
  int first_slice, slices;
};

// Evenly, in multiples of what the devices like; with few slices the last devices get none.
std::vector<Share> SharesOf(int slices, std::span<const ops::Device* const> devices) {
  const int count = static_cast<int>(devices.size());
  const int step = count > 1 ? devices[0]->traits().slab_slices : 1;
  const int each = RoundUp((slices + count - 1) / count, step);
  std::vector<Share> shares;
  for (int first = 0; first < slices; first += each) {
    shares.push_back({first, std::min(each, slices - first)});
  }
  return shares;
}

// The memory of one device and what a job wants of it.
struct Need {
  const ops::Device* device;
  const VolumeGrid* grid;
  Share share;
  int64_t chunk_bytes;        // stacks and workspace of a chunk, and the preview
  int64_t projections_bytes;  // all filtered projections, less those of a chunk

  int64_t limit() const { return device->limits().memory_bytes; }
  int64_t VolumeBytes(int slices) const {
    return device->VolumeBytes(SlicesOf(*grid, share.first_slice, slices));
  }
  // Two slabs in memory: one is computed, one downloaded.
  int64_t SlabsBytes(int slices) const {
    return slices < share.slices ? 2 * VolumeBytes(slices) : VolumeBytes(slices);
  }
  int OverlapSlices() const {
    const int64_t parts =
        std::clamp<int64_t>(VolumeBytes(share.slices) / kLeastSlabBytes, 1, kSlabsOfShare);
    const int slices = static_cast<int>((share.slices + parts - 1) / parts);
    return std::min(RoundUp(slices, device->traits().slab_slices), share.slices);
  }
  // The most slices of which two slabs fit into `bytes`; 0: none do.
  int LargestSlab(int64_t bytes) const {
    int low = 0, high = share.slices;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (SlabsBytes(middle) <= bytes) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const int step = device->traits().slab_slices;
    return low < share.slices && low > step ? low / step * step : low;
  }
};

// Stacks of some views and what operations on them take.
int64_t StacksBytes(const ops::Device& device, const Shape3& views) {
  return device.ProjectionStackBytes(views, ops::StackUse::kLineIntegrals) +
         device.ProjectionStackBytes(views, ops::StackUse::kProjections) +
         device.WorkspaceBytes(views);
}

// At most, with stacks of one view where slabs may be cropped to other rows than the planes see.
int64_t PreviewBytes(const ops::Device& device, const VolumeGrid& grid, int rows, int columns) {
  const int64_t planes = PreviewPlanes::Bytes(grid, device);
  return device.traits().own_memory ? planes + StacksBytes(device, {1, rows, columns}) : planes;
}

absl::Status TooLarge(const VolumeGrid& grid, int64_t bytes, int64_t limit) {
  return absl::ResourceExhaustedError(absl::StrCat("a volume of ", grid.nx, "x", grid.ny, "x",
                                                   grid.nz, " needs ", bytes,
                                                   " bytes of memory; the limit is ", limit));
}

// One device's division; `device` 0 in its slabs.
absl::StatusOr<Division> Divide(const Need& need, Arrival arrival) {
  const int64_t resident = need.chunk_bytes + need.VolumeBytes(need.share.slices);
  const auto with_slabs = [&](Order order, bool keep, int slices, int64_t bytes) {
    Division division{.order = order, .keep_projections = keep, .peak_bytes = bytes};
    for (int at = 0; at < need.share.slices; at += slices) {
      division.slabs.push_back({.first_slice = need.share.first_slice + at,
                                .slices = std::min(slices, need.share.slices - at)});
    }
    return division;
  };
  if (!need.device->traits().own_memory) {
    if (resident > need.limit()) return TooLarge(*need.grid, resident, need.limit());
    return with_slabs(Order::kChunksFirst, false, need.share.slices, resident);
  }
  const int overlap = need.OverlapSlices();
  const int64_t kept = need.chunk_bytes + need.projections_bytes;
  if (arrival == Arrival::kComplete && kept + need.SlabsBytes(overlap) <= need.limit()) {
    return with_slabs(Order::kSlabsFirst, true, overlap, kept + need.SlabsBytes(overlap));
  }
  if (resident <= need.limit()) {
    return with_slabs(Order::kChunksFirst, false, overlap, resident);
  }
  // Slabs of a sixteenth of the memory and more are worth the projections' staying.
  const int beside = need.LargestSlab(need.limit() - kept);
  if (beside > 0 && 16 * need.VolumeBytes(beside) >= need.limit()) {
    const int slices = std::min(beside, overlap);
    return with_slabs(Order::kSlabsFirst, true, slices, kept + need.SlabsBytes(slices));
  }
  const int largest = need.LargestSlab(need.limit() - need.chunk_bytes);
  if (largest == 0) {
    return TooLarge(*need.grid, need.chunk_bytes + need.SlabsBytes(1), need.limit());
  }
  return with_slabs(Order::kSlabsFirst, false, largest,
                    need.chunk_bytes + need.SlabsBytes(largest));
}

}  // namespace

VolumeGrid SlicesOf(const VolumeGrid& grid, int first_slice, int slices) {
  VolumeGrid part = grid;
  part.origin = grid.VoxelToWorld(0, 0, first_slice);
  part.nz = slices;
  return part;
}

absl::StatusOr<Division> DivideVolume(const VolumeGrid& grid, int views, int chunk_views, int rows,
                                      int columns, Arrival arrival,
                                      std::span<const ops::Device* const> devices) {
  const Shape3 chunk{chunk_views, rows, columns};
  const std::vector<Share> shares = SharesOf(grid.nz, devices);
  std::vector<Division> divisions;
  for (size_t i = 0; i < shares.size(); ++i) {
    const ops::Device& device = *devices[i];
    Need need{.device = &device, .grid = &grid, .share = shares[i]};
    need.chunk_bytes = StacksBytes(device, chunk) + PreviewBytes(device, grid, rows, columns);
    need.projections_bytes =
        device.ProjectionStackBytes({views, rows, columns}, ops::StackUse::kProjections);
    ISO_ASSIGN_OR_RETURN(Division division, Divide(need, arrival));
    divisions.push_back(std::move(division));
  }
  // Devices of one kind with one limit divide alike; the smallest share may do with less.
  Division all{.order = divisions[0].order, .keep_projections = divisions[0].keep_projections};
  for (size_t i = 0; i < divisions.size(); ++i) {
    all.peak_bytes = std::max(all.peak_bytes, divisions[i].peak_bytes);
    for (Slab slab : divisions[i].slabs) {
      slab.device = static_cast<int>(i);
      all.slabs.push_back(slab);
    }
  }
  return all;
}

}  // namespace isocenter::recon
