#include "kernels/recon/slabs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"
#include "kernels/recon/preview.h"
#include "kernels/recon/slab_turns.h"

namespace isocenter::recon {
namespace {

// A share that is downloaded while it is computed is cut into at least this many slabs: the last
// one's download is all that is left at the end. Smaller slabs than this cost more than they hide.
constexpr int kSlabsOfShare = 8;
constexpr int64_t kLeastSlabBytes = int64_t{128} << 20;
// But for those that have the last turns: they are few.
constexpr int64_t kLeastLastBytes = int64_t{16} << 20;

constexpr int RoundUp(int value, int step) { return (value + step - 1) / step * step; }

// Appends a run of slices in runs of at most `most`.
void Cut(const Slab& run, int most, std::vector<Slab>& slabs) {
  for (int at = 0; at < run.slices; at += most) {
    slabs.push_back({run.device, run.first_slice + at, std::min(most, run.slices - at)});
  }
}

// The memory of one device and what a job wants of it.
struct Need {
  const ops::Device* device;
  const Work* work;
  Slab share;
  MemoryParts always;         // stacks and workspace of a chunk, and the preview
  int64_t projections_bytes;  // all filtered projections; those of a chunk are counted in `always`

  int64_t limit() const { return device->limits().memory_bytes; }
  int64_t always_bytes() const { return TotalBytes(always); }
  int64_t VolumeBytes(int slices) const {
    return device->VolumeBytes(SlicesOf(work->grid, share.first_slice, slices));
  }
  // Of slabs of so many slices that have their turns.
  int64_t SlabsBytes(int slices) const {
    std::vector<Slab> slabs;
    Cut(share, slices, slabs);
    int64_t bytes = 0;
    for (const Slab& slab : SlabsInMemory(Order::kSlabsFirst, slabs)) {
      bytes += VolumeBytes(slab.slices);
    }
    return bytes;
  }
  int OverlapSlices() const {
    const int64_t parts =
        std::clamp<int64_t>(VolumeBytes(share.slices) / kLeastSlabBytes, 1, kSlabsOfShare);
    const int slices = static_cast<int>((share.slices + parts - 1) / parts);
    return std::min(RoundUp(slices, device->traits().slab_slices), share.slices);
  }
  // The first turn of two: what of the volume is worked on while frames are uploaded is enough for
  // the device, and rows that slabs share are converted but once.
  int HalfSlices() const {
    return std::min(RoundUp((share.slices + 1) / 2, device->traits().slab_slices), share.slices);
  }
  // Of a slab that is no smaller than `bytes`.
  int LeastSlices(int64_t bytes) const {
    const int step = device->traits().slab_slices;
    return std::max(step, RoundUp(static_cast<int>(bytes / VolumeBytes(1)), step));
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
int64_t StacksBytes(const ops::Device& device, const Shape3& views, const Work& work) {
  return device.ProjectionStackBytes(views, ops::StackUse::kLineIntegrals) +
         device.ProjectionStackBytes(views, ops::StackUse::kProjections) +
         work.workspace_bytes(device, {.stack = views, .grid = work.grid});
}

// At most, with stacks of one view where slabs may be cropped to other rows than the planes see.
int64_t PreviewBytes(const ops::Device& device, const Work& work) {
  const int64_t planes = PreviewPlanes::Bytes(work.grid, device);
  const Shape3 view{1, work.chunk.middle, work.chunk.fast};
  return device.traits().own_memory ? planes + StacksBytes(device, view, work) : planes;
}

absl::Status TooLarge(const VolumeGrid& grid, int64_t bytes, int64_t limit) {
  return absl::ResourceExhaustedError(absl::StrCat("a volume of ", grid.nx, "x", grid.ny, "x",
                                                   grid.nz, " needs ", BytesText(bytes),
                                                   " of memory; the limit is ", BytesText(limit)));
}

// One device's division.
absl::StatusOr<Division> Divide(const Need& need) {
  const int64_t always = need.always_bytes();
  const int64_t resident = need.VolumeBytes(need.share.slices);
  const auto with_slabs = [&](Order order, bool keep, int slices) {
    Division division{.order = order, .keep_projections = keep, .parts = need.always};
    if (keep) division.parts.push_back({"filtered projections that stay", need.projections_bytes});
    division.parts.push_back(
        {"slabs", order == Order::kChunksFirst ? resident : need.SlabsBytes(slices)});
    division.peak_bytes = TotalBytes(division.parts);
    Cut(need.share, slices, division.slabs);
    // Where frames come again for each slab, another one costs more than it hides.
    if (keep) {
      CutLastTurn(need.LeastSlices(kLeastLastBytes), division.slabs);
    } else if (order == Order::kChunksFirst && need.device->traits().own_memory) {
      CutLastTurn(need.LeastSlices(kLeastSlabBytes), division.slabs);
    }
    return division;
  };
  if (!need.device->traits().own_memory) {
    if (always + resident > need.limit()) {
      return TooLarge(need.work->grid, always + resident, need.limit());
    }
    return with_slabs(Order::kChunksFirst, false, need.share.slices);
  }
  const int overlap = need.OverlapSlices();
  const int64_t kept = always + need.projections_bytes;
  if (need.work->arrival == Arrival::kComplete && kept + need.SlabsBytes(overlap) <= need.limit()) {
    const int half = std::min(need.HalfSlices(), need.LargestSlab(need.limit() - kept));
    return with_slabs(Order::kSlabsFirst, true, std::max(overlap, half));
  }
  if (always + resident <= need.limit()) return with_slabs(Order::kChunksFirst, false, overlap);
  // Slabs of a sixteenth of the memory and more are worth the projections' staying.
  const int beside = need.LargestSlab(need.limit() - kept);
  if (beside > 0 && 16 * need.VolumeBytes(beside) >= need.limit()) {
    return with_slabs(Order::kSlabsFirst, true, std::min(beside, overlap));
  }
  const int largest = need.LargestSlab(need.limit() - always);
  if (largest == 0) {
    return TooLarge(need.work->grid, always + need.SlabsBytes(1), need.limit());
  }
  return with_slabs(Order::kSlabsFirst, false, largest);
}

}  // namespace

VolumeGrid SlicesOf(const VolumeGrid& grid, int first_slice, int slices) {
  VolumeGrid part = grid;
  part.origin = grid.VoxelToWorld(0, 0, first_slice);
  part.nz = slices;
  return part;
}

std::vector<Slab> DivideSlices(int slices, int devices, int step, int most) {
  const int share = (slices + devices - 1) / devices;
  const int each = devices > 1 ? RoundUp(share, step) : share;
  std::vector<Slab> slabs;
  for (int device = 0; device * each < slices; ++device) {
    const int first = device * each;
    Cut({device, first, std::min(each, slices - first)}, most, slabs);
  }
  return slabs;
}

std::vector<Slab> SlabsInMemory(Order order, std::span<const Slab> slabs) {
  if (order == Order::kChunksFirst) return {slabs.begin(), slabs.end()};
  return std::vector<Slab>(std::min<size_t>(2, slabs.size()),
                           *std::ranges::max_element(slabs, {}, &Slab::slices));
}

absl::StatusOr<Division> DivideVolume(const Work& work,
                                      std::span<const ops::Device* const> devices) {
  Division all;
  const int step = devices[0]->traits().slab_slices;
  for (const Slab& share :
       DivideSlices(work.grid.nz, static_cast<int>(devices.size()), step, work.grid.nz)) {
    const ops::Device& device = *devices[share.device];
    const Shape3 views{work.views, work.chunk.middle, work.chunk.fast};
    ISO_ASSIGN_OR_RETURN(
        Division division,
        Divide(
            {.device = &device,
             .work = &work,
             .share = share,
             .always = {{"stacks and operations of a chunk", StacksBytes(device, work.chunk, work)},
                        {"corrections of a chunk", work.corrections_bytes},
                        {"preview", PreviewBytes(device, work)}},
             .projections_bytes =
                 device.ProjectionStackBytes(views, ops::StackUse::kProjections)}));
    // Devices of one kind with one limit divide alike; the smallest share may do with less.
    if (share.device == 0) {
      all.order = division.order;
      all.keep_projections = division.keep_projections;
    }
    if (division.peak_bytes > all.peak_bytes) {
      all.peak_bytes = division.peak_bytes;
      all.parts = std::move(division.parts);
    }
    all.slabs.insert(all.slabs.end(), division.slabs.begin(), division.slabs.end());
  }
  return all;
}

}  // namespace isocenter::recon
