#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/cpu/device/session.h"
#include "kernels/cpu/fanbeam/backproject_plan.h"
#include "kernels/cpu/fanbeam/methods.h"
#include "kernels/geometry/quarter_turns.h"
#include "kernels/ops/check.h"

namespace isocenter::cpu {
namespace {

constexpr int64_t kTileColumns = 512;
constexpr int64_t kTileBytes = 32 << 10;  // of sums; one row of all images is less
constexpr int kQuarters = 4;

int64_t ImagesOf(int64_t slices) { return slices >= kFanImages ? kFanImages : 1; }

template <class T>
int64_t FloatsOf(int64_t values) {
  return RoundUpToLine(values * static_cast<int64_t>(sizeof(T) / sizeof(float)));
}

// Pixels in which threads work, in order of rows.
struct Tiling {
  Tiling(const VolumeGrid& grid, int64_t images, int64_t value_bytes)
      : columns(std::min<int64_t>(RoundUpToLine(grid.nx), kTileColumns)),
        rows(std::clamp<int64_t>(kTileBytes / (images * columns * value_bytes), 1, 16)),
        across((grid.nx + columns - 1) / columns),
        down((grid.ny + rows - 1) / rows) {}
  // Sums from image to image: neighbors at multiples of a page would be taken for each other's.
  int64_t image_sums() const { return rows * columns + 2 * kLine; }
  int64_t columns, rows, across, down;
};

// What a tile's pixel is to its owner.
struct Pixel {
  int64_t image, row, column;
};

template <class T>
class Backproject : public ops::FanBeamBackproject {
 public:
  /// `tangent_elements` for each channel, to which rows of arcs are resampled; 0: they are not.
  explicit Backproject(const CpuSession& session, int tangent_elements)
      : pool_(session.pool()), budget_(session.budget()), tangent_elements_(tangent_elements) {}

  static int64_t Bytes(int tangent_elements, const ops::Device& device,
                       const ops::Extents& extents) {
    const Shape3& stack = extents.stack;
    const int64_t elements =
        tangent_elements == 0 ? stack.fast : MostTangentElements(stack.fast, tangent_elements);
    return int64_t{sizeof(float)} *
               FloatsOf<T>(stack.slow * stack.middle * FanRowStride(elements)) +
           device.limits().threads *
               (kTileBytes + kFanImages * 2 * kLine * static_cast<int64_t>(sizeof(T)));
  }

  absl::Status DoRun(const FanBeamGeometry& geometry, int first_view,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const Shape3& shape = stack->shape();
    ISO_RETURN_IF_ERROR(CopyRows(geometry, *stack, shape.slow));
    const FanPlan<T> plan(geometry, first_view, static_cast<int>(shape.slow), target->grid(),
                          tangent());
    const VolumeLayout layout(target->grid());
    for (int64_t slice = 0; slice < shape.middle;) {
      const int64_t images = ImagesOf(shape.middle - slice);
      float* const first = target->data() + slice;
      ISO_RETURN_IF_ERROR(AddTiles(
          plan, target->grid(), images, row(0, slice), shape.slow, shape.middle * row_stride_,
          row_stride_, [&](const Pixel& at, T sum) {
            float& voxel =
                first[at.row * layout.row_stride + at.column * layout.column_stride + at.image];
            voxel = static_cast<float>(voxel + sum);
          }));
      slice += images;
    }
    return absl::OkStatus();
  }

 protected:
  // Row (place, slice) of the copy.
  T* row(int64_t place, int64_t slice) {
    return reinterpret_cast<T*>(rows_->data()) + (place * slices_ + slice) * row_stride_;
  }
  int64_t row_stride() const { return row_stride_; }
  const std::shared_ptr<ops::MemoryBudget>& budget() const { return budget_; }
  ThreadPool& pool() { return *pool_; }

  // View v goes to place (v % period)·(views / period) + v / period: with the period of a quarter
  // turn, the four views that belong together follow each other.
  absl::Status CopyRows(const FanBeamGeometry& geometry, const Stack& stack, int64_t period) {
    const Shape3& shape = stack.shape();
    const bool resampled =
        tangent_elements_ > 0 && geometry.detector == FanBeamGeometry::Detector::kArc;
    tangent_ =
        resampled ? std::optional(MakeTangentRows(geometry, tangent_elements_)) : std::nullopt;
    const int64_t elements = resampled ? tangent_->count() : shape.fast;
    slices_ = shape.middle;
    row_stride_ = FanRowStride(elements);
    ISO_RETURN_IF_ERROR(DeviceMemory::Reserve(
        budget_, FloatsOf<T>(shape.slow * shape.middle * row_stride_), rows_));
    const RowLayout layout(shape);
    const int64_t together = shape.slow / period;
    pool_->ParallelFor(shape.slow, [&](int64_t view, int) {
      for (int64_t slice = 0; slice < shape.middle; ++slice) {
        const float* from = stack.data() + view * layout.view_stride + slice * layout.row_stride;
        T* to = row(view % period * together + view / period, slice);
        std::fill_n(to, kFanMargin, T{0});
        if (resampled) {
          Resample({from, static_cast<size_t>(shape.fast)}, to + kFanMargin);
        } else {
          std::copy_n(from, shape.fast, to + kFanMargin);
        }
        std::fill(to + kFanMargin + elements, to + row_stride_, T{0});
      }
    });
    return absl::OkStatus();
  }
  // The last CopyRows's; null where rows are as they were.
  const TangentRows* tangent() const { return tangent_.has_value() ? &*tangent_ : nullptr; }

  // Sums of `views` views of the plan over all pixels, each given to `add` once by one thread.
  template <class Add>
  absl::Status AddTiles(const FanPlan<T>& plan, const VolumeGrid& grid, int64_t images,
                        const T* rows, int64_t views, int64_t view_stride, int64_t image_stride,
                        Add add) {
    const Tiling tiling(grid, images, sizeof(T));
    const int64_t floats = FloatsOf<T>(images * tiling.image_sums());
    ISO_RETURN_IF_ERROR(DeviceMemory::Reserve(budget_, floats * pool_->threads(), sums_));
    pool_->ParallelFor(tiling.across * tiling.down, [&](int64_t index, int worker) {
      FanTile<T> tile{.plan = &plan,
                      .images = static_cast<int>(images),
                      .rows = rows,
                      .view_stride = view_stride,
                      .image_stride = image_stride,
                      .first_view = 0,
                      .views = views,
                      .first_column = index % tiling.across * tiling.columns,
                      .columns = tiling.columns,
                      .first_row = index / tiling.across * tiling.rows,
                      .sums = reinterpret_cast<T*>(sums_->data() + worker * floats),
                      .image_sums = tiling.image_sums()};
      tile.row_count = std::min(tiling.rows, grid.ny - tile.first_row);
      std::fill_n(tile.sums, images * tile.image_sums, T{0});
      AddViews(tile);
      const int64_t used = std::min(tile.columns, grid.nx - tile.first_column);
      for (int64_t row = 0; row < tile.row_count; ++row) {
        for (int64_t column = 0; column < used; ++column) {
          for (int64_t image = 0; image < images; ++image) {
            add({image, tile.first_row + row, tile.first_column + column},
                tile.sums[image * tile.image_sums + row * tile.columns + column]);
          }
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  // Linear between channels, zero beside them.
  void Resample(std::span<const float> row, T* to) const {
    const auto channels = static_cast<int64_t>(row.size());
    const auto at = [&](int64_t c) { return c >= 0 && c < channels ? row[c] : 0.0f; };
    for (const double position : tangent_->positions) {
      const double whole = std::floor(position);
      const auto c = static_cast<int64_t>(whole);
      *to++ = static_cast<T>(at(c) + (position - whole) * (double{at(c + 1)} - at(c)));
    }
  }

  std::shared_ptr<ThreadPool> pool_;
  std::shared_ptr<ops::MemoryBudget> budget_;
  const int tangent_elements_;
  std::optional<TangentRows> tangent_;
  std::optional<DeviceMemory> rows_, sums_;
  int64_t slices_ = 0, row_stride_ = 0;
};

template <class T>
class BackprojectQuarter final : public Backproject<T> {
 public:
  using Base = Backproject<T>;
  using Base::Base;

  static int64_t Bytes(int tangent_elements, const ops::Device& device,
                       const ops::Extents& extents) {
    return Base::Bytes(tangent_elements, device, extents) +
           int64_t{sizeof(float)} * QuarterFloats(extents.grid);
  }

  absl::Status DoRun(const FanBeamGeometry& geometry, int first_view,
                     const ops::ProjectionStack& filtered, ops::VolumeBuffer& volume) override {
    const int64_t views = filtered.shape().slow;
    if (!QuarterTurnsAreAlike(geometry, views, volume.grid())) {
      return Base::DoRun(geometry, first_view, filtered, volume);
    }
    ISO_ASSIGN_OR_RETURN(const Stack* stack, AsStack(filtered));
    ISO_ASSIGN_OR_RETURN(Volume * target, AsVolume(volume));
    const VolumeGrid& grid = target->grid();
    const int64_t period = views / kQuarters, slices = filtered.shape().middle;
    ISO_RETURN_IF_ERROR(this->CopyRows(geometry, *stack, period));
    ISO_RETURN_IF_ERROR(DeviceMemory::Reserve(this->budget(), QuarterFloats(grid), quarters_));
    const FanPlan<T> plan(geometry, 0, static_cast<int>(period), grid, this->tangent());
    const int64_t pixels = int64_t{grid.nx} * grid.nx;
    T* const sums = reinterpret_cast<T*>(quarters_->data());
    for (int64_t slice = 0; slice < slices; ++slice) {
      ISO_RETURN_IF_ERROR(AddQuarters(plan, grid, slice, slices, period, sums, pixels));
      AddTurned(*target, slice, geometry.arc > 0, sums, pixels);
    }
    return absl::OkStatus();
  }

 private:
  static int64_t QuarterFloats(const VolumeGrid& grid) {
    return FloatsOf<T>(kQuarters * int64_t{grid.nx} * grid.ny);
  }

  absl::Status AddQuarters(const FanPlan<T>& plan, const VolumeGrid& grid, int64_t slice,
                           int64_t slices, int64_t period, T* sums, int64_t pixels) {
    return this->AddTiles(plan, grid, kQuarters, this->row(0, slice), period,
                          kQuarters * slices * this->row_stride(), slices * this->row_stride(),
                          [&](const Pixel& at, T sum) {
                            sums[at.image * pixels + at.row * grid.nx + at.column] = sum;
                          });
  }

  // Image m holds what its quarter of the views gives to pixels that are turned by m quarters:
  // (i, j) becomes (n-1-j, i) where β grows.
  void AddTurned(Volume& volume, int64_t slice, bool forwards, const T* sums, int64_t pixels) {
    const int64_t n = volume.grid().nx;
    const VolumeLayout layout(volume.grid());
    this->pool().ParallelFor(n, [&](int64_t y, int) {
      for (int64_t x = 0; x < n; ++x) {
        int64_t i = x, j = y;
        T sum = 0;
        for (int64_t m = 0; m < kQuarters; ++m) {
          sum += sums[m * pixels + j * n + i];
          const int64_t turned = forwards ? j : n - 1 - j;
          j = forwards ? n - 1 - i : i;
          i = turned;
        }
        float& voxel = volume.data()[y * layout.row_stride + x * layout.column_stride + slice];
        voxel = static_cast<float>(voxel + sum);
      }
    });
  }

  std::optional<DeviceMemory> quarters_;
};

}  // namespace

template <class T>
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackproject(
    ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<Backproject<T>>(*own, 0);
}
template <class T>
int64_t FanBeamBackprojectBytes(const ops::Device& device, const ops::Extents& extents) {
  return Backproject<T>::Bytes(0, device, extents);
}
template <class T>
absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectQuarter(
    ops::Session& session) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<BackprojectQuarter<T>>(*own, 0);
}
template <class T>
int64_t FanBeamBackprojectQuarterBytes(const ops::Device& device, const ops::Extents& extents) {
  return BackprojectQuarter<T>::Bytes(0, device, extents);
}

absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackprojectTangent(
    ops::Session& session, int per_channel) {
  ISO_ASSIGN_OR_RETURN(CpuSession * own, AsCpuSession(session));
  return std::make_unique<BackprojectQuarter<float>>(*own, per_channel);
}
int64_t FanBeamBackprojectTangentBytes(int per_channel, const ops::Device& device,
                                       const ops::Extents& extents) {
  return BackprojectQuarter<float>::Bytes(per_channel, device, extents);
}

#define ISOCENTER_FAN_BEAM_METHODS(T)                                                         \
  template absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>> NewFanBeamBackproject<T>( \
      ops::Session&);                                                                         \
  template int64_t FanBeamBackprojectBytes<T>(const ops::Device&, const ops::Extents&);       \
  template absl::StatusOr<std::unique_ptr<ops::FanBeamBackproject>>                           \
  NewFanBeamBackprojectQuarter<T>(ops::Session&);                                             \
  template int64_t FanBeamBackprojectQuarterBytes<T>(const ops::Device&, const ops::Extents&);
ISOCENTER_FAN_BEAM_METHODS(float)
ISOCENTER_FAN_BEAM_METHODS(double)
#undef ISOCENTER_FAN_BEAM_METHODS

}  // namespace isocenter::cpu
