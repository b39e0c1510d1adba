// The node as docs/web-api.md describes it.
#pragma once

#include <string>
#include <vector>

#include "server/http/transport/answers.h"
#include "server/node/activity.h"
#include "server/node/node.h"

namespace isocenter::http {

/// Where consoles and PACS reach this service.
struct ServiceAddresses {
  std::string grpc;  // host:port that is listened on
  bool grpc_tls = false;
  bool grpc_client_certificates = false;   // are asked for
  std::string dicom_ae_title;              // empty: there is no DICOM node
  std::string dicom_host;                  // that is listened on
  int dicom_port = 0, dicom_tls_port = 0;  // 0: none
};

/// What the configuration lets the page do, and say.
struct PageOffers {
  bool transfers = false, simulated_scans = false;
  ServiceAddresses addresses;
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
