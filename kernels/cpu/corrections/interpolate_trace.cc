#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/corrections/second_pass_methods.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

constexpr auto kFloor = static_cast<float>(ops::kPriorFloor);

// Sets hidden[u] where `paths`, row v of `rows`, is in the trace.
void MarkTrace(const float* paths, int64_t row_stride, int64_t rows, int64_t v,
               const ops::MetalTrace& trace, std::vector<uint8_t>& hidden) {
  const auto columns = static_cast<int64_t>(hidden.size());
  const auto least = static_cast<float>(trace.least);
  std::fill(hidden.begin(), hidden.end(), uint8_t{0});
  const int64_t end = std::min<int64_t>(v + trace.margin + 1, rows);
  for (int64_t y = std::max<int64_t>(v - trace.margin, 0); y < end; ++y) {
    const float* const row = paths + y * row_stride;
    for (int64_t u = 0; u < columns; ++u) hidden[u] |= static_cast<uint8_t>(row[u] > least);
  }
  // From each run of metal, the margin on both sides: bit 1, which is not metal to spread again.
  for (int64_t u = 0; u < columns; ++u) {
    if ((hidden[u] & 1) == 0) continue;
    for (int64_t x = std::max<int64_t>(u - trace.margin, 0); x < u; ++x) hidden[x] |= 2;
    while (u + 1 < columns && (hidden[u + 1] & 1) != 0) ++u;
    const int64_t last = std::min<int64_t>(u + trace.margin, columns - 1);
    for (int64_t x = u + 1; x <= last; ++x) hidden[x] |= 2;
  }
}

// `prior` may be null.
void InterpolateRow(const std::vector<uint8_t>& hidden, const float* prior, float* p) {
  const auto columns = static_cast<int64_t>(hidden.size());
  const auto scale = [&](int64_t u) {
    return prior == nullptr ? kFloor : std::max(prior[u], 0.f) + kFloor;
  };
  for (int64_t b = 0; b < columns; ++b) {
    if (hidden[b] == 0) continue;
    const int64_t a = b - 1;
    while (b < columns && hidden[b] != 0) ++b;
    if (a < 0 && b == columns) return;
    const float right = b < columns ? (p[b] + kFloor) / scale(b) : (p[a] + kFloor) / scale(a);
    const float left = a >= 0 ? (p[a] + kFloor) / scale(a) : right;
    const float step = (right - left) / static_cast<float>(b - a);
    for (int64_t u = a + 1; u < b; ++u) {
      p[u] = scale(u) * (left + step * static_cast<float>(u - a)) - kFloor;
    }
  }
}

class InterpolateTrace final : public ops::InterpolateTrace {
 public:
  explicit InterpolateTrace(std::shared_ptr<ThreadPool> pool) : pool_(std::move(pool)) {}

 private:
  absl::Status DoRun(int64_t views, const ops::MetalTrace& trace, const ops::ProjectionStack& metal,
                     const ops::ProjectionStack* prior, ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(const Stack* paths, AsStack(metal));
    const Stack* expected = nullptr;
    if (prior != nullptr) {
      ISO_ASSIGN_OR_RETURN(expected, AsStack(*prior));
    }
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    const RowLayout layout(shape);
    pool_->ParallelFor(views * shape.middle, [&](int64_t row, int) {
      const int64_t view = row / shape.middle, v = row % shape.middle;
      const int64_t at = view * layout.view_stride + v * layout.row_stride;
      std::vector<uint8_t> hidden(shape.fast);
      MarkTrace(paths->data() + view * layout.view_stride, layout.row_stride, shape.middle, v,
                trace, hidden);
      InterpolateRow(hidden, expected == nullptr ? nullptr : expected->data() + at,
                     stack->data() + at);
    });
    return absl::OkStatus();
  }

  const std::shared_ptr<ThreadPool> pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::InterpolateTrace>> NewInterpolateTrace(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<InterpolateTrace>(own->pool());
}

}  // namespace isocenter::cpu
