// The node as docs/web-api.md describes it.
#pragma once

#include <vector>

#include "server/http/transport/answers.h"
#include "server/node/activity.h"
#include "server/node/node.h"

namespace isocenter::http {

/// What the configuration lets the page do.
struct PageOffers {
  bool transfers = false, simulated_scans = false;
};
Json StatusJson(const node::NodeStatus& status, const PageOffers& offers);
Json ReasonsJson(const std::vector<node::Reason>& reasons);
/// This node as it stands in the list of all; `address` as in the configuration, where one is.
Json ThisNodeJson(const node::Summary& summary);
Json PeerJson(const node::Peer& peer);
Json DeviceJson(const node::DeviceState& device);
Json HistoryJson(const std::vector<node::ActivitySample>& history);
Json RefusalsJson(const std::vector<node::Refusal>& refusals);

}  // namespace isocenter::http
