#include <algorithm>
#include <span>

#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/published/layered_texture.h"
#include "kernels/cuda/published/zinsser_keck.cuh"
#include "tests/all_methods.h"
#include "tests/bench/noise.h"
#include "tests/bench/search/kernels.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

using cuda::Event;

struct Scene {
  std::vector<ProjectionMatrix> matrices;  // voxel indices to pixels
  cudaTextureObject_t texture;             // a layer per view
  cuda::Extent extent;
  float* volume;
  cudaStream_t stream;
};

struct Configuration {
  int views, depth, block_x, block_y;
  const void* function;
  absl::Status (*launch)(const Scene& scene);
};

template <int kViews, int kDepth, int kBlockX, int kBlockY>
absl::Status LaunchAll(const Scene& scene) {
  const dim3 blocks = cuda::BlocksCovering(scene.extent, dim3(kBlockX, kBlockY, kDepth));
  const int all = static_cast<int>(scene.matrices.size());
  for (int first = 0; first < all; first += kViews) {
    const int views = std::min(kViews, all - first);
    cuda::KernelB<kViews, kDepth, kBlockX, kBlockY, cuda::Work::kAll>
        <<<blocks, dim3(kBlockX, kBlockY), 0, scene.stream>>>(
            cuda::PaddedMatrices<kViews>(std::span(scene.matrices).subspan(first, views)), views,
            first, scene.texture, scene.extent, scene.volume);
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  return absl::OkStatus();
}

template <int kViews, int kDepth, int kBlockX, int kBlockY>
void AddOne(std::vector<Configuration>& all) {
  all.push_back({kViews, kDepth, kBlockX, kBlockY,
                 reinterpret_cast<const void*>(
                     &cuda::KernelB<kViews, kDepth, kBlockX, kBlockY, cuda::Work::kAll>),
                 LaunchAll<kViews, kDepth, kBlockX, kBlockY>});
}

template <int kViews, int kDepth>
void AddBlocks(std::vector<Configuration>& all) {
  AddOne<kViews, kDepth, 8, 8>(all);
  AddOne<kViews, kDepth, 8, 16>(all);
  AddOne<kViews, kDepth, 8, 32>(all);
  AddOne<kViews, kDepth, 16, 8>(all);
  AddOne<kViews, kDepth, 16, 16>(all);
  AddOne<kViews, kDepth, 16, 32>(all);
  AddOne<kViews, kDepth, 32, 4>(all);
  AddOne<kViews, kDepth, 32, 8>(all);
  AddOne<kViews, kDepth, 32, 16>(all);
  AddOne<kViews, kDepth, 64, 4>(all);
}

template <int kViews>
void AddDepths(std::vector<Configuration>& all) {
  AddBlocks<kViews, 2>(all);
  AddBlocks<kViews, 4>(all);
  AddBlocks<kViews, 8>(all);
  AddBlocks<kViews, 16>(all);
}

std::vector<Configuration> Configurations() {
  std::vector<Configuration> all;
  AddDepths<4>(all);
  AddDepths<8>(all);
  AddDepths<16>(all);
  AddDepths<32>(all);
  AddDepths<64>(all);
  return all;
}

absl::StatusOr<SearchRow> Measure(const Configuration& c, const cudaDeviceProp& device,
                                  const Scene& scene, int repeats) {
  const int threads = c.block_x * c.block_y;
  cudaFuncAttributes attributes;
  int blocks = 0;
  ISO_RETURN_IF_CUDA_ERROR(cudaFuncGetAttributes(&attributes, c.function));
  ISO_RETURN_IF_CUDA_ERROR(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, c.function, threads, 0));
  SearchRow row{c.views,
                c.depth,
                c.block_x,
                c.block_y,
                attributes.numRegs,
                static_cast<double>(blocks) * threads / device.maxThreadsPerMultiProcessor,
                {}};
  ISO_ASSIGN_OR_RETURN(const Event start, Event::Create(cudaEventDefault));
  ISO_ASSIGN_OR_RETURN(const Event end, Event::Create(cudaEventDefault));
  for (int i = 0; i <= repeats; ++i) {
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(start.get(), scene.stream));
    ISO_RETURN_IF_ERROR(c.launch(scene));
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(end.get(), scene.stream));
    ISO_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    ISO_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start.get(), end.get()));
    if (i > 0) row.seconds.push_back(milliseconds * 1e-3);  // the first one loads the kernel
  }
  return row;
}

}  // namespace

absl::StatusOr<SearchTable> MeasureSearch(const Trajectory& matrices, Shape3 detector,
                                          const VolumeGrid& grid, int repeats) {
  ISO_ASSIGN_OR_RETURN(const auto opened, OpenSession(AllMethods(), "cuda", {}));
  auto& session = static_cast<cuda::CudaSession&>(*opened);
  ISO_ASSIGN_OR_RETURN(const auto filtered,
                       session.NewProjectionStack(detector, ops::StackUse::kProjections));
  ISO_RETURN_IF_ERROR(filtered->Upload(0, {Noise(detector.count()).data(), detector}));
  ISO_ASSIGN_OR_RETURN(const auto volume, session.NewVolume(grid));
  ISO_ASSIGN_OR_RETURN(const cuda::Stack* stack, cuda::AsStack(std::as_const(*filtered)));
  ISO_ASSIGN_OR_RETURN(cuda::Volume * target, cuda::AsVolume(*volume));
  ISO_RETURN_IF_ERROR(session.MakeCurrent());
  cuda::LayeredTexture texture;
  ISO_RETURN_IF_ERROR(texture.Fill(stack->data(), static_cast<int>(detector.slow),
                                   static_cast<int>(detector.middle),
                                   static_cast<int>(detector.fast), session));
  Scene scene{{},
              texture.texture(),
              cuda::ExtentOf(grid, stack->shape()),
              target->data(),
              session.stream()};
  for (const ProjectionMatrix& matrix : matrices) {
    scene.matrices.push_back(ToVoxelIndices(matrix, grid));
  }
  int ordinal = 0;
  cudaDeviceProp properties;
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDevice(&ordinal));
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, ordinal));
  SearchTable table{session.device().description(), {}};
  for (const Configuration& configuration : Configurations()) {
    ISO_ASSIGN_OR_RETURN(SearchRow row, Measure(configuration, properties, scene, repeats));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace isocenter::bench
