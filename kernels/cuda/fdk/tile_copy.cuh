// The instructions of a pipeline of tiles (PTX ISA, "Asynchronous copy", "mbarrier"): a thread
// starts copies into shared memory, all wait for them. Compute capability 9.0 and later.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace isocenter::cuda {

__device__ inline unsigned SharedAddress(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// A barrier in shared memory. `phase` counts how often it has been passed, modulo 2.
class TileBarrier {
 public:
  __device__ void Init() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(SharedAddress(&state_)));
  }
  /// By one thread after Init, before the block's __syncthreads.
  static __device__ void Publish() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  /// Arrives, and holds the barrier until `bytes` have been copied.
  __device__ void ArriveAndExpect(unsigned bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(&state_)),
        "r"(bytes)
        : "memory");
  }
  __device__ void Wait(unsigned phase) {
    asm volatile(
        "{\n"
        ".reg .pred passed;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 passed, [%0], %1;\n"
        "@!passed bra again;\n"
        "}" ::"r"(SharedAddress(&state_)),
        "r"(phase)
        : "memory");
  }
  /// Copies the tile whose first element is (u, v) of `view`; u is a multiple of 4. `to` is
  /// 128-byte aligned.
  __device__ void Copy(const CUtensorMap& map, int u, int v, int view, void* to) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(SharedAddress(to)),
        "l"(&map), "r"(u), "r"(v), "r"(view), "r"(SharedAddress(&state_))
        : "memory");
  }

 private:
  uint64_t state_;
};

/// The element at a shared address plus kOffset bytes.
template <int kOffset>
__device__ float LoadShared(unsigned address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1 + %2];" : "=f"(value) : "r"(address), "n"(kOffset));
  return value;
}

}  // namespace isocenter::cuda
