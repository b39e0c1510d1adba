#include <algorithm>
#include <span>

#include "kernels/cuda/device/owners.h"
#include "kernels/cuda/published/layered_texture.h"
#include "kernels/cuda/published/zinsser_keck.cuh"
#include "tests/all_methods.h"
#include "tests/bench/bottleneck_kernels.h"
#include "tests/bench/noise.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

using cuda::Event;
using cuda::Work;

// What all launches of a form share.
struct Scene {
  std::vector<ProjectionMatrix> matrices;  // voxel indices to pixels
  cudaTextureObject_t texture;             // a layer per view
  cuda::Extent extent;
  float* volume;
  cudaStream_t stream;
};

// A kernel in one of its forms: for the occupancy, and to add all views of a scene with it.
struct Form {
  const void* function;
  absl::Status (*launch)(const Scene& scene, size_t shared_bytes);
};

struct Configuration {
  char kernel;
  bool synchronized;
  int views, depth, block_x, block_y;
  Form instructions, memory, all;
};

template <char kKernel, int kViews, int kDepth, int kBlockX, int kBlockY, bool kSynchronized,
          Work kWork>
absl::Status LaunchAll(const Scene& scene, size_t shared_bytes) {
  using cuda::KernelA, cuda::KernelB;
  const dim3 block(kBlockX, kBlockY);
  const dim3 blocks = cuda::BlocksCovering(scene.extent, dim3(kBlockX, kBlockY, kDepth));
  const int all = static_cast<int>(scene.matrices.size());
  for (int first = 0; first < all; first += kViews) {
    const int views = std::min(kViews, all - first);
    const auto matrices =
        cuda::PaddedMatrices<kViews>(std::span(scene.matrices).subspan(first, views));
    if constexpr (kKernel == 'A') {
      KernelA<kViews, kDepth, kBlockX, kBlockY, kSynchronized, kWork>
          <<<blocks, block, shared_bytes, scene.stream>>>(matrices, first, scene.texture,
                                                          scene.extent, scene.volume);
    } else {
      KernelB<kViews, kDepth, kBlockX, kBlockY, kWork>
          <<<blocks, block, shared_bytes, scene.stream>>>(matrices, views, first, scene.texture,
                                                          scene.extent, scene.volume);
    }
    ISO_RETURN_IF_CUDA_ERROR(cudaGetLastError());
  }
  return absl::OkStatus();
}

template <char kKernel, int kViews, int kDepth, int kBlockX, int kBlockY, bool kSynchronized,
          Work kWork>
Form FormOf() {
  const void* function;
  if constexpr (kKernel == 'A') {
    function = reinterpret_cast<const void*>(
        &cuda::KernelA<kViews, kDepth, kBlockX, kBlockY, kSynchronized, kWork>);
  } else {
    function =
        reinterpret_cast<const void*>(&cuda::KernelB<kViews, kDepth, kBlockX, kBlockY, kWork>);
  }
  return {function, LaunchAll<kKernel, kViews, kDepth, kBlockX, kBlockY, kSynchronized, kWork>};
}

template <char kKernel, int kViews, int kDepth, int kBlockX, int kBlockY,
          bool kSynchronized = false>
Configuration Of() {
  return {kKernel,
          kSynchronized,
          kViews,
          kDepth,
          kBlockX,
          kBlockY,
          FormOf<kKernel, kViews, kDepth, kBlockX, kBlockY, kSynchronized, Work::kInstructions>(),
          FormOf<kKernel, kViews, kDepth, kBlockX, kBlockY, kSynchronized,
                 Work::kInstructionsAndMemory>(),
          FormOf<kKernel, kViews, kDepth, kBlockX, kBlockY, kSynchronized, Work::kAll>()};
}

std::vector<Configuration> Configurations() {
  return {
      // Table II of the paper, tests 1 to 8.
      Of<'A', 1, 512, 32, 8>(),
      Of<'A', 4, 512, 32, 8>(),
      Of<'A', 4, 512, 32, 8, true>(),
      Of<'A', 4, 8, 32, 8>(),
      Of<'B', 4, 8, 32, 8>(),
      Of<'B', 8, 4, 16, 16>(),
      Of<'B', 16, 4, 16, 32>(),
      Of<'B', 32, 4, 16, 32>(),
      // What later devices, with more registers and cache, might prefer.
      Of<'B', 32, 4, 32, 8>(),
      Of<'B', 32, 8, 16, 16>(),
  };
}

absl::StatusOr<int> ResidentBlocks(const void* function, int threads, size_t shared_bytes) {
  int blocks = 0;
  ISO_RETURN_IF_CUDA_ERROR(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_bytes));
  return blocks;
}

// Shared memory per block that keeps a kernel from having more than `blocks` of them on a
// multiprocessor, as the paper does: a modified kernel takes fewer registers and would otherwise
// run with more threads than the one that it stands for. The kernel is prepared to be given it.
absl::StatusOr<size_t> SharedBytesFor(const void* function, int threads, int blocks,
                                      const cudaDeviceProp& device) {
  ISO_ASSIGN_OR_RETURN(const int natural, ResidentBlocks(function, threads, 0));
  if (natural <= blocks) return 0;
  constexpr size_t kUnit = 1024;
  const size_t share =
      device.sharedMemPerMultiprocessor / blocks - device.reservedSharedMemPerBlock;
  const size_t bytes = std::min(share, device.sharedMemPerBlockOptin) / kUnit * kUnit;
  ISO_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(
      function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  ISO_RETURN_IF_CUDA_ERROR(cudaFuncSetAttribute(
      function, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  return bytes;
}

absl::StatusOr<std::vector<double>> Times(const Form& form, const Scene& scene, size_t shared_bytes,
                                          int repeats) {
  ISO_ASSIGN_OR_RETURN(const Event start, Event::Create(cudaEventDefault));
  ISO_ASSIGN_OR_RETURN(const Event end, Event::Create(cudaEventDefault));
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(start.get(), scene.stream));
    ISO_RETURN_IF_ERROR(form.launch(scene, shared_bytes));
    ISO_RETURN_IF_CUDA_ERROR(cudaEventRecord(end.get(), scene.stream));
    ISO_RETURN_IF_CUDA_ERROR(cudaEventSynchronize(end.get()));
    float milliseconds = 0;
    ISO_RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start.get(), end.get()));
    if (i > 0) seconds.push_back(milliseconds * 1e-3);  // the first one loads the kernel
  }
  return seconds;
}

absl::StatusOr<BottleneckRow> Measure(const Configuration& configuration,
                                      const cudaDeviceProp& device, const Scene& scene,
                                      const Scene& tiny, int repeats) {
  const Configuration& c = configuration;
  const int threads = c.block_x * c.block_y;
  cudaFuncAttributes attributes;
  ISO_RETURN_IF_CUDA_ERROR(cudaFuncGetAttributes(&attributes, c.all.function));
  ISO_ASSIGN_OR_RETURN(const int blocks, ResidentBlocks(c.all.function, threads, 0));
  BottleneckRow row{c.kernel,
                    c.synchronized,
                    c.views,
                    c.depth,
                    c.block_x,
                    c.block_y,
                    attributes.numRegs,
                    static_cast<double>(blocks) * threads / device.maxThreadsPerMultiProcessor,
                    {},
                    {}};
  const Form* const forms[kForms] = {&c.instructions, &c.memory, &c.all, &c.all};
  for (int i = 0; i < kForms; ++i) {
    const void* const function = forms[i]->function;
    ISO_ASSIGN_OR_RETURN(const size_t shared_bytes,
                         SharedBytesFor(function, threads, blocks, device));
    ISO_ASSIGN_OR_RETURN(row.resident_blocks[i], ResidentBlocks(function, threads, shared_bytes));
    ISO_ASSIGN_OR_RETURN(row.seconds[i],
                         Times(*forms[i], i == 2 ? tiny : scene, shared_bytes, repeats));
  }
  return row;
}

Scene SceneOf(const Trajectory& matrices, const VolumeGrid& grid, const cuda::Stack& stack,
              cudaTextureObject_t texture, float* volume, cudaStream_t stream) {
  Scene scene{{}, texture, cuda::ExtentOf(grid, stack.shape()), volume, stream};
  for (const ProjectionMatrix& matrix : matrices) {
    scene.matrices.push_back(ToVoxelIndices(matrix, grid));
  }
  return scene;
}

}  // namespace

absl::StatusOr<BottleneckTable> MeasureBottleneck(const Trajectory& matrices, Shape3 detector,
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
                                   static_cast<int>(detector.fast), session.stream()));

  const auto scene_of = [&](const VolumeGrid& of) {
    return SceneOf(matrices, of, *stack, texture.texture(), target->data(), session.stream());
  };
  constexpr double kTinyMm = 1e-6;
  const Scene scene = scene_of(grid);
  const Scene tiny = scene_of(CenteredGrid(grid.nx, grid.ny, grid.nz, {kTinyMm, kTinyMm, kTinyMm}));
  int ordinal = 0, kilohertz = 0;
  cudaDeviceProp properties;
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDevice(&ordinal));
  ISO_RETURN_IF_CUDA_ERROR(cudaGetDeviceProperties(&properties, ordinal));
  ISO_RETURN_IF_CUDA_ERROR(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, ordinal));
  BottleneckTable table{
      session.device().description(), properties.multiProcessorCount, kilohertz * 1e-6, {}};
  for (const Configuration& configuration : Configurations()) {
    ISO_ASSIGN_OR_RETURN(BottleneckRow row,
                         Measure(configuration, properties, scene, tiny, repeats));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace isocenter::bench
