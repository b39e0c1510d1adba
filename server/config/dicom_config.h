// The part of the configuration that is about DICOM: the node, its peers, what is sent to whom.
#pragma once

#include "absl/status/status.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::config {

/// Puts the documented default wherever a field is unset.
void ApplyDicomDefaults(v1::DicomNodeConfig& node);

/// Checks `dicom_node` of a configuration with defaults; what is sent also depends on the
/// protocols. Errors: INVALID_ARGUMENT naming the field, its value and what is legal.
absl::Status ValidateDicomNode(const v1::ServerConfig& config);

}  // namespace isocenter::config
