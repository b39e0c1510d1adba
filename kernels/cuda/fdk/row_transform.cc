#include "kernels/cuda/fdk/row_transform.h"

#include <optional>

namespace isocenter::cuda {
namespace {

// Large radices are few passes; odd ones come first, where their strides cost least.
std::optional<RowTransform> Factor(int n) {
  RowTransform transform{.n = n};
  const auto add = [&](int radix) { transform.radix[transform.passes++] = radix; };
  int rest = n, twos = 0;
  for (const int odd : {5, 3}) {
    for (; rest % odd == 0; rest /= odd) {
      if (transform.passes == RowTransform::kMaxPasses) return std::nullopt;
      add(odd);
    }
  }
  for (; rest % 2 == 0; rest /= 2) ++twos;
  if (rest != 1 || transform.passes + twos / 3 + 2 > RowTransform::kMaxPasses) return std::nullopt;
  if (twos % 3 == 2) add(4);
  if (twos % 3 == 1 && twos == 1) add(2);
  if (twos % 3 == 1 && twos > 1) {  // 16 as 4 x 4
    add(4);
    add(4);
    twos -= 4;
  }
  for (; twos >= 3; twos -= 3) add(8);
  return transform;
}

}  // namespace

RowTransform ChooseRowTransform(int least) {
  std::optional<RowTransform> best;
  // A power of two lies within this range.
  for (int n = (least + 1) / 2 * 2; n <= 2 * least || !best; n += 2) {
    const std::optional<RowTransform> candidate = Factor(n);
    if (!candidate) continue;
    // One more for reading and writing the row.
    const auto cost = [](const RowTransform& t) { return double{1} * t.n * (t.passes + 1); };
    if (!best || cost(*candidate) < cost(*best)) best = candidate;
  }
  return *best;
}

std::vector<int> FrequencyOrder(const RowTransform& transform) {
  std::vector<int> order(transform.n);
  for (int position = 0; position < transform.n; ++position) {
    int length = transform.n, rest = position, weight = 1;
    for (int pass = 0; pass < transform.passes; ++pass) {
      length /= transform.radix[pass];
      order[position] += rest / length * weight;
      rest %= length;
      weight *= transform.radix[pass];
    }
  }
  return order;
}

}  // namespace isocenter::cuda
