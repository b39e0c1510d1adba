#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/base/units.h"
#include "kernels/cuda/corrections/medians.cuh"
#include "kernels/cuda/corrections/second_pass_methods.h"
#include "kernels/ops/check.h"

namespace isocenter::cuda {
namespace {

constexpr int kSlicesAtOnce = 8;
constexpr int kWindow = 2 * ops::kRingReach + 1;
constexpr int kWarp = 32, kThreads = 256;

struct Raster {
  int nx, ny;
  double axis_i, axis_j;
  double toward_i, toward_j;  // a ring, in voxels along each axis
  double spacing_x, spacing_y, step_mm;
  int rings, angles;
  const double2* directions;  // [angle]: cosine and sine
  const int* sectors;         // [ring]
};

struct Point {
  double i, j;
};

__device__ Point PointAt(const Raster& raster, int k, int a) {
  const double2 direction = raster.directions[a];
  return {raster.axis_i + k * (raster.toward_i * direction.x),
          raster.axis_j + k * (raster.toward_j * direction.y)};
}

// A thread has one point of one slice. `samples`: [slice][ring][angle].
__global__ void SampleKernel(Raster raster, const float* volume, float* samples) {
  const int a = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y, z = blockIdx.z;
  if (a >= raster.angles) return;
  const Point at = PointAt(raster, k, a);
  const double i = fmin(fmax(at.i, 0.0), raster.nx - 1.0);
  const double j = fmin(fmax(at.j, 0.0), raster.ny - 1.0);
  const int i0 = static_cast<int>(i), j0 = static_cast<int>(j);
  const int i1 = min(i0 + 1, raster.nx - 1), j1 = min(j0 + 1, raster.ny - 1);
  const auto di = static_cast<float>(i - i0), dj = static_cast<float>(j - j0);
  const float* const slice = volume + static_cast<int64_t>(z) * raster.ny * raster.nx;
  const float* const near = slice + static_cast<int64_t>(j0) * raster.nx;
  const float* const far = slice + static_cast<int64_t>(j1) * raster.nx;
  const float before = near[i0] + di * (near[i1] - near[i0]);
  const float behind = far[i0] + di * (far[i1] - far[i0]);
  samples[(static_cast<int64_t>(z) * raster.rings + k) * raster.angles + a] =
      before + dj * (behind - before);
}

// A thread has one point of one slice: what is not the median along its radius; not a number
// beyond the grid.
__global__ void HighPassKernel(Raster raster, const float* samples, float* high) {
  const int a = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y, z = blockIdx.z;
  if (a >= raster.angles) return;
  const float* const slice = samples + static_cast<int64_t>(z) * raster.rings * raster.angles;
  const int opposite = (a + raster.angles / 2) % raster.angles;
  float along[kWindow];
#pragma unroll
  for (int n = 0; n < kWindow; ++n) {
    const int ring = k + n - ops::kRingReach;
    const int64_t row = min(abs(ring), raster.rings - 1);
    along[n] = slice[row * raster.angles + (ring < 0 ? opposite : a)];
  }
  const float own = along[ops::kRingReach];
  const float median = MedianOf(along);
  const Point at = PointAt(raster, k, a);
  const bool inside =
      at.i >= -0.5 && at.j >= -0.5 && at.i <= raster.nx - 0.5 && at.j <= raster.ny - 0.5;
  high[(static_cast<int64_t>(z) * raster.rings + k) * raster.angles + a] =
      inside ? own - median : __int_as_float(0x7fffffff);
}

__device__ int CountBelow(const float* values, int count, uint32_t key) {
  int below = 0;
  for (int i = threadIdx.x; i < count; i += kWarp) below += KeyOf(values[i]) < key;
  return __reduce_add_sync(0xffffffffu, below);
}

// A warp has a sector of a ring: its lower median, bit by bit. `found`: [slice][ring][sector].
__global__ void FindRingKernel(Raster raster, const float* high, float* found) {
  const int s = blockIdx.x * blockDim.y + threadIdx.y, k = blockIdx.y, z = blockIdx.z;
  const int64_t ring = static_cast<int64_t>(z) * raster.rings + k;
  const int sectors = raster.sectors[k], length = raster.angles / sectors;
  if (s >= sectors) return;
  const float* const values = high + ring * raster.angles + static_cast<int64_t>(s) * length;
  const int numbers = CountBelow(values, length, 0xffffffffu);
  float believed = 0;
  if (numbers > 0 && 2 * numbers >= length) {
    uint32_t key = 0;
    for (uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
      // The median is at least `key` with the bit if no more than its rank are below that.
      if (CountBelow(values, length, key | bit) <= (numbers - 1) / 2) key |= bit;
    }
    believed = Believed(ValueOf(key), static_cast<float>(ops::kMostRingHu));
  }
  if (threadIdx.x == 0) found[ring * ops::kMostRingSectors + s] = believed;
}

__device__ float AlongRing(const Raster& raster, const float* found, int k, float turn) {
  const int sectors = raster.sectors[k];
  const float at = turn * static_cast<float>(sectors) - 0.5f, before = floorf(at);
  const int s = (static_cast<int>(before) + 2 * sectors) % sectors;
  const float* const ring = found + k * ops::kMostRingSectors;
  const float part = at - before;
  return (1 - part) * ring[s] + part * ring[(s + 1) % sectors];
}

// A thread has one voxel.
__global__ void TakeOffKernel(Raster raster, const float* found, float* volume) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y, z = blockIdx.z;
  if (i >= raster.nx) return;
  const double x = (i - raster.axis_i) * raster.spacing_x;
  const double y = (j - raster.axis_j) * raster.spacing_y;
  const float turn =
      atan2f(static_cast<float>(y), static_cast<float>(x)) * static_cast<float>(0.5 / kPi);
  const double at = sqrt(x * x + y * y) / raster.step_mm;
  const int k = static_cast<int>(at);
  const auto outer = static_cast<float>(at - k);
  const float* const rings = found + static_cast<int64_t>(z) * raster.rings * ops::kMostRingSectors;
  volume[(static_cast<int64_t>(z) * raster.ny + j) * raster.nx + i] -=
      (1 - outer) * AlongRing(raster, rings, k, turn) +
      outer * AlongRing(raster, rings, k + 1, turn);
}

class RemoveRings final : public ops::RemoveRings {
 public:
  static absl::StatusOr<std::unique_ptr<ops::RemoveRings>> Create(CudaSession& session,
                                                                  const ops::RingSpec& spec);

 private:
  RemoveRings(CudaSession& session, const ops::RingSpec& spec)
      : ops::RemoveRings(spec), session_(session) {}

  absl::Status DoRun(ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const VolumeGrid& grid = target->grid();
    const int64_t slice = int64_t{grid.nx} * grid.ny;
    for (int z = 0; z < grid.nz; z += kSlicesAtOnce) {
      const int slices = std::min(kSlicesAtOnce, grid.nz - z);
      for (int pass = 0; pass < ops::kRingPasses; ++pass) {
        ISO_RETURN_IF_ERROR(Correct(target->data() + z * slice, slices));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Correct(float* volume, int slices) {
    const auto z = static_cast<unsigned>(slices);
    const auto rings = static_cast<unsigned>(raster_.rings);
    const dim3 points((raster_.angles + kThreads - 1) / kThreads, rings, z);
    SampleKernel<<<points, kThreads, 0, session_.stream()>>>(raster_, volume, samples_.data());
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "SampleKernel"));
    HighPassKernel<<<points, kThreads, 0, session_.stream()>>>(raster_, samples_.data(),
                                                               high_.data());
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "HighPassKernel"));
    const dim3 sectors(1, rings, z), team(kWarp, ops::kMostRingSectors);
    FindRingKernel<<<sectors, team, 0, session_.stream()>>>(raster_, high_.data(), found_.data());
    ISO_RETURN_IF_ERROR(ToStatus(cudaGetLastError(), "FindRingKernel"));
    const dim3 voxels((raster_.nx + kThreads - 1) / kThreads, raster_.ny, z);
    TakeOffKernel<<<voxels, kThreads, 0, session_.stream()>>>(raster_, found_.data(), volume);
    return ToStatus(cudaGetLastError(), "TakeOffKernel");
  }

  CudaSession& session_;
  DeviceBuffer<double2> directions_;
  DeviceBuffer<int> sectors_;
  DeviceBuffer<float> samples_, high_;  // [slice][ring][angle]
  DeviceBuffer<float> found_;           // [slice][ring][sector]
  Raster raster_{};
};

absl::StatusOr<std::unique_ptr<ops::RemoveRings>> RemoveRings::Create(CudaSession& session,
                                                                      const ops::RingSpec& spec) {
  std::unique_ptr<RemoveRings> self(new RemoveRings(session, spec));
  const ops::PolarRaster& shape = self->raster();
  const Memory& memory = session.memory();
  std::vector<double2> directions;
  for (int a = 0; a < shape.angles; ++a) {
    const double angle = (a + 0.5) * 2 * kPi / shape.angles;
    directions.push_back({std::cos(angle), std::sin(angle)});
  }
  std::vector<int> sectors;
  for (int k = 0; k < shape.rings; ++k) sectors.push_back(shape.Sectors(k));
  const int64_t rings = int64_t{kSlicesAtOnce} * shape.rings;
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  ISO_ASSIGN_OR_RETURN(self->directions_, DeviceBuffer<double2>::Create(memory, shape.angles));
  ISO_ASSIGN_OR_RETURN(self->sectors_, DeviceBuffer<int>::Create(memory, shape.rings));
  ISO_ASSIGN_OR_RETURN(self->samples_, DeviceBuffer<float>::Create(memory, rings * shape.angles));
  ISO_ASSIGN_OR_RETURN(self->high_, DeviceBuffer<float>::Create(memory, rings * shape.angles));
  ISO_ASSIGN_OR_RETURN(self->found_,
                       DeviceBuffer<float>::Create(memory, rings * ops::kMostRingSectors));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy(self->directions_.data(), directions.data(),
                                      self->directions_.bytes(), cudaMemcpyHostToDevice));
  ISO_RETURN_IF_CUDA_ERROR(cudaMemcpy(self->sectors_.data(), sectors.data(), self->sectors_.bytes(),
                                      cudaMemcpyHostToDevice));
  self->raster_ = {.nx = spec.grid.nx,
                   .ny = spec.grid.ny,
                   .axis_i = spec.axis_i,
                   .axis_j = spec.axis_j,
                   .toward_i = shape.step_mm / spec.grid.spacing.x,
                   .toward_j = shape.step_mm / spec.grid.spacing.y,
                   .spacing_x = spec.grid.spacing.x,
                   .spacing_y = spec.grid.spacing.y,
                   .step_mm = shape.step_mm,
                   .rings = shape.rings,
                   .angles = shape.angles,
                   .directions = self->directions_.data(),
                   .sectors = self->sectors_.data()};
  return self;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RemoveRings>> NewRemoveRings(CudaSession& session,
                                                                 const ops::RingSpec& spec) {
  ISO_RETURN_IF_ERROR(ops::CheckRings(spec));
  return RemoveRings::Create(session, spec);
}

int64_t RemoveRingsBytes(const ops::Extents&, const ops::RingSpec& spec) {
  const ops::PolarRaster raster = ops::RasterOf(spec);
  const int64_t of_ring =
      (2 * int64_t{raster.angles} + ops::kMostRingSectors) * int64_t{sizeof(float)};
  return kSlicesAtOnce * raster.rings * of_ring + raster.angles * int64_t{sizeof(double2)} +
         raster.rings * int64_t{sizeof(int)};
}

}  // namespace isocenter::cuda
