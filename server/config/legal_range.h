// The range of a number of the configuration, where a text that is none stands in its place.
#pragma once

#include <string>

namespace isocenter::config {

/// "1 to 10000" of "audit.max_files", the dotted path of a numeric field without indices: as the
/// checks say it of a number beyond it. Empty where no check says it.
std::string LegalRange(const std::string& path);

}  // namespace isocenter::config
