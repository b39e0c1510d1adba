#include "kernels/cpu/corrections/block_rows.h"

#include <algorithm>

#include "kernels/cpu/device/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/corrections/block_rows.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h: this header, too, is compiled once per target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace isocenter::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kLine>;
using V = hn::Vec<D>;

inline int64_t Lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

void SumRows(const float* pixels, int64_t row_stride, int rows, int columns, float* sums) {
  const D d;
  for (int64_t u = 0; u < columns; u += Lanes()) {
    V sum = hn::Load(d, pixels + u);
    for (int v = 1; v < rows; ++v) sum = hn::Add(sum, hn::Load(d, pixels + v * row_stride + u));
    hn::Store(sum, d, sums + u);
  }
}

// Four vectors of outputs stay in registers while all inputs pass.
template <class Input, class Weight>
HWY_INLINE void Accumulate(int64_t stride, int inputs, const Input& input, const Weight& weight,
                           const float* start, float* out) {
  const D d;
  const int64_t lanes = Lanes();
  int64_t u = 0;
  for (; u + 4 * lanes <= stride; u += 4 * lanes) {
    V a = hn::Load(d, start + u), b = hn::Load(d, start + u + lanes);
    V e = hn::Load(d, start + u + 2 * lanes), f = hn::Load(d, start + u + 3 * lanes);
    for (int i = 0; i < inputs; ++i) {
      const float* values = input(i) + u;
      const V w = hn::Set(d, weight(i));
      a = hn::MulAdd(hn::LoadU(d, values), w, a);
      b = hn::MulAdd(hn::LoadU(d, values + lanes), w, b);
      e = hn::MulAdd(hn::LoadU(d, values + 2 * lanes), w, e);
      f = hn::MulAdd(hn::LoadU(d, values + 3 * lanes), w, f);
    }
    hn::Store(a, d, out + u);
    hn::Store(b, d, out + u + lanes);
    hn::Store(e, d, out + u + 2 * lanes);
    hn::Store(f, d, out + u + 3 * lanes);
  }
  for (; u < stride; u += lanes) {
    V a = hn::Load(d, start + u);
    for (int i = 0; i < inputs; ++i) {
      a = hn::MulAdd(hn::LoadU(d, input(i) + u), hn::Set(d, weight(i)), a);
    }
    hn::Store(a, d, out + u);
  }
}

void SpreadRow(const float* values, const SpreadTable& table, float* spread) {
  // Runs of blocks that have something: groups of scatter are in one piece, or few.
  const int64_t stride = RoundUpToLine(table.blocks());
  std::fill(spread, spread + stride, 0.f);
  for (int first = 0; first < table.blocks();) {
    int end = first;
    while (end < table.blocks() && values[end] != 0) ++end;
    if (end > first) {
      Accumulate(
          stride, end - first, [&](int i) HWY_ATTR { return table.From(first + i); },
          [&](int i) HWY_ATTR { return values[first + i]; }, spread, spread);
    }
    first = end + 1;
  }
}

void AddSpreadColumns(const BlockGrid& grid, const float* values, std::span<const int> rows,
                      const SpreadTable& table, float* spread) {
  for (int v = 0; v < grid.rows; ++v) {
    float* out = spread + v * grid.stride;
    Accumulate(
        grid.stride, static_cast<int>(rows.size()),
        [&](int i) HWY_ATTR { return values + rows[i] * grid.stride; },
        [&](int i) HWY_ATTR { return table.From(rows[i])[v]; }, out, out);
  }
}

// (1 - share)·upper + share·lower.
void Blend(const float* upper, const float* lower, float share, int columns, float* out) {
  const D d;
  for (int64_t u = 0; u < columns; u += Lanes()) {
    const V a = hn::Load(d, upper + u), b = hn::Load(d, lower + u);
    hn::Store(hn::MulAdd(hn::Set(d, share), hn::Sub(b, a), a), d, out + u);
  }
}

void ExpandRow(const float* blocks, int columns, float* out) {
  const D d;
  for (int64_t k = 0; k < kLine; k += Lanes()) {
    const V share = hn::Mul(hn::Add(hn::Iota(d, static_cast<float>(k)), hn::Set(d, 0.5f)),
                            hn::Set(d, 1.f / kLine));
    for (int i = 0; i <= columns; ++i) {  // from the centre of block i - 1 to that of block i
      const float left = blocks[std::max(i - 1, 0)], right = blocks[std::min(i, columns - 1)];
      hn::Store(hn::MulAdd(share, hn::Set(d, right - left), hn::Set(d, left)), d,
                out + i * kLine + k);
    }
  }
}

void SubtractGlare(const float* glare, float factor, int columns, float* x) {
  const D d;
  for (int64_t u = 0; u < columns; u += Lanes()) {
    const V rest = hn::Sub(hn::Load(d, x + u), hn::LoadU(d, glare + u));
    hn::Store(hn::Mul(rest, hn::Set(d, factor)), d, x + u);
  }
}

void SubtractScatter(const float* scatter, float dose, int columns, float* x) {
  const D d;
  const V least = hn::Set(d, static_cast<float>(ops::kLeastPrimary));
  for (int64_t u = 0; u < columns; u += Lanes()) {
    const V value = hn::Load(d, x + u);
    const V rest = hn::NegMulAdd(hn::Set(d, dose), hn::LoadU(d, scatter + u), value);
    hn::Store(hn::Max(rest, hn::Mul(least, value)), d, x + u);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace isocenter::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace isocenter::cpu {

HWY_EXPORT(SumRows);
HWY_EXPORT(SpreadRow);
HWY_EXPORT(AddSpreadColumns);
HWY_EXPORT(Blend);
HWY_EXPORT(ExpandRow);
HWY_EXPORT(SubtractGlare);
HWY_EXPORT(SubtractScatter);

void BlockMeans(const float* pixels, int64_t row_stride, int rows, int columns, float* sums,
                float* means) {
  HWY_DYNAMIC_DISPATCH(SumRows)(pixels, row_stride, rows, columns, sums);
  for (int first = 0; first < columns; first += ops::kCoarseBlock) {
    const int count = std::min(ops::kCoarseBlock, columns - first);
    float sum[4] = {};
    for (int k = 0; k < count; ++k) sum[k % 4] += sums[first + k];
    *means++ = (sum[0] + sum[1] + (sum[2] + sum[3])) / static_cast<float>(rows * count);
  }
}

void SpreadAlongRow(const float* values, const SpreadTable& table, float* spread) {
  HWY_DYNAMIC_DISPATCH(SpreadRow)(values, table, spread);
}

void AddSpreadAlongColumns(const BlockGrid& grid, const float* values, std::span<const int> rows,
                           const SpreadTable& table, float* spread) {
  HWY_DYNAMIC_DISPATCH(AddSpreadColumns)(grid, values, rows, table, spread);
}

void InterpolateRow(const BlockGrid& grid, const float* blocks, int64_t row, float* blended,
                    float* interpolated) {
  const float place =
      std::clamp((static_cast<float>(row) - (ops::kCoarseBlock - 1) / 2.f) / ops::kCoarseBlock, 0.f,
                 static_cast<float>(grid.rows - 1));
  const int upper = static_cast<int>(place), lower = std::min(upper + 1, grid.rows - 1);
  HWY_DYNAMIC_DISPATCH(Blend)
  (blocks + upper * grid.stride, blocks + lower * grid.stride, place - static_cast<float>(upper),
   grid.columns, blended);
  HWY_DYNAMIC_DISPATCH(ExpandRow)(blended, grid.columns, interpolated);
}

void TakeGlareOff(const float* glare, float factor, int columns, float* x) {
  HWY_DYNAMIC_DISPATCH(SubtractGlare)(glare, factor, columns, x);
}

void TakeScatterOff(const float* scatter, float dose, int columns, float* x) {
  HWY_DYNAMIC_DISPATCH(SubtractScatter)(scatter, dose, columns, x);
}

}  // namespace isocenter::cpu
#endif  // HWY_ONCE
