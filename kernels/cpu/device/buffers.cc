#include "kernels/cpu/device/buffers.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/cpu/device/transpose.h"

namespace isocenter::cpu {
namespace {

// Filtered stacks: both copies transpose rows of the host into columns, a strip of columns at a
// time.
constexpr int64_t kStripColumns = 64;

}  // namespace

absl::StatusOr<DeviceMemory> DeviceMemory::Create(std::shared_ptr<ops::MemoryBudget> budget,
                                                  int64_t floats) {
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
  ISO_RETURN_IF_ERROR(budget->Take(bytes));
  absl::StatusOr<PageBuffer> pages = PageBuffer::Create(floats);
  if (!pages.ok()) {
    budget->Return(bytes);
    return pages.status();
  }
  return DeviceMemory(std::move(budget), *std::move(pages));
}

absl::Status DeviceMemory::Reserve(const std::shared_ptr<ops::MemoryBudget>& budget, int64_t floats,
                                   std::optional<DeviceMemory>& kept) {
  if (floats <= (kept ? kept->floats() : 0)) return absl::OkStatus();
  kept.reset();
  ISO_ASSIGN_OR_RETURN(DeviceMemory made, Create(budget, floats));
  kept.emplace(std::move(made));
  return absl::OkStatus();
}

DeviceMemory::~DeviceMemory() {
  if (budget_ != nullptr) budget_->Return(bytes());
}

absl::Status Stack::Reshape(Shape3 shape) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(shape, capacity_));
  if (shape == shape_) return absl::OkStatus();
  shape_ = shape;
  // The margins of another layout lie elsewhere, and must be zero.
  std::fill_n(data(), memory_.floats(), 0.0f);
  return absl::OkStatus();
}

absl::Status Stack::Upload(int64_t first_view, HostView3<const float> projections) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  const int64_t views = projections.shape().slow, rows = shape_.middle, columns = shape_.fast;
  if (use_ == ops::StackUse::kLineIntegrals) {
    const RowLayout layout(shape_);
    pool_->ParallelFor(views, [&](int64_t view, int) {
      float* to = data() + (first_view + view) * layout.view_stride;
      for (int64_t v = 0; v < rows; ++v) {
        std::copy_n(projections.row(view, v), columns, to + v * layout.row_stride);
      }
    });
    return absl::OkStatus();
  }
  const ColumnLayout layout(shape_);
  const int64_t strips = (columns + kStripColumns - 1) / kStripColumns;
  pool_->ParallelFor(views * strips, [&](int64_t index, int) {
    const int64_t view = index / strips, u = index % strips * kStripColumns;
    float* to =
        data() + (first_view + view) * layout.view_stride + layout.first + u * layout.column_stride;
    Transpose(projections.row(view, 0) + u, columns, rows, std::min(kStripColumns, columns - u), to,
              layout.column_stride);
  });
  return absl::OkStatus();
}

absl::Status Stack::Download(int64_t first_view, HostView3<float> projections) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("views", first_view, projections.shape(), shape_));
  const int64_t views = projections.shape().slow, rows = shape_.middle, columns = shape_.fast;
  if (use_ == ops::StackUse::kLineIntegrals) {
    const RowLayout layout(shape_);
    pool_->ParallelFor(views, [&](int64_t view, int) {
      const float* from = data() + (first_view + view) * layout.view_stride;
      for (int64_t v = 0; v < rows; ++v) {
        std::copy_n(from + v * layout.row_stride, columns, projections.row(view, v));
      }
    });
    return absl::OkStatus();
  }
  const ColumnLayout layout(shape_);
  const int64_t strips = (columns + kStripColumns - 1) / kStripColumns;
  pool_->ParallelFor(views * strips, [&](int64_t index, int) {
    const int64_t view = index / strips, u = index % strips * kStripColumns;
    const float* from =
        data() + (first_view + view) * layout.view_stride + layout.first + u * layout.column_stride;
    Transpose(from, layout.column_stride, std::min(kStripColumns, columns - u), rows,
              projections.row(view, 0) + u, columns);
  });
  return absl::OkStatus();
}

absl::Status Volume::Clear() {
  constexpr int64_t kPart = int64_t{1} << 18;
  pool_->ParallelFor((floats() + kPart - 1) / kPart, [&](int64_t part, int) {
    const int64_t first = part * kPart;
    std::fill_n(data() + first, std::min(kPart, floats() - first), 0.0f);
  });
  return absl::OkStatus();
}

absl::Status Volume::Regrid(const VolumeGrid& grid) {
  ISO_RETURN_IF_ERROR(ops::CheckReshape(grid.shape(), capacity_));
  grid_ = grid;
  return Clear();
}

absl::Status Volume::Upload(int64_t first_slice, HostView3<const float> slices) {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  const VolumeLayout layout(grid_);
  pool_->ParallelFor(grid_.ny, [&](int64_t y, int) {
    Transpose(slices.row(0, y), int64_t{grid_.nx} * grid_.ny, slices.shape().slow, grid_.nx,
              data() + y * layout.row_stride + first_slice, layout.column_stride);
  });
  return absl::OkStatus();
}

absl::Status Volume::Download(int64_t first_slice, HostView3<float> slices) const {
  ISO_RETURN_IF_ERROR(ops::CheckSlices("slices", first_slice, slices.shape(), grid_.shape()));
  const VolumeLayout layout(grid_);
  pool_->ParallelFor(grid_.ny, [&](int64_t y, int) {
    Transpose(memory_.data() + y * layout.row_stride + first_slice, layout.column_stride, grid_.nx,
              slices.shape().slow, slices.row(0, y), int64_t{grid_.nx} * grid_.ny);
  });
  return absl::OkStatus();
}

}  // namespace isocenter::cpu
