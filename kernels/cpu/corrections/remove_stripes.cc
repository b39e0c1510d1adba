#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "kernels/base/status_macros.h"
#include "kernels/cpu/corrections/lane_medians.h"
#include "kernels/cpu/corrections/second_pass_methods.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

// What a thread works with: [column][view], with room for whole lines of columns.
int64_t FloatsOfThread(Shape3 shape) { return RoundUpToLine(shape.fast) * shape.slow; }

// Columns at both ends of a row have no pairs.
constexpr int64_t kMargin = 2 * ops::kStripePairs;

// What is not the median of pairs around, of a row's columns: to high[u·views + view].
void HighPass(const float* row, int64_t columns, int64_t view, int64_t views, float* high) {
  for (int64_t first = kMargin; first + kMargin < columns; first += kLanes) {
    const int64_t lanes = std::min(kLanes, columns - kMargin - first);
    float pairs[ops::kStripePairs][kLanes] = {};
    for (int n = 0; n < ops::kStripePairs; ++n) {
      const int64_t k = n + 1;
      const float* const at = row + first;
      for (int64_t l = 0; l < lanes; ++l) {
        const float near = at[l - k] + at[l + k], far = at[l - 2 * k] + at[l + 2 * k];
        pairs[n][l] = (4 * near - far) / 6;
      }
    }
    const float* const median = MedianOf(pairs);
    for (int64_t l = 0; l < lanes; ++l) {
      high[(first + l) * views + view] = row[first + l] - median[l];
    }
  }
}

// Of a pixel's `views`, which are in another order then.
float StripeOf(float* high, int64_t views) {
  std::array<float, ops::kStripeParts> medians;
  for (int64_t part = 0; part < ops::kStripeParts; ++part) {
    float* const begin = high + part * views / ops::kStripeParts;
    float* const end = high + (part + 1) * views / ops::kStripeParts;
    float* const median = begin + (end - begin - 1) / 2;
    std::nth_element(begin, median, end);
    medians[part] = *median;
  }
  std::sort(medians.begin(), medians.end());
  const float low = medians[1], highest = medians[ops::kStripeParts - 2];
  return Believed(low > 0 ? low : std::min(highest, 0.f), static_cast<float>(ops::kMostStripe));
}

class RemoveStripes final : public ops::RemoveStripes {
 public:
  explicit RemoveStripes(const CpuSession& session)
      : pool_(session.pool()), budget_(session.budget()) {}

 private:
  absl::Status DoRun(ops::ProjectionStack& frames) override {
    ISO_ASSIGN_OR_RETURN(Stack * stack, AsStack(frames));
    const Shape3 shape = stack->shape();
    const RowLayout layout(shape);
    if (shape.slow < ops::kStripeParts) return absl::OkStatus();
    const int64_t of_thread = FloatsOfThread(shape);
    ISO_RETURN_IF_ERROR(DeviceMemory::Reserve(budget_, pool_->threads() * of_thread, high_));
    pool_->ParallelFor(shape.middle, [&](int64_t v, int worker) {
      for (int pass = 0; pass < ops::kStripePasses; ++pass) {
        CorrectRow(stack->data() + v * layout.row_stride, layout.view_stride, shape,
                   high_->data() + worker * of_thread);
      }
    });
    return absl::OkStatus();
  }

  // `row` of the first view; they are `stride` apart.
  static void CorrectRow(float* row, int64_t stride, Shape3 shape, float* high) {
    for (int64_t view = 0; view < shape.slow; ++view) {
      HighPass(row + view * stride, shape.fast, view, shape.slow, high);
    }
    for (int64_t u = kMargin; u + kMargin < shape.fast; ++u) {
      const float stripe = StripeOf(high + u * shape.slow, shape.slow);
      if (stripe == 0) continue;
      for (int64_t view = 0; view < shape.slow; ++view) row[view * stride + u] -= stripe;
    }
  }

  const std::shared_ptr<ThreadPool> pool_;
  const std::shared_ptr<ops::MemoryBudget> budget_;
  std::optional<DeviceMemory> high_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ops::RemoveStripes>> NewRemoveStripes(ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<RemoveStripes>(*own);
}

int64_t RemoveStripesBytes(const ops::Device& device, const ops::Extents& extents) {
  return device.limits().threads * FloatsOfThread(extents.stack) *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace isocenter::cpu
