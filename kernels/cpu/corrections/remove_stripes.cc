#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "kernels/base/status_macros.h"
#include "kernels/cpu/corrections/lane_medians.h"
#include "kernels/cpu/corrections/second_pass_methods.h"
#include "kernels/cpu/device/session.h"

namespace isocenter::cpu {
namespace {

// What a thread works with: [column][view], with room for whole lines of columns.
int64_t FloatsOfThread(Shape3 shape) { return RoundUpToLine(shape.fast) * shape.slow; }

// Means of the pixels k before and behind the columns from `first` on. Beyond the row the numbers
// that leave the lower median of the others where it is: by turns the smallest and the largest.
void PairMeans(const float* row, int64_t columns, int64_t first,
               float (&means)[ops::kStripeReach][kLanes]) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const bool within = first >= ops::kStripeReach && first + kLanes + ops::kStripeReach <= columns;
  for (int n = 0; n < ops::kStripeReach; ++n) {
    const int64_t k = n + 1;
    for (int64_t l = 0; l < kLanes; ++l) {
      const int64_t u = first + l;
      if (within || (u >= k && u + k < columns)) {
        means[n][l] = 0.5f * (row[u - k] + row[u + k]);
      } else {
        const int64_t pairs = std::max<int64_t>(0, std::min(u, columns - 1 - u));
        means[n][l] = (n - pairs) % 2 == 0 ? -kLargest : kLargest;
      }
    }
  }
}

// What is not the median of pairs around, of all a row's columns: to high[u·views + view].
void HighPass(const float* row, int64_t columns, int64_t view, int64_t views, float* high) {
  for (int64_t first = 0; first < columns; first += kLanes) {
    float means[ops::kStripeReach][kLanes];
    PairMeans(row, columns, first, means);
    const float* const median = MedianOf(means);
    const int64_t lanes = std::min(kLanes, columns - first);
    for (int64_t l = 0; l < lanes; ++l) {
      high[(first + l) * views + view] = row[first + l] - median[l];
    }
  }
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
    // The first and the last column have no pair.
    for (int64_t u = 1; u + 1 < shape.fast; ++u) {
      float* const begin = high + u * shape.slow;
      float* const median = begin + (shape.slow - 1) / 2;
      std::nth_element(begin, median, begin + shape.slow);
      const float stripe = Believed(*median, static_cast<float>(ops::kMostStripe));
      if (stripe == 0) continue;
      for (int64_t view = 0; view < shape.slow; ++view) row[view * stride + u] -= stripe;
    }
  }

  const std::shared_ptr<ThreadPool> pool_;
  const std::shared_ptr<MemoryBudget> budget_;
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
