#include "kernels/calibrate/water/thick_water.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/strings/str_format.h"

namespace isocenter::calibrate {
namespace {

constexpr double kHardestKev = 150;
constexpr double kThickShare = 0.75;  // of the longest chord
struct Attenuation {
  double kev, per_mm;
};
constexpr Attenuation kWater[] = {{40, 0.02683}, {50, 0.02269},  {60, 0.02059},
                                  {80, 0.01837}, {100, 0.01707}, {150, 0.01505}};

double SlopeOfThick(const std::vector<WaterPoint>& points) {
  const double from_mm = kThickShare * points.back().water_mm;
  double count = 0, mm = 0, line = 0, mm_mm = 0, mm_line = 0;
  for (const WaterPoint& point : points) {
    if (point.water_mm < from_mm) continue;
    ++count;
    mm += point.water_mm;
    line += point.line_integral;
    mm_mm += point.water_mm * point.water_mm;
    mm_line += point.water_mm * point.line_integral;
  }
  return (count * mm_line - mm * line) / (count * mm_mm - mm * mm);
}

}  // namespace

double WaterAttenuation(double kev) {
  const auto* above =
      std::ranges::find_if(kWater, [&](const Attenuation& known) { return known.kev >= kev; });
  if (above == std::begin(kWater)) return above->per_mm;
  if (above == std::end(kWater)) return std::prev(above)->per_mm;
  const Attenuation& below = *std::prev(above);
  const double share = std::log(kev / below.kev) / std::log(above->kev / below.kev);
  return below.per_mm * std::pow(above->per_mm / below.per_mm, share);
}

ThickWater JudgeThickWater(const std::vector<WaterPoint>& points, double tube_voltage_kv) {
  const double kev = tube_voltage_kv > 0 ? tube_voltage_kv : kHardestKev;
  const double least = WaterAttenuation(kev);
  ThickWater judged{
      .attenuation = {"attenuation behind thick water", SlopeOfThick(points), "1/mm"}};
  if (judged.attenuation.value >= least) return judged;
  judged.warnings.push_back(absl::StrFormat(
      "behind %.0f mm of water a millimetre more attenuates %.4f; legal is %.4f, water's at %g "
      "keV, or more: counts are added to those of the light, and HU will be too low behind thick "
      "objects. Were the dark frames taken with the flat frames' exposure time and temperature, "
      "and is the beam collimated so that hardly any scatter arrives?",
      points.back().water_mm, judged.attenuation.value, least, kev));
  return judged;
}

}  // namespace isocenter::calibrate
