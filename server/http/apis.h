// The parts of the interface; each adds its routes. docs/web-api.md is their contract.
#pragma once

#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/audit/event.h"
#include "server/calibrations/store.h"
#include "server/http/access.h"
#include "server/http/node_json.h"
#include "server/http/refiner.h"
#include "server/http/router.h"
#include "server/http/simulator.h"
#include "server/http/transfers.h"
#include "server/jobs/job_table.h"
#include "server/jobs/ports.h"
#include "server/node/activity.h"
#include "server/node/job_feed.h"
#include "server/node/node.h"
#include "server/pipeline/engine.h"
#include "server/quality/store.h"
#include "server/roles/roster.h"
#include "server/viewer/volume_cache.h"

namespace isocenter::http {

/// What the interface shows and steers; all of it outlives the web server.
struct WebEnvironment {
  const roles::Roster& roster;  // who may see and steer it
  node::Node& node;
  const node::Activity& activity;
  const node::JobFeed& feed;
  jobs::JobTable& table;
  pipeline::Engine& engine;
  jobs::ResultStore& results;
  viewer::VolumeCache& volumes;
  Transfers* transfers = nullptr;                     // null: nothing is sent anywhere
  Refiner* refiner = nullptr;                         // null: nothing is refined on request
  const quality_records::Store* quality = nullptr;    // null: none is kept
  const calibrations::Store* calibrations = nullptr;  // null: none are kept
  Simulator* simulator = nullptr;                     // null: not allowed
  audit::Recorder* audit = nullptr;                   // null: nobody wants to know
  std::function<void(Router&)> add_dicomweb;          // its routes; null: it is not served
  ServiceAddresses addresses;                         // that the page tells its readers
  std::function<absl::Time()> clock = absl::Now;
};

inline PageOffers OffersOf(const WebEnvironment& environment) {
  return {.transfers = environment.transfers != nullptr,
          .simulated_scans = environment.simulator != nullptr,
          .addresses = environment.addresses};
}

void AddSessionRoutes(Access& access, Router& router);
void AddSignOnRoutes(const WebEnvironment& environment, Access& access, Router& router);
void AddNodeRoutes(const WebEnvironment& environment, Router& router);
void AddJobRoutes(const WebEnvironment& environment, Router& router);
void AddVolumeRoutes(const WebEnvironment& environment, Router& router);
void AddLevelRoutes(const WebEnvironment& environment, Router& router);
void AddDownloadRoutes(const WebEnvironment& environment, Router& router);
void AddOrderRoutes(const WebEnvironment& environment, Router& router);
void AddQualityRoutes(const WebEnvironment& environment, Router& router);
void AddCalibrationRoutes(const WebEnvironment& environment, Router& router);
void AddTransferRoutes(const WebEnvironment& environment, Router& router);
/// Streams end when the feed stops.
void AddEventRoutes(const WebEnvironment& environment, Access& access, Router& router);
/// Without sign-in, for probes.
void AddHealthRoutes(const WebEnvironment& environment, Router& router);

}  // namespace isocenter::http
