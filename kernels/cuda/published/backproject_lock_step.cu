// The ray-driven back-projection of Thompson & Lionheart (MIMS EPrint 2016.48, 2014): a block for
// each detector column, a thread for each of its rays; all of them go through the same columns of
// voxels in lock step and add to one in shared memory, which then is added to the volume. Crossings
// come in a table that the host makes for each view and copies beside the device's work on the view
// before; or they are made once for all views and stay on the device, as the paper does "in
// practice".
//
// The paper does not say how blocks keep out of each other's way, which meet in columns of voxels:
// here they add atomically, and so do rays that meet in a voxel. Sums come in any order.
#include <algorithm>

#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/device/view_batches.h"
#include "kernels/cuda/fdk/backproject_common.cuh"
#include "kernels/cuda/projectors/methods.h"
#include "kernels/cuda/projectors/siddon/ray_lengths.h"
#include "kernels/cuda/published/lock_step_table.h"
#include "kernels/cuda/published/methods.h"

namespace isocenter::cuda {
namespace {

constexpr int kWarp = 32, kMostThreads = 1024;

// Rays along z: at w = 1 + t, in voxels from the grid's lowest face, ray (u, v) is at z + t·d, both
// affine in the pixel's distance from the detector's middle.
struct RaysAlongZ {
  double z, z_column, z_row;
  double d, d_column, d_row;
};

struct Table {
  const LockStep* steps;
  const int32_t* counts;
  int most;
};

__global__ __launch_bounds__(kMostThreads) void LockStepKernel(
    const __grid_constant__ RaysAlongZ rays, Table table, const float* scaled, Extent e,
    float* columns) {
  extern __shared__ float voxels[];  // of the column that the block is in
  for (int z = threadIdx.x; z < e.nz; z += blockDim.x) voxels[z] = 0;
  __syncthreads();
  const double u = blockIdx.x + 0.5 - 0.5 * e.columns;
  const auto z_of = [&](int row) {
    return rays.z + u * rays.z_column + (row + 0.5 - 0.5 * e.rows) * rays.z_row;
  };
  const auto d_of = [&](int row) {
    return rays.d + u * rays.d_column + (row + 0.5 - 0.5 * e.rows) * rays.d_row;
  };
  const float first_z = static_cast<float>(z_of(0)), first_d = static_cast<float>(d_of(0));
  const float last_z = static_cast<float>(z_of(e.rows - 1));
  const float last_d = static_cast<float>(d_of(e.rows - 1));
  const LockStep* const steps = table.steps + static_cast<int64_t>(blockIdx.x) * table.most;
  const int count = table.counts[blockIdx.x];
  for (int i = 0; i < count; ++i) {
    const LockStep step = steps[i];
    const float length = step.to - step.from;
    for (int row = threadIdx.x; row < e.rows; row += blockDim.x) {
      const float z = static_cast<float>(z_of(row)), d = static_cast<float>(d_of(row));
      const float lower = fminf(fmaf(step.from, d, z), fmaf(step.to, d, z));
      const float whole = floorf(lower);
      const float value = scaled[static_cast<int64_t>(row) * e.columns + blockIdx.x];
      // The part in the lower of the two voxels; what is left, perhaps nothing, is in the upper.
      const float in_lower = fminf((whole + 1 - lower) / fmaxf(fabsf(d), 1e-20f), length);
      if (whole >= 0 && whole < e.nz) {
        atomicAdd(voxels + static_cast<int>(whole), in_lower * value);
      }
      if (in_lower < length && whole >= -1 && whole < e.nz - 1) {
        atomicAdd(voxels + static_cast<int>(whole) + 1, (length - in_lower) * value);
      }
    }
    __syncthreads();
    // What the outermost rays reach, all others are between.
    const float ends[4] = {fmaf(step.from, first_d, first_z), fmaf(step.to, first_d, first_z),
                           fmaf(step.from, last_d, last_z), fmaf(step.to, last_d, last_z)};
    const float low = fminf(fminf(ends[0], ends[1]), fminf(ends[2], ends[3])) - 1;
    const float high = fmaxf(fmaxf(ends[0], ends[1]), fmaxf(ends[2], ends[3])) + 1;
    const int begin = static_cast<int>(fminf(fmaxf(low, 0.f), e.nz));
    const int end = static_cast<int>(fminf(fmaxf(high + 1, 0.f), e.nz));
    float* const target = columns + static_cast<int64_t>(step.column) * e.nz;
    for (int z = begin + threadIdx.x; z < end; z += blockDim.x) {
      if (voxels[z] != 0) atomicAdd(target + z, voxels[z]);
      voxels[z] = 0;
    }
    __syncthreads();
  }
}

// volume [z][y][x] += columns [y][x][z].
__global__ void AddColumnsKernel(const float* columns, Extent e, float* volume) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= e.nx || y >= e.ny) return;
  const int64_t column = static_cast<int64_t>(y) * e.nx + x;
  const int64_t slice = static_cast<int64_t>(e.ny) * e.nx;
  for (int z = blockIdx.z; z < e.nz; z += gridDim.z) {
    volume[z * slice + column] += columns[column * e.nz + z];
  }
}

// Of every second view: its table on both sides, and when it has come and is no longer read.
struct Slot {
  PinnedBuffer host;
  DeviceBuffer<std::byte> device;
  Event copied, used;
};

int64_t TableBytes(const VolumeGrid& grid, int64_t columns) {
  return columns * (MostLockSteps(grid) * static_cast<int64_t>(sizeof(LockStep)) +
                    static_cast<int64_t>(sizeof(int32_t)));
}

// What tables depend on.
struct TablesOf {
  std::vector<ProjectionMatrix> matrices;
  VolumeGrid grid;
  Shape3 shape;
  friend bool operator==(const TablesOf&, const TablesOf&) = default;
};

class BackprojectLockStep final : public ops::MatchedBackproject {
 public:
  BackprojectLockStep(CudaSession& session, std::unique_ptr<ops::MatchedBackproject> other,
                      LockStepTables tables)
      : session_(session), other_(std::move(other)), tables_(tables) {}

  absl::Status DoRun(std::span<const ProjectionMatrix> matrices,
                     const ops::ProjectionStack& projections, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(projections));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const VolumeGrid& grid = target->grid();
    const Shape3& shape = stack->shape();
    const std::vector<ProjectionMatrix> indexed = IndexedMatrices(matrices, grid);
    if (!Serves(indexed, grid, shape)) return other_->Run(matrices, projections, volume);
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const Extent e = ExtentOf(grid, shape);
    ISO_RETURN_IF_ERROR(columns_.Reserve(session_.memory(), grid.voxels()));
    ISO_RETURN_IF_ERROR(scaled_.Reserve(session_.memory(), shape.middle * shape.fast));
    ISO_RETURN_IF_CUDA_ERROR(
        cudaMemsetAsync(columns_.data(), 0, grid.voxels() * sizeof(float), session_.stream()));
    if (tables_ == LockStepTables::kStored) ISO_RETURN_IF_ERROR(Store(indexed, grid, shape));
    for (size_t view = 0; view < indexed.size(); ++view) {
      const float* const pixels =
          stack->data() + static_cast<int64_t>(view) * shape.middle * shape.fast;
      ISO_RETURN_IF_ERROR(AddView(indexed[view], grid, shape, view, pixels));
    }
    const dim3 block(32, 8), blocks((e.nx + 31) / 32, (e.ny + 7) / 8, std::min(e.nz, 64));
    AddColumnsKernel<<<blocks, block, 0, session_.stream()>>>(columns_.data(), e, target->data());
    return ToStatus(cudaGetLastError(), "AddColumnsKernel");
  }

 private:
  // Whether all views have upright columns and sources that float32 serves.
  static bool Serves(const std::vector<ProjectionMatrix>& indexed, const VolumeGrid& grid,
                     const Shape3& stack) {
    for (const ViewBatch& batch : BoxBatchesOf(indexed, grid, kMaxViews, kLeastDepth)) {
      if (batch.near) return false;
    }
    return !indexed.empty() && std::ranges::all_of(indexed, [&](const ProjectionMatrix& matrix) {
      return ColumnsShareCrossings(Centered(matrix, grid, stack), grid, stack);
    });
  }

  absl::StatusOr<Slot*> SlotFor(size_t view, int64_t host_bytes, int64_t device_bytes) {
    if (slots_.empty()) {
      for (int i = 0; i < 2; ++i) {
        ISO_ASSIGN_OR_RETURN(Event copied, Event::Create(cudaEventDisableTiming));
        ISO_ASSIGN_OR_RETURN(Event used, Event::Create(cudaEventDisableTiming));
        slots_.push_back({{}, {}, std::move(copied), std::move(used)});
      }
    }
    Slot& slot = slots_[view % slots_.size()];
    // The host writes it again when its last copy has left; events that were never recorded are
    // over.
    ISO_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(slot.copied.get()));
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session_.upload_stream(), slot.used.get()));
    if (slot.device.count() < device_bytes) {
      ISO_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(slot.used.get()));
    }
    ISO_RETURN_IF_ERROR(slot.host.Reserve(host_bytes));
    if (device_bytes > 0) {
      ISO_RETURN_IF_ERROR(slot.device.Reserve(session_.memory(), device_bytes));
    }
    return &slot;
  }

  // Makes a view's table on the host and starts its copy.
  absl::Status CopyTable(const ProjectionMatrix& indexed, const VolumeGrid& grid,
                         const Shape3& shape, const Slot& slot, std::byte* to) {
    const int64_t most = MostLockSteps(grid);
    MakeLockSteps(
        RaysOf(Centered(indexed, grid, shape)), grid, shape,
        {reinterpret_cast<LockStep*>(slot.host.data()), static_cast<size_t>(shape.fast * most)},
        {reinterpret_cast<int32_t*>(slot.host.data() + CountsAt(grid, shape)),
         static_cast<size_t>(shape.fast)});
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to, slot.host.data(), TableBytes(grid, shape.fast),
                                             cudaMemcpyHostToDevice, session_.upload_stream()));
    return ToStatus(cudaEventRecord(slot.copied.get(), session_.upload_stream()),
                    "cudaEventRecord");
  }

  // The tables of all views, unless they are there.
  absl::Status Store(const std::vector<ProjectionMatrix>& indexed, const VolumeGrid& grid,
                     const Shape3& shape) {
    const TablesOf wanted{indexed, grid, shape};
    if (stored_of_ == wanted) return absl::OkStatus();
    stored_of_ = {};
    const int64_t bytes = TableBytes(grid, shape.fast);
    // What the last call left may still be read.
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamSynchronize(session_.stream()));
    ISO_RETURN_IF_ERROR(
        stored_.Reserve(session_.memory(), bytes * static_cast<int64_t>(indexed.size())));
    for (size_t view = 0; view < indexed.size(); ++view) {
      ISO_ASSIGN_OR_RETURN(Slot * slot, SlotFor(view, bytes, 0));
      ISO_RETURN_IF_ERROR(CopyTable(indexed[view], grid, shape, *slot,
                                    stored_.data() + static_cast<int64_t>(view) * bytes));
      ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session_.stream(), slot->copied.get()));
    }
    stored_of_ = wanted;
    return absl::OkStatus();
  }

  static int64_t CountsAt(const VolumeGrid& grid, const Shape3& shape) {
    return shape.fast * MostLockSteps(grid) * static_cast<int64_t>(sizeof(LockStep));
  }

  absl::Status AddView(const ProjectionMatrix& indexed, const VolumeGrid& grid, const Shape3& shape,
                       size_t view, const float* pixels) {
    const int64_t bytes = TableBytes(grid, shape.fast);
    if (tables_ == LockStepTables::kStored) {
      return Launch(indexed, grid, shape, stored_.data() + static_cast<int64_t>(view) * bytes,
                    pixels);
    }
    ISO_ASSIGN_OR_RETURN(Slot * slot, SlotFor(view, bytes, bytes));
    ISO_RETURN_IF_ERROR(CopyTable(indexed, grid, shape, *slot, slot->device.data()));
    ISO_RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(session_.stream(), slot->copied.get()));
    ISO_RETURN_IF_ERROR(Launch(indexed, grid, shape, slot->device.data(), pixels));
    return ToStatus(cudaEventRecord(slot->used.get(), session_.stream()), "cudaEventRecord");
  }

  absl::Status Launch(const ProjectionMatrix& indexed, const VolumeGrid& grid, const Shape3& shape,
                      const std::byte* tables, const float* pixels) {
    const Rays rays = RaysOf(Centered(indexed, grid, shape));
    const Rays lengths = RaysOf(indexed);
    ISO_RETURN_IF_ERROR(ScaleByRayLength({&lengths, 1}, grid.spacing, shape, pixels, scaled_.data(),
                                         PlainLayout(shape), session_.stream()));
    const RaysAlongZ along_z{rays.source.z + rays.base.z + 0.5 * grid.nz,
                             rays.per_column.z,
                             rays.per_row.z,
                             rays.base.z,
                             rays.per_column.z,
                             rays.per_row.z};
    const Table table{reinterpret_cast<const LockStep*>(tables),
                      reinterpret_cast<const int32_t*>(tables + CountsAt(grid, shape)),
                      static_cast<int>(MostLockSteps(grid))};
    const int threads =
        std::min<int>(kMostThreads, static_cast<int>((shape.middle + kWarp - 1) / kWarp * kWarp));
    LockStepKernel<<<static_cast<unsigned>(shape.fast), threads, grid.nz * sizeof(float),
                     session_.stream()>>>(along_z, table, scaled_.data(), ExtentOf(grid, shape),
                                          columns_.data());
    return ToStatus(cudaGetLastError(), "LockStepKernel");
  }

  CudaSession& session_;
  const std::unique_ptr<ops::MatchedBackproject> other_;  // for views that it does not serve
  const LockStepTables tables_;
  DeviceBuffer<float> columns_, scaled_;
  std::vector<Slot> slots_;
  DeviceBuffer<std::byte> stored_;
  TablesOf stored_of_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::MatchedBackproject>> NewBackprojectLockStep(
    CudaSession& session, LockStepTables tables) {
  ISO_ASSIGN_OR_RETURN(auto other, NewBackprojectSiddon(session));
  return std::make_unique<BackprojectLockStep>(session, std::move(other), tables);
}

int64_t BackprojectLockStepBytes(LockStepTables tables, const ops::Extents& extents) {
  const Shape3& stack = extents.stack;
  const int64_t views = tables == LockStepTables::kStored ? stack.slow : 2;
  return BackprojectSiddonBytes(extents) + views * TableBytes(extents.grid, stack.fast) +
         (extents.grid.voxels() + stack.middle * stack.fast) * int64_t{sizeof(float)};
}

}  // namespace isocenter::cuda
