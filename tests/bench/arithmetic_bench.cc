#include "tests/bench/arithmetic_bench.h"

#include <chrono>
#include <cstdio>
#include <functional>

#include "kernels/backends.h"
#include "kernels/base/status_macros.h"
#include "tests/bench/machine.h"
#include "tests/bench/noise.h"
#include "tests/bench/summary.h"
#include "tests/opened_session.h"

namespace isocenter::bench {
namespace {

// One operation and how many floats per voxel it reads and writes at least.
struct Operation {
  const char* name;
  int floats;
  std::function<absl::Status()> run;
};

}  // namespace

absl::Status RunArithmetic(const ArithmeticOptions& options) {
  ISO_ASSIGN_OR_RETURN(const auto session,
                       OpenSession(Backends(), options.backend, {.threads = 0}));
  ISO_ASSIGN_OR_RETURN(const auto new_arithmetic, Backends().arithmetic.Find(options.backend));
  ISO_ASSIGN_OR_RETURN(const auto arithmetic, new_arithmetic(*session));
  ISO_ASSIGN_OR_RETURN(const auto new_variation, Backends().variation.Find(options.backend));
  ISO_ASSIGN_OR_RETURN(const auto variation, new_variation(*session));
  const VolumeGrid grid = CenteredGrid(options.size, options.size, options.size, {1, 1, 1});
  std::unique_ptr<ops::VolumeBuffer> volumes[5];
  for (auto& volume : volumes) {
    ISO_ASSIGN_OR_RETURN(volume, session->NewVolume(grid));
    ISO_RETURN_IF_ERROR(volume->Upload(0, {Noise(grid.voxels()).data(), grid.shape()}));
  }
  auto& [x, y, px, py, pz] = volumes;
  const ops::VectorField<ops::VolumeBuffer> p{px.get(), py.get(), pz.get()};
  const ops::VectorField<const ops::VolumeBuffer> read{px.get(), py.get(), pz.get()};
  const Operation operations[] = {
      {"fill", 1, [&] { return arithmetic->Fill(0.5, *y); }},
      {"copy", 2, [&] { return arithmetic->Copy(*x, *y); }},
      {"axpby", 3, [&] { return arithmetic->Axpby(0.5, *x, 0.5, *y); }},
      {"multiply_add", 4, [&] { return arithmetic->MultiplyAdd(0.5, *px, *x, *y); }},
      {"exponential", 2, [&] { return arithmetic->Exponential(-0.5, *y); }},
      {"dot", 2, [&] { return arithmetic->Dot(*x, *y).status(); }},
      {"tv_gradient", 3,
       [&] { return variation->AddTotalVariationGradient(0.5, 1e-3, *x, {}, *y); }},
      {"tv", 1, [&] { return variation->TotalVariation(1e-3, *x, {}).status(); }},
      {"huber_gradient", 3, [&] { return variation->AddHuberGradient(0.5, 0.1, *x, {}, *y); }},
      {"ascend_dual", 7, [&] { return variation->AscendDual(0.1, 1, *x, {}, p); }},
      {"divergence", 5, [&] { return variation->AddDivergence(0.1, read, nullptr, *y); }},
  };
  std::printf("%s, commit %s\n%d^3 voxels; median of %d runs\n",
              session->device().description().c_str(), Commit().c_str(), options.size,
              options.repeats);
  for (const Operation& operation : operations) {
    std::vector<double> ms;
    for (int i = 0; i <= options.repeats; ++i) {
      const auto start = std::chrono::steady_clock::now();
      ISO_RETURN_IF_ERROR(operation.run());
      ISO_RETURN_IF_ERROR(session->Synchronize());
      const std::chrono::duration<double, std::milli> elapsed =
          std::chrono::steady_clock::now() - start;
      if (i > 0) ms.push_back(elapsed.count());
    }
    const double median = Summarize(ms).median;
    const double bytes = static_cast<double>(grid.voxels()) * sizeof(float) * operation.floats;
    std::printf("  %-16s %8.3f ms %8.0f GB/s\n", operation.name, median, bytes / median / 1e6);
  }
  return absl::OkStatus();
}

}  // namespace isocenter::bench
