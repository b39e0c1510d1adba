// Types of array elements in files, and their conversion to float.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace isocenter::formats {

enum class ElementType { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kFloat32, kFloat64 };

int ElementBytes(ElementType type);

/// value[i] = element[i] * slope + intercept. `bytes` holds exactly values.size() elements.
void ToFloat(std::span<const std::byte> bytes, ElementType type, bool big_endian, double slope,
             double intercept, std::span<float> values);

}  // namespace isocenter::formats
