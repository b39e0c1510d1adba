// Non-owning views of host memory. Device memory has types of its own (kernels/ops/buffers.h);
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

/// Whether a view of U is usable where one of T is asked for: T is U, or U const.
template <class U, class T>
concept ViewableAs = std::is_same_v<U, T> || std::is_same_v<const U, T>;

template <class T>
class StridedView3;

/// A dense three-dimensional array in host memory, the last index fastest, nothing between its
/// elements. The memory must outlive the view.
template <class T>
class HostView3 {
 public:
  HostView3() = default;
  HostView3(T* data, Shape3 shape) : data_(data), shape_(shape) {}
  template <ViewableAs<T> U>
  // NOLINTNEXTLINE(google-explicit-constructor)
  HostView3(const HostView3<U>& other) : data_(other.data()), shape_(other.shape()) {}

  T* data() const { return data_; }
  const Shape3& shape() const { return shape_; }
  std::span<T> span() const { return {data_, static_cast<size_t>(shape_.count())}; }
  T& operator()(int64_t slow, int64_t middle, int64_t fast) const {
    return row(slow, middle)[fast];
  }
  T* row(int64_t slow, int64_t middle) const {
    return data_ + (slow * shape_.middle + middle) * shape_.fast;
  }
  /// The `count` slowest slices from `first`.
  HostView3 slices(int64_t first, int64_t count) const {
    return {row(first, 0), {count, shape_.middle, shape_.fast}};
  }
  /// `count` rows of each slice, from row `first`.
  StridedView3<T> rows(int64_t first, int64_t count) const {
    return StridedView3<T>(*this).rows(first, count);
  }

 private:
  T* data_ = nullptr;
  Shape3 shape_;
};

/// An array of which the rows are dense and the slices apart: what rows() cuts out of each slice of
/// a dense one. A dense view is usable where a strided one is asked for, never the other way round.
template <class T>
class StridedView3 {
 public:
  StridedView3() = default;
  /// Dense.
  StridedView3(T* data, Shape3 shape) : StridedView3(HostView3<T>(data, shape)) {}
  template <ViewableAs<T> U>
  // NOLINTNEXTLINE(google-explicit-constructor)
  StridedView3(const HostView3<U>& dense)
      : first_(dense.data()), shape_(dense.shape()), slow_stride_(shape_.middle * shape_.fast) {}
  template <ViewableAs<T> U>
  // NOLINTNEXTLINE(google-explicit-constructor)
  StridedView3(const StridedView3<U>& other)
      : first_(other.row(0, 0)), shape_(other.shape()), slow_stride_(other.slow_stride()) {}

  /// Whether it looks at anything.
  explicit operator bool() const { return first_ != nullptr; }
  const Shape3& shape() const { return shape_; }
  /// Elements from one slowest index to the next.
  int64_t slow_stride() const { return slow_stride_; }
  T& operator()(int64_t slow, int64_t middle, int64_t fast) const {
    return row(slow, middle)[fast];
  }
  /// The rows of one slice follow each other.
  T* row(int64_t slow, int64_t middle) const {
    return first_ + slow * slow_stride_ + middle * shape_.fast;
  }
  StridedView3 slices(int64_t first, int64_t count) const {
    StridedView3 part = *this;
    part.first_ = row(first, 0);
    part.shape_.slow = count;
    return part;
  }
  StridedView3 rows(int64_t first, int64_t count) const {
    StridedView3 part = *this;
    part.first_ = row(0, first);
    part.shape_.middle = count;
    return part;
  }

 private:
  T* first_ = nullptr;
  Shape3 shape_;
  int64_t slow_stride_ = 0;
};

}  // namespace isocenter
