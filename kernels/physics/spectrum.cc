#include "kernels/physics/spectrum.h"

#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::physics {
namespace {

constexpr double kMostPhotons = 1e30;

absl::Status CheckEntry(const std::vector<double>& kev, const std::vector<double>& photons,
                        size_t i) {
  if (!(kev[i] >= kLeastKev && kev[i] <= kMostKev)) {
    return absl::InvalidArgumentError(absl::StrCat("energy ", i + 1, " is ", kev[i],
                                                   " keV; legal is ", kLeastKev, " to ", kMostKev));
  }
  if (i > 0 && !(kev[i] > kev[i - 1])) {
    return absl::InvalidArgumentError(absl::StrCat("energy ", i + 1, " is ", kev[i], " keV after ",
                                                   kev[i - 1], " keV; legal is a higher one"));
  }
  if (!(photons[i] >= 0 && photons[i] <= kMostPhotons)) {
    return absl::InvalidArgumentError(absl::StrCat("the photons of ", kev[i], " keV are ",
                                                   photons[i], "; legal is 0 to ", kMostPhotons));
  }
  return absl::OkStatus();
}

}  // namespace

double Spectrum::MeanKev() const {
  double mean = 0;
  for (size_t i = 0; i < kev.size(); ++i) mean += photons[i] * kev[i];
  return mean;
}

absl::StatusOr<Spectrum> MakeSpectrum(std::vector<double> kev, std::vector<double> photons) {
  if (kev.empty() || kev.size() > kMostEnergies || kev.size() != photons.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the spectrum has ", kev.size(), " energies and ", photons.size(),
                     " numbers of photons; legal is 1 to ", kMostEnergies, " of both"));
  }
  double sum = 0;
  for (size_t i = 0; i < kev.size(); ++i) {
    ISO_RETURN_IF_ERROR(CheckEntry(kev, photons, i));
    sum += photons[i];
  }
  if (!(sum > 0)) return absl::InvalidArgumentError("the spectrum has no photons");
  for (double& n : photons) n /= sum;
  return Spectrum{std::move(kev), std::move(photons)};
}

absl::StatusOr<Spectrum> ParseSpectrum(absl::string_view text) {
  std::vector<double> kev, photons;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++line_number;
    line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::vector<absl::string_view> cells =
        absl::StrSplit(line, absl::ByAnyChar(", \t"), absl::SkipEmpty());
    double energy, count;
    if (cells.size() != 2 || !absl::SimpleAtod(cells[0], &energy) ||
        !absl::SimpleAtod(cells[1], &count)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line_number, " is not an energy in keV and a number of photons"));
    }
    if (kev.size() == kMostEnergies) {
      return absl::InvalidArgumentError(absl::StrCat("line ", line_number, " is energy ",
                                                     kMostEnergies + 1, "; legal is 1 to ",
                                                     kMostEnergies));
    }
    kev.push_back(energy);
    photons.push_back(count);
  }
  return MakeSpectrum(std::move(kev), std::move(photons));
}

absl::StatusOr<Spectrum> ReadSpectrum(absl::string_view name, const std::string& path) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(name, path, kMostSpectrumBytes));
  absl::StatusOr<Spectrum> spectrum = ParseSpectrum(text);
  if (spectrum.ok()) return spectrum;
  return absl::Status(spectrum.status().code(),
                      absl::StrCat(path, ": ", spectrum.status().message()));
}

absl::StatusOr<Spectrum> Filtered(const Spectrum& spectrum, const Material& filter,
                                  double thickness_mm) {
  std::vector<double> photons = spectrum.photons;
  for (size_t i = 0; i < photons.size(); ++i) {
    photons[i] *= std::exp(-LinearAttenuation(filter, spectrum.kev[i]) * thickness_mm);
  }
  return MakeSpectrum(spectrum.kev, std::move(photons));
}

}  // namespace isocenter::physics
