// How photons interact, from the tables of physics::CrossSections.
#pragma once

#include "kernels/cuda/physics/draws.cuh"
#include "kernels/cuda/physics/follow_photons.h"

namespace isocenter::cuda {

constexpr double kElectronRestKev = 511;
constexpr double kKevAngstrom = 12.39842;  // h·c

__device__ inline float4 operator*(float4 a, float4 b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
}
__device__ inline float4 operator*(float s, float4 a) {
  return {s * a.x, s * a.y, s * a.z, s * a.w};
}
__device__ inline double SumOf(float4 a) { return a.x + a.y + a.z + a.w; }
__device__ inline float Lane(float4 a, int i) {
  return i == 0 ? a.x : i == 1 ? a.y : i == 2 ? a.z : a.w;
}

__device__ inline float Between(float a, float b, float fraction) { return a + fraction * (b - a); }
__device__ inline float4 Between(float4 a, float4 b, float fraction) {
  return {Between(a.x, b.x, fraction), Between(a.y, b.y, fraction), Between(a.z, b.z, fraction),
          Between(a.w, b.w, fraction)};
}

// Linear in between; `position` in steps.
template <typename T>
__device__ T At(const T* table, int count, double position) {
  const int i = min(max(static_cast<int>(position), 0), count - 2);
  return Between(__ldg(table + i), __ldg(table + i + 1), static_cast<float>(position - i));
}
template <typename T>
__device__ T AtEnergy(const SectionsOnDevice& s, const T* table, double kev) {
  return At(table, s.energies, (kev - s.least_kev) / s.step_kev);
}

__device__ inline double Transfer(double kev, double cosine) {
  return kev / kKevAngstrom * sqrt(fmax(0.0, (1 - cosine) / 2));
}
__device__ inline float4 AtTransfer(const SectionsOnDevice& s, const float4* table, double x) {
  return At(table, s.transfers, x / s.transfer_step);
}

__device__ inline double ComptonKev(double kev, double cosine) {
  return kev / (1 + kev / kElectronRestKev * (1 - cosine));
}
// Klein-Nishina over its value straight ahead.
__device__ inline double KleinNishina(double kev, double cosine) {
  const double p = 1 / (1 + kev / kElectronRestKev * (1 - cosine));
  return p * p * (p + 1 / p - 1 + cosine * cosine) / 2;
}
__device__ inline double Thomson(double cosine) { return (1 + cosine * cosine) / 2; }

// The first place of sorted values from `first` up to but not `last` that is above `x`.
__device__ inline int FirstAbove(const double* values, int first, int last, double x) {
  while (first < last) {
    const int middle = (first + last) / 2;
    if (__ldg(values + middle) > x) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

// x² after the form factors, then the rest of the distribution by rejection.
__device__ inline double DrawCoherent(const SectionsOnDevice& s, int material, double kev,
                                      Draws& draws) {
  const double* const integral = s.form_factor_integrals + material * s.transfers;
  const double most_x = kev / kKevAngstrom, position = most_x / s.transfer_step;
  const int last = static_cast<int>(position);
  const double most = integral[last] + (position - last) * (integral[last + 1] - integral[last]);
  while (true) {
    const double drawn = most * draws.Uniform();
    const int i = FirstAbove(integral, 1, last + 1, drawn);
    const double low = (i - 1) * s.transfer_step, high = i * s.transfer_step;
    const double square = low * low + (high * high - low * low) * (drawn - integral[i - 1]) /
                                          (integral[i] - integral[i - 1]);
    const double cosine = fmax(-1.0, 1 - 2 * square / (most_x * most_x));
    if (draws.Uniform() < Thomson(cosine)) return cosine;
  }
}

__device__ inline double DrawIncoherent(const SectionsOnDevice& s, int material, double kev,
                                        Draws& draws) {
  const double most = Lane(s.incoherent_functions[s.transfers - 1], material);
  while (true) {
    const double cosine = 2 * draws.Uniform() - 1;
    const double function =
        Lane(AtTransfer(s, s.incoherent_functions, Transfer(kev, cosine)), material);
    if (most * draws.Uniform() < KleinNishina(kev, cosine) * function) return cosine;
  }
}

}  // namespace isocenter::cuda
