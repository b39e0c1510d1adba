// Where an axis of a diagram has its values.
#pragma once

#include <string>
#include <vector>

namespace isocenter::imaging {

/// What an axis shows; of a logarithmic one, the decimal logarithms.
struct AxisRange {
  double low = 0, high = 1;
  bool logarithmic = false;
  double Share(double value) const { return (value - low) / (high - low); }
};

struct Tick {
  double at = 0;     // as the range's ends
  std::string text;  // empty: a line without a value
};

/// Round values, six or so of them with a text. Of a logarithmic axis powers of ten and the lines
/// between them, where it spans a decade or more.
std::vector<Tick> TicksOf(const AxisRange& range);

}  // namespace isocenter::imaging
