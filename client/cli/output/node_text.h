// Nodes as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "isocenter/v1/node.pb.h"

namespace isocenter::cli {

/// Whether it takes acquisitions, and each reason why not, a line each; how many jobs it has.
std::string NodeText(const v1::NodeStatus& status);
/// "cuda0: healthy, 52.1 GUPS ..." or why it failed; with a newline.
std::string DeviceText(const v1::NodeDevice& device);

nlohmann::ordered_json ToJson(const v1::NodeStatus& status);

}  // namespace isocenter::cli
