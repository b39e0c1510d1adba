// Runs the suite, on request with the cpu backend held to one instruction set:
// conformance_test --simd AVX2.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "kernels/cpu/device/simd_target.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    if (argc != 3 || std::strcmp(argv[1], "--simd") != 0) {
      std::printf("usage: conformance_test [--simd AVX-512|AVX2|SSE4|scalar]\n");
      return 2;
    }
    if (!isocenter::cpu::ForceSimdTarget(argv[2])) {
      std::printf("this machine has no %s: nothing to test\n", argv[2]);
      return 77;
    }
  }
  std::printf("cpu backend: %s\n", isocenter::cpu::SimdTargetName().c_str());
  return RUN_ALL_TESTS();
}
