// What this machine is called.
#pragma once

#include <string>

namespace isocenter {

/// The machine's name; empty where the system does not tell.
std::string HostName();

}  // namespace isocenter
