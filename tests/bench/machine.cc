#include "tests/bench/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <vector>

#include "kernels/base/thread_pool.h"

namespace isocenter::bench {

std::string Processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

std::string Commit() { return ISOCENTER_COMMIT; }

double CopyBandwidth(int threads) {
  constexpr size_t kBytes = size_t{64} << 20;
  ThreadPool pool(threads);
  std::vector<std::vector<char>> from(threads), to(threads);
  pool.ParallelFor(threads, [&](int64_t i, int) {
    from[i].assign(kBytes, 1);
    to[i].assign(kBytes, 0);
  });
  double best = 0;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    pool.ParallelFor(threads,
                     [&](int64_t i, int) { std::memcpy(to[i].data(), from[i].data(), kBytes); });
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2e-9 * static_cast<double>(kBytes) * threads / seconds);
  }
  return best;
}

}  // namespace isocenter::bench
