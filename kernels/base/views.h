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

/// A dense three-dimensional array in host memory, the last index fastest. The memory must outlive
/// the view.
template <class T>
class HostView3 {
 public:
  HostView3() = default;
  HostView3(T* data, Shape3 shape) : data_(data), shape_(shape) {}
  /// A mutable view is usable where a constant one is asked for.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<U, std::remove_const_t<T>>)
      // NOLINTNEXTLINE(google-explicit-constructor)
      HostView3(const HostView3<U>& other)
      : data_(other.data()), shape_(other.shape()) {}

  T* data() const { return data_; }
  const Shape3& shape() const { return shape_; }
  std::span<T> span() const { return {data_, static_cast<size_t>(shape_.count())}; }
  T& operator()(int64_t slow, int64_t middle, int64_t fast) const {
    return data_[(slow * shape_.middle + middle) * shape_.fast + fast];
  }
  T* row(int64_t slow, int64_t middle) const {
    return data_ + (slow * shape_.middle + middle) * shape_.fast;
  }
  /// The `count` slowest slices from `first`.
  HostView3 slices(int64_t first, int64_t count) const {
    return HostView3(data_ + first * shape_.middle * shape_.fast,
                     Shape3{count, shape_.middle, shape_.fast});
  }

 private:
  T* data_ = nullptr;
  Shape3 shape_;
};

}  // namespace isocenter
