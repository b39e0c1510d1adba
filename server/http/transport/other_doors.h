// Where what somebody asks for at the wrong door is to be had.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::http {

/// "; ..." for a request that no path answers, or none with this method, where it is plain what was
/// meant: scans that are sent by HTTP, instances that are stored by DICOMweb, metrics, probes by
/// the names that other services have for them, an API without its version. Else nothing.
std::string OtherDoor(absl::string_view method, absl::string_view path);

/// Whether a program asks for this path of one part, not a person for the page: it must not be
/// answered as if all were well.
bool IsForPrograms(absl::string_view path);

}  // namespace isocenter::http
