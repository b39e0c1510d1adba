// Vectors of float64 in device code, added up in the order of kernels/geometry/vec3.h.
#pragma once

#include "kernels/cuda/physics/follow_photons.h"

namespace isocenter::cuda {

__device__ inline Point3 operator+(Point3 a, Point3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ inline Point3 operator-(Point3 a, Point3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ inline Point3 operator*(double s, Point3 a) { return {s * a.x, s * a.y, s * a.z}; }
__device__ inline double Dot(Point3 a, Point3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ inline Point3 Cross(Point3 a, Point3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
__device__ inline double Norm(Point3 a) { return sqrt(Dot(a, a)); }
__device__ inline Point3 Unit(Point3 a) { return (1 / Norm(a)) * a; }

}  // namespace isocenter::cuda
