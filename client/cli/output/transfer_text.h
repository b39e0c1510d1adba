// Transfers as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isocenter/v1/transfers.pb.h"

namespace isocenter::cli {

/// "queued", "committed", ...
std::string StateName(v1::TransferState state);
/// One row each, with a heading.
std::string TransferTable(const std::vector<v1::Transfer>& transfers);
nlohmann::ordered_json ToJson(const v1::Transfer& transfer);

}  // namespace isocenter::cli
