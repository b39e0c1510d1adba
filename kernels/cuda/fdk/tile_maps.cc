#include "kernels/cuda/fdk/tile_maps.h"

#include "absl/strings/str_cat.h"
#include "kernels/cuda/device/status.h"

namespace isocenter::cuda {
namespace {

// The driver's library is not linked: machines without a GPU have none.
absl::StatusOr<decltype(&cuTensorMapEncodeTiled)> EncodeFunction() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  constexpr unsigned kFirstVersion = 12000;
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDriverEntryPointByVersion(
      "cuTensorMapEncodeTiled", &function, kFirstVersion, cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    return absl::InternalError("CUDA: the driver has no cuTensorMapEncodeTiled");
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function);
}

}  // namespace

absl::StatusOr<TileMaps> MakeTileMaps(const TiledViews& views, int columns, int rows, int step) {
  ISO_ASSIGN_OR_RETURN(const auto encode, EncodeFunction());
  const cuuint64_t row_bytes = views.pitch * 4;
  const cuuint64_t extent[] = {static_cast<cuuint64_t>(views.columns),
                               static_cast<cuuint64_t>(views.rows),
                               static_cast<cuuint64_t>(views.views)};
  const cuuint64_t strides[] = {row_bytes, row_bytes * views.rows};
  const cuuint32_t steps[] = {1, 1, 1};
  TileMaps maps;
  for (int i = 0; i < TileMaps::kHeights; ++i) {
    const cuuint32_t height = rows - (TileMaps::kHeights - 1 - i) * step;
    const cuuint32_t tile[] = {static_cast<cuuint32_t>(columns), height, 1};
    const CUresult result = encode(
        &maps.of_height[i], CU_TENSOR_MAP_DATA_TYPE_UINT32, 3, const_cast<void*>(views.data),
        extent, strides, tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS)
      return absl::InternalError(
          absl::StrCat("CUDA: error ", static_cast<int>(result), " in cuTensorMapEncodeTiled"));
  }
  return maps;
}

absl::StatusOr<bool> CopiesTiles() {
  int device, major;
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDevice(&device));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  return major >= 9;
}

}  // namespace isocenter::cuda
