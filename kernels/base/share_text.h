// Shares in sentences for people.
#pragma once

#include <string>

namespace isocenter {

/// A share of 1 in per cent: "43 %", below a tenth "4.2 %", and what is there but would read as 0
/// "below 0.1 %"; of nothing at all "0 %".
std::string ShareText(double share);

}  // namespace isocenter
