// Where the elements of a volume or a projection stack lie in memory, padding and margins left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/thread_pool.h"
#include "kernels/base/views.h"
#include "kernels/geometry/detector_rows.h"
#include "kernels/ops/device.h"

namespace isocenter::cpu {

/// outer x inner runs of `length` elements in a row; distances are in floats. Whole vectors may be
/// loaded from every run: what lies behind its last element belongs to the same buffer.
struct Runs {
  int64_t first = 0;
  int64_t outer = 0, outer_stride = 0;
  int64_t inner = 0, inner_stride = 0;
  int64_t length = 0;

  int64_t count() const { return outer * inner; }
  int64_t Offset(int64_t run) const {
    return first + run / inner * outer_stride + run % inner * inner_stride;
  }
};

/// A vector of this backend in memory. Vectors of equal shape and use have equal runs.
struct VectorMemory {
  const float* data = nullptr;
  Runs runs;
  Shape3 shape;
  std::optional<ops::StackUse> use;  // none: a volume
};

/// Errors: INVALID_ARGUMENT (another backend's).
absl::StatusOr<VectorMemory> MemoryOf(const ops::Vector& vector);

/// The runs of some rows of every view of a stack.
Runs RunsOfRows(const VectorMemory& stack, RowRange rows);

/// Runs are worked on in parts of about this many elements.
inline constexpr int64_t kPartElements = int64_t{1} << 16;

inline int64_t RunsPerPart(const Runs& runs) {
  return std::max<int64_t>(1, kPartElements / std::max<int64_t>(1, runs.length));
}
inline int64_t Parts(const Runs& runs) {
  return (runs.count() + RunsPerPart(runs) - 1) / RunsPerPart(runs);
}

/// Calls body(run, part) for each run. How runs are grouped into parts depends on the runs alone;
/// those of one part are taken in order by one thread.
template <class Body>
void ForEachRun(ThreadPool& pool, const Runs& runs, const Body& body) {
  const int64_t per_part = RunsPerPart(runs);
  pool.ParallelFor(Parts(runs), [&](int64_t part, int) {
    const int64_t end = std::min((part + 1) * per_part, runs.count());
    for (int64_t run = part * per_part; run < end; ++run) body(run, part);
  });
}

}  // namespace isocenter::cpu
