// Angles are radians inside the program and degrees in files and flags (names ending in _deg).
#pragma once

#include <numbers>

namespace isocenter {

inline constexpr double kPi = std::numbers::pi;

constexpr double DegreesToRadians(double degrees) { return degrees * (kPi / 180.0); }
constexpr double RadiansToDegrees(double radians) { return radians * (180.0 / kPi); }

}  // namespace isocenter
