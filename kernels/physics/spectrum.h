// X-ray spectra: how many photons of which energy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/physics/material.h"

namespace isocenter::physics {

/// Photons of some energies, relative to each other: their sum is 1.
struct Spectrum {
  std::vector<double> kev;      // ascending, kLeastKev to kMostKev
  std::vector<double> photons;  // of each energy, not negative

  double MeanKev() const;
};

inline constexpr int kMostEnergies = 1000;
inline constexpr uint64_t kMostSpectrumBytes = 1 << 20;

/// Normalised. Errors: INVALID_ARGUMENT naming the entry: 1 to kMostEnergies finite entries,
/// ascending energies of kLeastKev to kMostKev, photons of 0 to 1e30, not all 0.
absl::StatusOr<Spectrum> MakeSpectrum(std::vector<double> kev, std::vector<double> photons);

/// Reads a table of text: energy in keV and photons on each line, separated by blanks or a comma;
/// '#' begins a comment. Errors: those of MakeSpectrum and INVALID_ARGUMENT with the line number.
absl::StatusOr<Spectrum> ParseSpectrum(absl::string_view text);

/// ReadRegularFile (kernels/base/regular_file.h) of up to kMostSpectrumBytes, and ParseSpectrum;
/// the file's name is part of what it says. `name` is the flag or field that names the file.
absl::StatusOr<Spectrum> ReadSpectrum(absl::string_view name, const std::string& path);

/// What is left behind a filter of `thickness_mm` >= 0, relative to its own sum. Errors:
/// INVALID_ARGUMENT (nothing gets through).
absl::StatusOr<Spectrum> Filtered(const Spectrum& spectrum, const Material& filter,
                                  double thickness_mm);

}  // namespace isocenter::physics
