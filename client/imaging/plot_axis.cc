#include "client/imaging/plot_axis.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace isocenter::imaging {
namespace {

constexpr int kMostTicks = 6;

std::string Text(double value) { return absl::StrFormat("%.4g", value); }

/// The least of 1, 2, 5 times a power of ten that divides `span` into few parts.
double RoundStep(double span) {
  const double raw = span / kMostTicks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> RoundValues(double low, double high) {
  const double step = RoundStep(high - low), slack = 1e-9 * (high - low);
  std::vector<double> values;
  for (double i = std::ceil((low - slack) / step); i * step <= high + slack; ++i) {
    values.push_back(i == 0 ? 0 : i * step);  // not -0
  }
  return values;
}

std::vector<Tick> Decades(const AxisRange& range) {
  const double span = range.high - range.low, slack = 1e-9 * span;
  const int every = 1 + static_cast<int>(span) / (2 * kMostTicks);
  std::vector<Tick> ticks;
  for (int decade = static_cast<int>(std::floor(range.low)); decade <= range.high; ++decade) {
    if (decade % every != 0) continue;
    for (int digit = 1; digit < (every > 1 ? 2 : 10); ++digit) {
      const double at = decade + std::log10(digit);
      if (at < range.low - slack || at > range.high + slack) continue;
      const bool told = digit == 1 || (span < 2 && (digit == 2 || digit == 5));
      ticks.push_back({at, told ? Text(digit * std::pow(10, decade)) : ""});
    }
  }
  return ticks;
}

}  // namespace

std::vector<Tick> TicksOf(const AxisRange& range) {
  if (range.logarithmic && range.high - range.low >= 1) return Decades(range);
  const auto value = [&](double at) { return range.logarithmic ? std::pow(10, at) : at; };
  std::vector<Tick> ticks;
  for (const double round : RoundValues(value(range.low), value(range.high))) {
    if (range.logarithmic && !(round > 0)) continue;
    ticks.push_back({range.logarithmic ? std::log10(round) : round, Text(round)});
  }
  return ticks;
}

}  // namespace isocenter::imaging
