// Where in its file a configuration says what is refused.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "isocenter/v1/server_config.pb.h"

namespace isocenter::config {

/// Puts "FILE:LINE: " before each line of `refused` that begins with a field ("limits.gpus is ..",
/// "dicom_node.peer[1].host is ..", "protocol 'head': filter.cutoff is ..") for which `text`, a
/// configuration that can be read, is to blame: it has the value that `config`, which flags may
/// have changed, has. Of a text that is empty the line is that of its block.
absl::Status WithPlaces(const absl::Status& refused, const std::string& text,
                        const std::string& file, const v1::ServerConfig& config);

}  // namespace isocenter::config
