#include "kernels/cpu/iterative/vector_runs.h"

#include "kernels/base/status_macros.h"
#include "kernels/cpu/device/buffers.h"
#include "kernels/cpu/device/layout.h"
#include "kernels/ops/check.h"

namespace isocenter::cpu {
namespace {

Runs RunsOfRows(Shape3 shape, ops::StackUse use, RowRange rows) {
  if (use == ops::StackUse::kLineIntegrals) {
    const RowLayout layout(shape);
    return {.first = rows.first * layout.row_stride,
            .outer = shape.slow,
            .outer_stride = layout.view_stride,
            .inner = rows.count,
            .inner_stride = layout.row_stride,
            .length = shape.fast};
  }
  const ColumnLayout layout(shape);
  return {.first = layout.first + rows.first,
          .outer = shape.slow,
          .outer_stride = layout.view_stride,
          .inner = shape.fast,
          .inner_stride = layout.column_stride,
          .length = rows.count};
}

}  // namespace

absl::StatusOr<VectorMemory> MemoryOf(const ops::Vector& vector) {
  if (const auto* stack = dynamic_cast<const Stack*>(&vector)) {
    const Shape3 shape = stack->shape();
    return VectorMemory{
        .data = stack->data(),
        .runs = RunsOfRows(shape, stack->use(), {0, static_cast<int>(shape.middle)}),
        .shape = shape,
        .use = stack->use()};
  }
  if (const auto* volume = dynamic_cast<const Volume*>(&vector)) {
    const VolumeGrid& grid = volume->grid();
    const VolumeLayout layout(grid);
    return VectorMemory{.data = volume->data(),
                        .runs = {.outer = grid.ny,
                                 .outer_stride = layout.row_stride,
                                 .inner = grid.nx,
                                 .inner_stride = layout.column_stride,
                                 .length = grid.nz},
                        .shape = grid.shape(),
                        .use = std::nullopt};
  }
  return ops::ForeignBuffer("vector", "cpu");
}

Runs RunsOfRows(const VectorMemory& stack, RowRange rows) {
  return RunsOfRows(stack.shape, *stack.use, rows);
}

}  // namespace isocenter::cpu
