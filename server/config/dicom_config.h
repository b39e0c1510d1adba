// The part of the configuration that is about DICOM: the node, its peers, what is sent to whom.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::config {

/// What a destination is called in queues, metrics and commands: its AE title, or its name.
const std::string& DestinationName(const v1::DicomDestination& destination);

/// Puts the documented default wherever a field is unset.
void ApplyDicomDefaults(v1::DicomNodeConfig& node);

/// Checks `dicom_node` of a configuration with defaults; what is sent also depends on the
/// protocols. Errors: INVALID_ARGUMENT naming the field, its value and what is legal.
absl::Status ValidateDicomNode(const v1::ServerConfig& config);

/// What is legal in `dicom_node` and protects less than it seems to: callers that are allowed by an
/// AE title alone, which is what they say of themselves, and no peer's, which has an address.
std::vector<std::string> DicomWarnings(const v1::DicomNodeConfig& node);

}  // namespace isocenter::config
