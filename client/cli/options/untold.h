// What of an acquisition is taken for granted, because its files do not tell it.
#pragma once

#include <string>

#include "client/cli/options/set_fit.h"

namespace isocenter::cli {

/// Of a fit that has something untold, for users.
std::string UntoldText(const std::string& set_name, const SetFit& fit);

}  // namespace isocenter::cli
