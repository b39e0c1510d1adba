// Answers for probes.
#include <vector>

#include "server/http/apis.h"
#include "server/http/node_json.h"
#include "server/http/transport/answers.h"

namespace isocenter::http {
namespace {

Response Health(const std::vector<node::Reason>& reasons) {
  Response response = JsonAnswer({{"ok", reasons.empty()}, {"reasons", ReasonsJson(reasons)}},
                                 reasons.empty() ? 200 : 503);
  return response;
}

}  // namespace

void AddHealthRoutes(const WebEnvironment& environment, Router& router) {
  router.AddOpen("GET", "/livez", [](const Call&) { return Health({}); });
  router.AddOpen("GET", "/readyz",
                 [&node = environment.node](const Call&) { return Health(node.NotReady()); });
  router.AddOpen("GET", "/startupz", [&node = environment.node](const Call&) {
    if (node.started()) return Health({});
    return Health({{"service", "the service is starting"}});
  });
}

}  // namespace isocenter::http
