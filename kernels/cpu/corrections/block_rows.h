// What is done with rows of pixels and of blocks, in vectors. All rows are as padded as those of
// RowLayout and BlockGrid; what is behind their last value may hold anything, and is written to.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/corrections/block_grid.h"

namespace isocenter::cpu {

/// The means of a row of blocks: `rows` (1 to kCoarseBlock) rows of `columns` pixels. `sums` has
/// room for a row of pixels.
void BlockMeans(const float* pixels, int64_t row_stride, int rows, int columns, float* sums,
                float* means);

/// spread[u] = Σ values[from]·table.From(from)[u]. Blocks of 0 take no time.
void SpreadAlongRow(const float* values, const SpreadTable& table, float* spread);

/// spread[v][u] += Σ values[from][u]·table.From(from)[v], over the rows `from` that are listed.
void AddSpreadAlongColumns(const BlockGrid& grid, const float* values, std::span<const int> rows,
                           const SpreadTable& table, float* spread);

/// A row of pixels from the blocks of a frame: pixel u is interpolated[kCoarseBlock / 2 + u].
/// `blended` has room for a row of blocks, `interpolated` for grid.pixels().
void InterpolateRow(const BlockGrid& grid, const float* blocks, int64_t row, float* blended,
                    float* interpolated);

/// x <- (x - glare) · factor.
void TakeGlareOff(const float* glare, float factor, int columns, float* x);
/// x <- max(x - dose·scatter, kLeastPrimary·x).
void TakeScatterOff(const float* scatter, float dose, int columns, float* x);

}  // namespace isocenter::cpu
