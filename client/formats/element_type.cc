#include "client/formats/element_type.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace isocenter::formats {
namespace {

template <class T>
void Convert(std::span<const std::byte> bytes, bool swap, double slope, double intercept,
             std::span<float> values) {
  std::byte element[sizeof(T)];
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(element, bytes.data() + i * sizeof(T), sizeof(T));
    if (swap) std::reverse(element, element + sizeof(T));
    T value;
    std::memcpy(&value, element, sizeof(T));
    values[i] = static_cast<float>(static_cast<double>(value) * slope + intercept);
  }
}

}  // namespace

int ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kUint8:
      return 1;
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kFloat64:
      return 8;
  }
  return 0;
}

void ToFloat(std::span<const std::byte> bytes, ElementType type, bool big_endian, double slope,
             double intercept, std::span<float> values) {
  const bool swap = big_endian != (std::endian::native == std::endian::big);
  switch (type) {
    case ElementType::kInt8:
      return Convert<int8_t>(bytes, swap, slope, intercept, values);
    case ElementType::kUint8:
      return Convert<uint8_t>(bytes, swap, slope, intercept, values);
    case ElementType::kInt16:
      return Convert<int16_t>(bytes, swap, slope, intercept, values);
    case ElementType::kUint16:
      return Convert<uint16_t>(bytes, swap, slope, intercept, values);
    case ElementType::kInt32:
      return Convert<int32_t>(bytes, swap, slope, intercept, values);
    case ElementType::kUint32:
      return Convert<uint32_t>(bytes, swap, slope, intercept, values);
    case ElementType::kFloat32:
      return Convert<float>(bytes, swap, slope, intercept, values);
    case ElementType::kFloat64:
      return Convert<double>(bytes, swap, slope, intercept, values);
  }
}

}  // namespace isocenter::formats
