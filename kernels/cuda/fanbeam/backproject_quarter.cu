// Fan-beam back-projection of full scans onto squares around the axis: a quarter turn of the source
// is one of the image (kernels/geometry/quarter_turns.h), so a thread has the four pixels that
// quarter turns take to each other, and where one of them is seen in one view serves four views.
#include <cmath>
#include <vector>

#include "kernels/cuda/fanbeam/backproject.cuh"
#include "kernels/cuda/fanbeam/quarter_rows.cuh"
#include "kernels/geometry/fan_scale.h"
#include "kernels/geometry/quarter_turns.h"

namespace isocenter::cuda {
namespace {

// x' and y' of a step along a row of the image, of one view.
template <class T>
struct alignas(2 * sizeof(T)) FanTurn {
  T x, y;
};

enum class FanDetector { kFlat, kArcByPolynomial, kArcByLibrary, kArcByTangent };

// The device's approximation is within one unit in the last place.
__device__ float Reciprocal(float value) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}
__device__ double Reciprocal(double value) { return 1 / value; }

template <class T, FanDetector kDetector>
__device__ T QuarterPosition(const FanScan<T>& scan, T ratio) {
  if (kDetector == FanDetector::kFlat || kDetector == FanDetector::kArcByTangent) {
    return fma(ratio, scan.per_radian, scan.center);
  }
  if (kDetector == FanDetector::kArcByLibrary) {
    return fma(atan(ratio), scan.per_radian, scan.center);
  }
  return PolynomialPosition(scan, ratio);
}

template <class T>
struct FanSeen {
  T position, weight;  // 0 where nothing is seen
};

template <class T, FanDetector kDetector>
__device__ FanSeen<T> Seen(const FanScan<T>& scan, T distance, T x, T y) {
  const T u = distance - y, inverse = Reciprocal(u), ratio = x * inverse;
  const T weight =
      kDetector == FanDetector::kFlat ? inverse * inverse : Reciprocal(fma(x, x, u * u));
  const T position = QuarterPosition<T, kDetector>(scan, ratio);
  // False for what is not finite. Without a branch, which would keep the four places apart.
  const bool seen = (u > scan.nearest) & (fabs(ratio) < scan.steepest);
  return {seen ? position : 0, seen ? weight : 0};
}

// A pixel (x', y') of view v is (y', -x') a quarter of the scan later, and turned by a quarter it
// is
// (-y', x') in view v: pixel m in view v + k·quarter is where place k - m is in view v.
template <class T, FanDetector kDetector, class Rows>
__global__ void __launch_bounds__(256)
    FanQuarterKernel(FanScan<T> scan, T distance, const FanTurn<T>* turns, int view_count,
                     Rows rows, FanImage image) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  const int slice = blockIdx.z, n = image.nx, half = (n + 1) / 2;
  // The middle of an odd grid turns on itself.
  const bool middle = n % 2 == 1 && i == n / 2 && j == n / 2;
  if (i >= half || (j >= n / 2 && !middle)) return;
  const T p = static_cast<T>(i) - static_cast<T>(0.5) * (n - 1),
          q = static_cast<T>(j) - static_cast<T>(0.5) * (n - 1);
  T sums[4] = {};
  for (int v = 0; v < view_count; ++v) {
    const FanTurn<T> turn = turns[v];
    const auto row = rows.Row(v, slice);
    const T x = turn.x * p - turn.y * q, y = turn.y * p + turn.x * q;
    const T places[4][2] = {{x, y}, {y, -x}, {-x, -y}, {-y, x}};
#pragma unroll
    for (int place = 0; place < 4; ++place) {
      const FanSeen<T> seen =
          Seen<T, kDetector>(scan, distance, places[place][0], places[place][1]);
      row.Add(seen.position, seen.weight, place, sums);
    }
  }
  float* const voxels = image.voxels + static_cast<int64_t>(slice) * n * n;
  const int turned[4][2] = {{i, j}, {n - 1 - j, i}, {n - 1 - i, n - 1 - j}, {j, n - 1 - i}};
#pragma unroll
  for (int pixel = 0; pixel < 4; ++pixel) {
    if (pixel > 0 && middle) break;
    float& voxel = voxels[static_cast<int64_t>(turned[pixel][1]) * n + turned[pixel][0]];
    voxel = static_cast<float>(voxel + sums[pixel]);
  }
}

template <class T>
std::vector<FanTurn<T>> MakeFanTurns(const FanBeamGeometry& g, int views, const VolumeGrid& grid) {
  const double scale = FanScale(g);
  const Vec3 along = grid.VoxelToWorld(1, 0, 0) - grid.VoxelToWorld(0, 0, 0);
  std::vector<FanTurn<T>> turns;
  for (int view = 0; view < views; ++view) {
    const double c = scale * std::cos(g.Angle(view)), s = scale * std::sin(g.Angle(view));
    turns.push_back({.x = static_cast<T>(c * along.x + s * along.y),
                     .y = static_cast<T>(c * along.y - s * along.x)});
  }
  return turns;
}

// `Plain` does what is not alike.
template <class T, class Rows, class Plain, class Source = FanChannelRows>
class FanBackprojectQuarter final : public ops::FanBeamBackproject {
 public:
  explicit FanBackprojectQuarter(CudaSession& session)
      : session_(session), source_(session), rows_(session), plain_(session) {}

  static int64_t Bytes(const ops::Extents& extents) {
    const Shape3 stack = Source::Largest(extents.stack);
    return Source::Bytes(extents.stack) + Rows::Bytes(stack) +
           stack.slow / 4 * int64_t{sizeof(FanTurn<T>)} + Plain::Bytes(extents);
  }

  absl::Status DoRun(const FanBeamGeometry& geometry, int first_view,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    const int64_t views = filtered.shape().slow;
    if (!QuarterTurnsAreAlike(geometry, views, volume.grid())) {
      return plain_.DoRun(geometry, first_view, filtered, volume);
    }
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    ISO_RETURN_IF_ERROR(session_.MakeCurrent());
    const int quarter = static_cast<int>(views / 4);
    const std::vector<FanTurn<T>> turns = MakeFanTurns<T>(geometry, quarter, target->grid());
    ISO_RETURN_IF_ERROR(turns_.Reserve(session_.memory(), quarter));
    ISO_RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(turns_.data(), turns.data(),
                                             turns.size() * sizeof(FanTurn<T>),
                                             cudaMemcpyHostToDevice, session_.stream()));
    ISO_ASSIGN_OR_RETURN(const FanRows from, source_.Of(geometry, *stack));
    return rows_.ForEachPart(from, geometry.arc > 0, [&](int first, int count, const auto& rows) {
      return Add(geometry, first, count, rows, *target);
    });
  }

 private:
  template <class Part>
  absl::Status Add(const FanBeamGeometry& geometry, int first, int count, const Part& rows,
                   Volume& volume) {
    const FanScan<T> scan = source_.template Scan<T>(geometry);
    if (scan.flat) return Launch<FanDetector::kFlat>(geometry, scan, first, count, rows, volume);
    if constexpr (Source::kTangent) {
      return Launch<FanDetector::kArcByTangent>(geometry, scan, first, count, rows, volume);
    }
    if (sizeof(T) == sizeof(float) && scan.polynomial) {
      return Launch<FanDetector::kArcByPolynomial>(geometry, scan, first, count, rows, volume);
    }
    return Launch<FanDetector::kArcByLibrary>(geometry, scan, first, count, rows, volume);
  }

  template <FanDetector kDetector, class Part>
  absl::Status Launch(const FanBeamGeometry& geometry, const FanScan<T>& scan, int first, int count,
                      const Part& rows, Volume& volume) {
    const VolumeGrid& grid = volume.grid();
    const int half = (grid.nx + 1) / 2;
    const dim3 block(32, 8), blocks((half + 31) / 32, (half + 7) / 8, grid.nz);
    const T distance = static_cast<T>(FanScale(geometry) * geometry.source_to_axis_mm);
    FanQuarterKernel<T, kDetector><<<blocks, block, 0, session_.stream()>>>(
        scan, distance, turns_.data() + first, count, rows, {volume.data(), grid.nx, grid.ny});
    return ToStatus(cudaGetLastError(), "FanQuarterKernel");
  }

  CudaSession& session_;
  Source source_;
  Rows rows_;
  Plain plain_;
  DeviceBuffer<FanTurn<T>> turns_;
};

using Quarter = FanBackprojectQuarter<float, QuarterRows<float>,
                                      FanBackproject<float, FanAngles::kPolynomial, false>>;
using QuarterDouble = FanBackprojectQuarter<double, QuarterRows<double>,
                                            FanBackproject<double, FanAngles::kLibrary, false>>;
using QuarterTexture = FanBackprojectQuarter<float, QuarterRowsInTexture,
                                             FanBackproject<float, FanAngles::kLibrary, true>>;

template <int kPerChannel>
using QuarterTangent = FanBackprojectQuarter<
    float, QuarterRows<float>,
    FanBackproject<float, FanAngles::kTangent, false, FanMath::kExact, FanTangentRows<kPerChannel>>,
    FanTangentRows<kPerChannel>>;

}  // namespace

template <int kPerChannel>
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectTangent(
    CudaSession& session) {
  return std::make_unique<QuarterTangent<kPerChannel>>(session);
}
template <int kPerChannel>
int64_t FanBeamBackprojectTangentBytes(const ops::Extents& extents) {
  return QuarterTangent<kPerChannel>::Bytes(extents);
}
#define ISOCENTER_TANGENT_ROWS(n)                                   \
  template absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> \
  NewFanBeamBackprojectTangent<n>(CudaSession&);                    \
  template int64_t FanBeamBackprojectTangentBytes<n>(const ops::Extents&);
ISOCENTER_TANGENT_ROWS(1)
ISOCENTER_TANGENT_ROWS(4)
ISOCENTER_TANGENT_ROWS(16)
#undef ISOCENTER_TANGENT_ROWS

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarter(
    CudaSession& session) {
  return std::make_unique<Quarter>(session);
}
int64_t FanBeamBackprojectQuarterBytes(const ops::Extents& extents) {
  return Quarter::Bytes(extents);
}

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarterDouble(
    CudaSession& session) {
  return std::make_unique<QuarterDouble>(session);
}
int64_t FanBeamBackprojectQuarterDoubleBytes(const ops::Extents& extents) {
  return QuarterDouble::Bytes(extents);
}

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarterTexture(
    CudaSession& session) {
  return std::make_unique<QuarterTexture>(session);
}
int64_t FanBeamBackprojectQuarterTextureBytes(const ops::Extents& extents) {
  return QuarterTexture::Bytes(extents);
}

}  // namespace isocenter::cuda
