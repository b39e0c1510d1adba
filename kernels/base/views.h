// Non-owning views of host memory. Device memory has types of its own (kernels/ops/device.h);
// nothing converts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace isocenter {

/// Extents of a three-dimensional array, slowest index first: [z][y][x] or [view][v][u].
struct Shape3 {
  int64_t slow = 0;
  int64_t middle = 0;
  int64_t fast = 0;

  constexpr int64_t count() const { return slow * middle * fast; }
  friend bool operator==(const Shape3&, const Shape3&) = default;
};

/// A three-dimensional array in host memory, the last index fastest, rows without gaps. It is dense
/// unless it was cut out by rows(). The memory must outlive the view.
template <class T>
class HostView3 {
 public:
  HostView3() = default;
  HostView3(T* data, Shape3 shape)
      : data_(data), shape_(shape), slow_stride_(shape.middle * shape.fast) {}
  /// A mutable view is usable where a constant one is asked for.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<U, std::remove_const_t<T>>)
      // NOLINTNEXTLINE(google-explicit-constructor)
      HostView3(const HostView3<U>& other)
      : data_(other.data()), shape_(other.shape()), slow_stride_(other.slow_stride()) {}

  T* data() const { return data_; }
  const Shape3& shape() const { return shape_; }
  /// Elements from one slowest index to the next.
  int64_t slow_stride() const { return slow_stride_; }
  /// All elements of a dense array.
  std::span<T> span() const { return {data_, static_cast<size_t>(shape_.count())}; }
  T& operator()(int64_t slow, int64_t middle, int64_t fast) const {
    return data_[slow * slow_stride_ + middle * shape_.fast + fast];
  }
  T* row(int64_t slow, int64_t middle) const {
    return data_ + slow * slow_stride_ + middle * shape_.fast;
  }
  /// The `count` slowest slices from `first`.
  HostView3 slices(int64_t first, int64_t count) const {
    HostView3 part = *this;
    part.data_ += first * slow_stride_;
    part.shape_.slow = count;
    return part;
  }
  /// `count` rows of each slice, from row `first`.
  HostView3 rows(int64_t first, int64_t count) const {
    HostView3 part = *this;
    part.data_ += first * shape_.fast;
    part.shape_.middle = count;
    return part;
  }

 private:
  T* data_ = nullptr;
  Shape3 shape_;
  int64_t slow_stride_ = 0;
};

}  // namespace isocenter
