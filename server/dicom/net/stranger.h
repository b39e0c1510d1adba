// Who speaks where DICOM is expected.
#pragma once

#include <cstddef>
#include <span>

#include "absl/strings/string_view.h"

namespace isocenter::dicom {

/// What the first six bytes of the other side are where they begin no PDU, and what to check:
/// HTTP, HTTP/2 (as gRPC) or TLS. Empty: none of these.
absl::string_view StrangerOf(std::span<const std::byte, 6> first);

}  // namespace isocenter::dicom
