// Figures and what is judged of them, as text for people.
#pragma once

#include <string>
#include <vector>

#include "kernels/quality/limits.h"

namespace isocenter::cli {

/// Of all figures; of the verdicts' baseline and tolerance where there are any.
std::string FigureTable(const std::vector<quality::Measure>& measures,
                        const std::vector<quality::Verdict>& verdicts);
std::string LimitTable(const std::vector<quality::LimitVerdict>& verdicts);

/// What is not passed, and what is not comparable, as a sentence; empty: nothing.
std::string ConstancyText(const std::vector<quality::Verdict>& verdicts);
/// Limits that are not kept, as a sentence; empty: none.
std::string LimitsText(const std::vector<quality::LimitVerdict>& verdicts);

}  // namespace isocenter::cli
