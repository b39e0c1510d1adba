// A web server on a free port of loopback, with the real pipeline behind it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "server/crypto/digests.h"
#include "server/http/web_server.h"
#include "server/node/activity.h"
#include "server/node/job_feed.h"
#include "server/node/monitor.h"
#include "server/node/node.h"
#include "server/roles/roster.h"
#include "server/viewer/volume_cache.h"
#include "tests/server/fakes/console.h"
#include "tests/server/fakes/kept_events.h"
#include "tests/server/fakes/service_under_test.h"
#include "tests/server/fakes/test_scan.h"
#include "tests/server/http/http_client.h"

namespace isocenter::testing {

inline constexpr int64_t kScanBytes = 1000;  // that a scan is said to take in the archive
inline constexpr char kViewerToken[] = "viewer-token-1f0c";
inline constexpr char kConsoleToken[] = "console-token-0b3d";
inline constexpr char kOperatorToken[] = "operator-token-2a9e";
inline constexpr char kAdministratorToken[] = "administrator-token-77b1";

class WebTest : public ::testing::Test {
 protected:
  WebTest() {
    node_ = std::make_unique<node::Node>(
        node::NodeOptions{.version = "1.2.3",
                          .backend = "reference",
                          .max_active_jobs = service_.options.max_active_jobs,
                          .scan_bytes = kScanBytes,
                          .spool = [this] { return spool_; },
                          .name = "recon1",
                          .peers = [this] { return peers_; }},
        *service_.engine, *service_.scheduler, *service_.table);
    feed_ = std::make_unique<node::JobFeed>(*service_.table);
    monitor_ = std::make_unique<node::Monitor>(
        *node_, activity_, [this](const std::vector<node::Reason>&) { feed_->OnNodeChanged(); });
    node_->SetStarted();
    volumes_ = *viewer::VolumeCache::Open(files_.path() / "viewer", int64_t{1} << 30);
  }
  ~WebTest() override {
    feed_->Stop();
    server_.reset();
    monitor_.reset();
  }

  /// `change` edits the options before the start.
  void Start(const std::function<void(http::WebOptions&)>& change = nullptr) {
    http::WebOptions options{.address = "127.0.0.1:0", .threads = 16};
    if (change) change(options);
    auto server = http::WebServer::Start(
        std::move(options),
        {.roster = *roster_,
         .node = *node_,
         .activity = activity_,
         .feed = *feed_,
         .table = *service_.table,
         .engine = *service_.engine,
         .results = service_.results,
         .volumes = *volumes_,
         .transfers = transfers_,
         .refiner = refiner_,
         .quality = quality_,
         .calibrations = calibrations_,
         .simulator = simulator_,
         .audit = &audit_,
         .addresses = addresses_,
         .clock = [this] { return absl::Now() + absl::Seconds(seconds_ahead_.load()); }});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<HttpClient>(server_->port());
  }
  /// With a token for each role.
  void StartWithTokens(const std::function<void(http::WebOptions&)>& change = nullptr) {
    WriteTokens({{"viewer", kViewerToken},
                 {"console", kConsoleToken},
                 {"operator", kOperatorToken},
                 {"administrator", kAdministratorToken}});
    roster_ = std::make_unique<roles::Roster>(*roles::TokenBook::Open(tokens_file()),
                                              std::vector<roles::CertificateHolder>());
    Start(change);
  }
  void WriteTokens(const std::vector<std::pair<std::string, std::string>>& tokens) {
    std::ofstream file(tokens_file());
    for (const auto& [role, token] : tokens) {
      file << role << " " << crypto::Sha256Hex(token) << " the " << role << "\n";
    }
    std::filesystem::permissions(tokens_file(), std::filesystem::perms(0640));
  }
  std::string tokens_file() const { return (files_.path() / "tokens").string(); }

  HttpClient& client() { return *client_; }

  /// A job of a station that has begun to receive.
  std::string Accept(const std::string& station = "ROOM-1",
                     const std::function<void(pipeline::AcquisitionRequest&)>& change = nullptr) {
    pipeline::AcquisitionRequest request = SmallRequest();
    request.station_name = station;
    request.patient_study.accession_number = "A1";
    request.patient_study.patient_name = "Doe^Jane";
    request.patient_study.patient_id = "PID-4711";
    if (change) change(request);
    absl::Status refused;
    std::string id;
    absl::Notification done;
    service_.engine->Accept(
        std::move(request), [] { return true; },
        [&](absl::StatusOr<pipeline::Engine::Accepted> accepted) {
          refused = accepted.status();
          if (accepted.ok()) {
            id = accepted->job->id();
            jobs_[id] = accepted->job;
          }
          done.Notify();
        });
    done.WaitForNotification();
    refusal_ = refused;
    return id;
  }
  /// One that is complete.
  std::string Complete(const std::string& station = "ROOM-1") {
    const std::string id = Accept(station);
    const auto console = *Console::Attach(jobs_.at(id));
    for (int view = 0; view < 40; ++view) EXPECT_TRUE(console->SendOne(view).ok());
    EXPECT_TRUE(console->Finish().ok());
    EXPECT_TRUE(Eventually([&] { return jobs::HasEnded((*service_.table->Get(id))->state); }));
    return id;
  }

  TemporaryDirectory files_;
  PipelineUnderTest service_;
  node::SpoolState spool_{.capacity_bytes = 1 << 20, .disk_free_bytes = 1 << 30};
  std::vector<node::Peer> peers_;  // that the node knows
  node::Activity activity_{absl::Now()};
  std::unique_ptr<node::Node> node_;
  std::unique_ptr<node::JobFeed> feed_;
  std::unique_ptr<node::Monitor> monitor_;
  std::unique_ptr<viewer::VolumeCache> volumes_;
  http::Transfers* transfers_ = nullptr;
  http::Refiner* refiner_ = nullptr;
  const quality_records::Store* quality_ = nullptr;
  const calibrations::Store* calibrations_ = nullptr;
  http::Simulator* simulator_ = nullptr;
  http::ServiceAddresses addresses_{.grpc = "127.0.0.1:50051"};
  KeptEvents audit_;
  std::atomic<int> seconds_ahead_{0};  // of the server's clock
  std::map<std::string, std::shared_ptr<pipeline::ReconstructionJob>> jobs_;
  absl::Status refusal_;  // of the last Accept
  std::unique_ptr<roles::Roster> roster_ = std::make_unique<roles::Roster>();
  std::unique_ptr<http::WebServer> server_;
  std::unique_ptr<HttpClient> client_;
};

}  // namespace isocenter::testing
