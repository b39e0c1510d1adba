// What docs/web-api.md promises of jobs and of the node.
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "tests/server/http/web_fixture.h"

namespace isocenter::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class ApiTest : public WebTest {
 protected:
  void SetUp() override { Start(); }
  json Body(const std::string& target) {
    const HttpAnswer answer = client().Get(target);
    EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
    EXPECT_EQ(answer.header("content-type"), "application/json") << target;
    return answer.json();
  }
  static std::set<std::string> KeysOf(const json& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    return keys;
  }
  /// The keys of the first JSON example below a heading of the contract, that begins so.
  static std::set<std::string> DocumentedKeys(const std::string& heading,
                                              const std::string& begin) {
    std::ifstream file(ISOCENTER_SOURCE_DIR "/docs/web-api.md");
    std::string line, text;
    bool below = false, inside = false;
    while (std::getline(file, line)) {
      if (line.rfind("#", 0) == 0) below = line == heading;
      if (!below) continue;
      if (line == "```json") {
        inside = true;
        text.clear();
      } else if (line == "```" && inside) {
        inside = false;
        if (text.rfind(begin, 0) == 0) break;
      } else if (inside) {
        text += line;
      }
    }
    for (const char* hole : {"{job}", "{as above}", "{status}"}) {
      for (size_t at; (at = text.find(hole)) != std::string::npos;) {
        text.replace(at, std::string(hole).size(), "0");
      }
    }
    for (size_t at; (at = text.find(", ...")) != std::string::npos;) text.erase(at, 5);
    const json example = json::parse(text, nullptr, false);
    EXPECT_TRUE(example.is_object()) << heading << ": " << text;
    return KeysOf(example);
  }
};

TEST_F(ApiTest, StatusIsAsDocumented) {
  Complete();
  const json status = Body("/api/v1/status");
  EXPECT_EQ(KeysOf(status), DocumentedKeys("### GET /api/v1/status", "{"));
  EXPECT_EQ(status["server"], "recon1");
  EXPECT_EQ(status["ready"], true);
  EXPECT_THAT(status["reasons"], SizeIs(0));
  EXPECT_EQ(status["draining"], nullptr);
  EXPECT_EQ(status["jobs"]["completed"], 1);
  EXPECT_EQ(status["transfers_enabled"], false);
}

TEST_F(ApiTest, TheServiceTellsItsOwnAddresses) {
  addresses_ = {.grpc = "10.1.2.3:50061",
                .grpc_tls = true,
                .dicom_ae_title = "RECON2",
                .dicom_host = "10.1.2.3",
                .dicom_tls_port = 2763};
  Start();
  const json told = Body("/api/v1/status")["addresses"];
  EXPECT_EQ(told, json::parse(R"({
      "grpc": {"address": "10.1.2.3:50061", "tls": true, "client_certificates": false},
      "dicom": {"ae_title": "RECON2", "host": "10.1.2.3", "port": null, "tls_port": 2763}})"));
  addresses_.dicom_ae_title.clear();
  Start();
  EXPECT_EQ(Body("/api/v1/status")["addresses"]["dicom"], nullptr);
}

TEST_F(ApiTest, JobsAreAsDocumented) {
  const std::string id = Complete();
  const json listed = Body("/api/v1/jobs")["jobs"];
  ASSERT_THAT(listed, SizeIs(1));
  std::set<std::string> keys = DocumentedKeys("### GET /api/v1/jobs", "{\"job_id\"");
  EXPECT_EQ(KeysOf(listed[0]), keys);
  const json job = Body("/api/v1/jobs/" + id);
  keys.merge(DocumentedKeys("### GET /api/v1/jobs/{id}", "{"));
  EXPECT_EQ(KeysOf(job), keys);
  EXPECT_EQ(job["state"], "completed");
  EXPECT_EQ(job["station_name"], "ROOM-1");
  EXPECT_EQ(job["accession_number"], "A1");
  EXPECT_EQ(job["progress"]["frames_backprojected"], 40);
  EXPECT_EQ(job["grid"]["nx"], 32);
  EXPECT_EQ(job["grid"]["spacing_mm"], json({4, 4, 4}));
  EXPECT_GT(job["result"]["whole_gups"].get<double>(), 0);
  EXPECT_EQ(job["refinement"], nullptr);
  EXPECT_EQ(job["error"], nullptr);
  EXPECT_THAT(job["create_time"].get<std::string>(),
              ::testing::MatchesRegex("....-..-..T..:..:..\\....Z"));
}

TEST_F(ApiTest, NoAnswerNamesThePatient) {
  const std::string id = Complete();
  for (const std::string& target :
       {std::string("/api/v1/jobs"), "/api/v1/jobs/" + id, std::string("/api/v1/rooms"),
        std::string("/api/v1/queue"), "/api/v1/jobs/" + id + "/trace"}) {
    const std::string body = client().Get(target).body;
    EXPECT_THAT(body, Not(HasSubstr("Doe"))) << target;
    EXPECT_THAT(body, Not(HasSubstr("PID-4711"))) << target;
  }
}

TEST_F(ApiTest, JobsAreFilteredAndPaged) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(Accept(absl::StrCat("ROOM-", i % 2)));
  ASSERT_TRUE(service_.engine->Cancel(ids[0], absl::CancelledError("x")).ok());
  ASSERT_TRUE(Eventually([&] { return jobs::HasEnded((*service_.table->Get(ids[0]))->state); }));
  const auto ids_of = [](const json& page) {
    std::vector<std::string> found;
    for (const json& job : page["jobs"]) found.push_back(job["job_id"]);
    return found;
  };
  const json first = Body("/api/v1/jobs?page_size=2");
  EXPECT_THAT(ids_of(first), ElementsAre(ids[2], ids[1]));
  const std::string token = first["next_page_token"];
  const json second = Body("/api/v1/jobs?page_size=2&page_token=" + token);
  EXPECT_THAT(ids_of(second), ElementsAre(ids[0]));
  EXPECT_EQ(second["next_page_token"], nullptr);
  EXPECT_EQ(client().Get("/api/v1/jobs?station_name=x&page_token=" + token).status, 400);
  EXPECT_EQ(client().Get("/api/v1/jobs?page_token=x").status, 400);
  EXPECT_EQ(client().Get("/api/v1/jobs?page_size=0").status, 400);
  EXPECT_THAT(client().Get("/api/v1/jobs?limit=-1").body,
              HasSubstr("the parameter 'limit' is not known; legal are state, protocol"));

  EXPECT_THAT(ids_of(Body("/api/v1/jobs?station_name=ROOM-0")), ElementsAre(ids[2], ids[0]));
  EXPECT_THAT(ids_of(Body("/api/v1/jobs?state=active")), ElementsAre(ids[2], ids[1]));
  EXPECT_THAT(ids_of(Body("/api/v1/jobs?state=cancelled,failed")), ElementsAre(ids[0]));
  const auto refused = client().Get("/api/v1/jobs?state=complete");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("state is 'complete'; legal are active, receiving, "));
  EXPECT_THAT(refused.body, HasSubstr("; did you mean completed?"));
}

// One that is not known would change nothing, without a word.
TEST_F(ApiTest, ParametersThatAreNotKnownAreRefusedEverywhere) {
  jobs::Job job;
  job.id = "known";
  ASSERT_TRUE(service_.table->Insert(job).ok());
  const std::string& id = job.id;
  for (const std::string& path :
       {std::string("status"), std::string("cluster"), std::string("devices"), std::string("queue"),
        std::string("rooms"), std::string("history"), std::string("jobs"), "jobs/" + id,
        "jobs/" + id + "/trace", "jobs/" + id + "/volume", std::string("filters"),
        std::string("transfers"), std::string("quality"), std::string("calibrations"),
        std::string("refinements"), "jobs/" + id + "/slices/axial/0", "jobs/" + id + "/download",
        std::string("events")}) {
    const auto answer = client().Get("/api/v1/" + path + "?page_sise=1");
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_THAT(answer.body, HasSubstr("the parameter 'page_sise' is not known; ")) << path;
  }
  EXPECT_THAT(client().Get("/api/v1/jobs?page_sise=1").body, HasSubstr("did you mean page_size?"));
}

TEST_F(ApiTest, JobsAreFoundByPartsOfWhatIsShown) {
  Accept("North room");
  Accept("South room", [](pipeline::AcquisitionRequest& request) {
    request.patient_study.accession_number = "ACC-4711";
  });
  const auto found = [&](const std::string& query) {
    std::vector<std::string> rooms;
    const json jobs = Body("/api/v1/jobs?" + query)["jobs"];
    for (const json& job : jobs) {
      rooms.push_back(job["station_name"]);
    }
    return rooms;
  };
  EXPECT_THAT(found("text=nORTH"), ElementsAre("North room"));
  EXPECT_THAT(found("text=c-47"), ElementsAre("South room"));
  EXPECT_THAT(found("text=room"), ElementsAre("South room", "North room"));
  EXPECT_THAT(found("text=room&state=failed"), SizeIs(0));
  EXPECT_THAT(found("text=Doe"), SizeIs(0)) << "names of patients are not shown";
  const json first = Body("/api/v1/jobs?text=room&page_size=1");
  EXPECT_EQ(first["jobs"][0]["station_name"], "South room");
  EXPECT_THAT(
      found("text=room&page_size=1&page_token=" + first["next_page_token"].get<std::string>()),
      ElementsAre("North room"));
  EXPECT_EQ(client().Get("/api/v1/jobs?text=" + std::string(65, 'a')).status, 400);

  const json filters = Body("/api/v1/filters");
  EXPECT_EQ(filters["station_names"], json({"North room", "South room"}));
  EXPECT_THAT(filters["protocols"], SizeIs(1));
}

TEST_F(ApiTest, JobsThatCanBeLookedAtTogetherAreRelated) {
  // As the pipeline leaves them: a pair, its subtraction, and the mask's refinement.
  const auto insert = [&](const std::string& id, jobs::PairRole role, const std::string& source) {
    jobs::Job job{.id = id, .state = jobs::JobState::kCompleted};
    if (source.empty()) job.pair_id = "pair";
    job.pair_role = role;
    job.grid = CenteredGrid(8, 8, 8, {1, 1, 1});
    if (!source.empty()) {
      job.source_job_ids = {source};
      job.refinement.algorithm = "os_sart";
    }
    job.create_time = absl::Now();
    ASSERT_TRUE(service_.table->Insert(job).ok());
  };
  insert("mask", jobs::PairRole::kMask, "");
  insert("fill", jobs::PairRole::kFill, "");
  insert("sub", jobs::PairRole::kSubtraction, "");
  insert("refined", jobs::PairRole::kNone, "mask");
  const auto related = [&](const std::string& id) {
    std::vector<std::string> found;
    const json job = Body("/api/v1/jobs/" + id);
    for (const json& other : job["related"]) {
      found.push_back(absl::StrCat(other["job_id"].get<std::string>(), " ",
                                   other["relation"].get<std::string>()));
    }
    return found;
  };
  EXPECT_THAT(related("mask"),
              UnorderedElementsAre("fill fill", "sub subtraction", "refined refined"));
  EXPECT_THAT(related("refined"),
              UnorderedElementsAre("mask mask", "fill fill", "sub subtraction"));
  EXPECT_THAT(related("fill"), UnorderedElementsAre("mask mask", "sub subtraction"));
  // Several refinements of one scan are told apart by these.
  const json of_mask = Body("/api/v1/jobs/mask");
  for (const json& other : of_mask["related"]) {
    EXPECT_TRUE(other["create_time"].is_string()) << other;
    EXPECT_EQ(other["refinement"].is_null(), other["relation"] != "refined") << other;
    if (other["refinement"].is_null()) continue;
    EXPECT_TRUE(other["refinement"]["algorithm"].is_string()) << other;
    EXPECT_TRUE(other["refinement"]["iterations"].is_number()) << other;
    EXPECT_TRUE(other["refinement"]["second_pass"].is_null()) << other;
  }
  EXPECT_EQ(of_mask["second_pass"], nullptr);
}

TEST_F(ApiTest, ASecondPassSaysWhatItIsAgainst) {
  const auto insert = [&](const std::string& id, const std::string& source) {
    jobs::Job job{.id = id, .state = jobs::JobState::kCompleted};
    job.grid = CenteredGrid(8, 8, 8, {1, 1, 1});
    job.create_time = absl::Now();
    job.refinement.findings = {"the frames' order is not checked"};
    if (!source.empty()) {
      job.source_job_ids = {source};
      job.refinement.algorithm = "fdk";
      job.refinement.second_pass = jobs::SecondPassFacts{.metal = true};
      job.refinement.findings = {"metal: none"};
    }
    ASSERT_TRUE(service_.table->Insert(job).ok());
  };
  insert("scan", "");
  insert("pass", "scan");
  const json against = {{"metal", true},
                        {"bone", false},
                        {"scatter", false},
                        {"cone_beam", false},
                        {"motion", false},
                        {"self_calibrate", false},
                        {"reference_job_id", nullptr},
                        {"complete_rows", false}};
  const json pass = Body("/api/v1/jobs/pass");
  EXPECT_EQ(pass["second_pass"], against);
  EXPECT_EQ(pass["refinement"]["findings"], json({"metal: none"}));
  EXPECT_EQ(pass["findings"], json({"metal: none"}));
  const json scan = Body("/api/v1/jobs/scan");
  EXPECT_EQ(scan["findings"], json({"the frames' order is not checked"}));
  EXPECT_EQ(scan["refinement"], nullptr);
  EXPECT_EQ(scan["related"][0]["refinement"]["second_pass"], against);
}

TEST_F(ApiTest, TraceIsWhatTheDevicesDid) {
  const std::string id = Complete();
  const HttpAnswer answer = client().Get("/api/v1/jobs/" + id + "/trace");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.json()["traceEvents"].is_array());
  const std::string tag = answer.header("etag");
  EXPECT_EQ(client().Get("/api/v1/jobs/" + id + "/trace", {{"If-None-Match", tag}}).status, 304);
  EXPECT_EQ(client().Get("/api/v1/jobs/none/trace").status, 404);
}

TEST_F(ApiTest, PreviewsComeAsTheyAre) {
  const std::string id = Accept();
  EXPECT_EQ(client().Get("/api/v1/jobs/" + id + "/preview").status, 404);
  service_.table->Update(id, [](jobs::Job& job) {
    auto preview = std::make_shared<jobs::Preview>();
    preview->frames_backprojected = 7;
    preview->planes.push_back({.columns = 2, .rows = 1, .hounsfield = {1, -1}});
    job.preview = preview;
  });
  const HttpAnswer answer = client().Get("/api/v1/jobs/" + id + "/preview");
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(answer.json()["frames_backprojected"], 7);
  EXPECT_EQ(answer.json()["planes"][0]["hounsfield_base64"], "AQD//w==");
  EXPECT_EQ(answer.json()["planes"][0]["orientation"], "axial");
  EXPECT_EQ(client()
                .Get("/api/v1/jobs/" + id + "/preview", {{"If-None-Match", answer.header("etag")}})
                .status,
            304);
}

TEST_F(ApiTest, DevicesQueueAndRoomsAreAsDocumented) {
  Complete("ROOM-1");
  const std::string active = Accept("ROOM-2");
  const json devices = Body("/api/v1/devices")["devices"];
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0]["name"], "reference0");
  EXPECT_EQ(devices[0]["healthy"], true);
  EXPECT_GT(devices[0]["speed_gups"].get<double>(), 0);
  EXPECT_GT(devices[0]["memory_used_bytes"].get<int64_t>(), 0);
  EXPECT_GT(devices[0]["predicted_wait_seconds"]["batch"].get<double>(), 0);

  const json queue = Body("/api/v1/queue");
  EXPECT_EQ(KeysOf(queue), DocumentedKeys("### GET /api/v1/queue", "{"));
  ASSERT_THAT(queue["jobs"], SizeIs(1));
  EXPECT_EQ(queue["jobs"][0]["job_id"], active);

  const json rooms = Body("/api/v1/rooms")["rooms"];
  ASSERT_THAT(rooms, SizeIs(2));
  EXPECT_EQ(rooms[0]["station_name"], "ROOM-1");
  EXPECT_EQ(rooms[0]["state"], "idle");
  EXPECT_EQ(rooms[0]["completed_24h"], 1);
  EXPECT_EQ(rooms[1]["state"], "scanning");
  EXPECT_EQ(rooms[1]["last_job"]["job_id"], active);
}

TEST_F(ApiTest, ADayLaterRoomsAndSessionsAreForgotten) {
  Complete("ROOM-1");
  EXPECT_EQ(Body("/api/v1/rooms")["rooms"][0]["completed_24h"], 1);
  StartWithTokens();
  ASSERT_TRUE(client().SignIn(kViewerToken));
  seconds_ahead_ = 11 * 3600;
  EXPECT_EQ(Body("/api/v1/rooms")["rooms"][0]["completed_24h"], 1);
  seconds_ahead_ = 13 * 3600;
  EXPECT_EQ(client().Get("/api/v1/rooms").status, 401);
  ASSERT_TRUE(client().SignIn(kViewerToken));
  seconds_ahead_ = 25 * 3600;
  EXPECT_EQ(client().Get("/api/v1/rooms").status, 401);
  ASSERT_TRUE(client().SignIn(kViewerToken));
  EXPECT_EQ(Body("/api/v1/rooms")["rooms"][0]["completed_24h"], 0);
}

TEST_F(ApiTest, AllNodesAreShownAlsoThoseThatDoNotAnswer) {
  const std::string active = Accept("ROOM-2");
  node::Peer away{.node = "recon2",
                  .address = "10.0.0.2:50051",
                  .seen = absl::FromUnixSeconds(1'700'000'000),
                  .error = "it does not answer in time \"<b>\""};
  away.summary = node::Summary{.node = "recon2", .rooms = {"C<2>"}};
  away.summary->replication = node::Replication{.keeper = "recon1"};
  away.summary->replication->origins = {{.node = "recon1", .copies = 3, .orphans = 1}};
  peers_ = {away, {.node = "recon3", .error = "its address is not configured here"}};
  const json nodes = Body("/api/v1/cluster")["nodes"];
  ASSERT_THAT(nodes, SizeIs(3));
  EXPECT_EQ(nodes[0]["node"], "recon1");
  EXPECT_EQ(nodes[0]["this_node"], true);
  EXPECT_EQ(nodes[0]["reachable"], true);
  EXPECT_EQ(nodes[0]["status"]["server"], nodes[0]["node"]);
  EXPECT_EQ(nodes[0]["status"]["active_jobs"], 1);
  EXPECT_EQ(nodes[0]["status"]["station_names"], json({"ROOM-2"}));
  EXPECT_EQ(nodes[0]["status"]["devices"][0]["name"], "reference0");
  EXPECT_EQ(nodes[0]["status"]["replication"], nullptr);
  EXPECT_EQ(nodes[1]["reachable"], false);
  EXPECT_EQ(nodes[1]["seen_time"], "2023-11-14T22:13:20.000Z");
  EXPECT_EQ(nodes[1]["error"], "it does not answer in time \"<b>\"");
  EXPECT_EQ(nodes[1]["status"]["station_names"], json({"C<2>"}));
  EXPECT_EQ(nodes[1]["status"]["replication"]["origins"][0]["orphans"], 1);
  EXPECT_EQ(nodes[2]["address"], nullptr);
  EXPECT_EQ(nodes[2]["seen_time"], nullptr);
  EXPECT_EQ(nodes[2]["status"], nullptr);
  // The page of documentation has one node, with all there may be.
  std::ifstream file(ISOCENTER_SOURCE_DIR "/docs/web-api.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t begin = page.find("{\"nodes\": [");
  const json documented = json::parse(page.substr(begin, page.find("```", begin) - begin));
  EXPECT_EQ(KeysOf(nodes[1]), KeysOf(documented["nodes"][0]));
  EXPECT_EQ(KeysOf(nodes[1]["status"]), KeysOf(documented["nodes"][0]["status"]));
  EXPECT_EQ(KeysOf(nodes[1]["status"]["replication"]),
            KeysOf(documented["nodes"][0]["status"]["replication"]));
}

TEST_F(ApiTest, AQuarantinedDeviceSaysWhy) {
  service_.slot().Quarantine("the kernel was lost");
  const json device = Body("/api/v1/devices")["devices"][0];
  EXPECT_EQ(device["healthy"], false);
  EXPECT_EQ(device["quarantine_reason"], "the kernel was lost");
  EXPECT_EQ(device["predicted_wait_seconds"],
            json({{"live", nullptr}, {"interactive", nullptr}, {"batch", nullptr}}));
}

TEST_F(ApiTest, HistoryHasColumnsOfOneLength) {
  activity_.OnFrame(2'000'000);
  activity_.OnRefused(absl::UnavailableError("drained for \"service\""), "Angio-1", absl::Now());
  activity_.EndStep(absl::Now() + node::Activity::kStep);
  json history = Body("/api/v1/history?seconds=600&points=30");
  EXPECT_EQ(KeysOf(history),
            DocumentedKeys("### GET /api/v1/history?seconds=3600&points=360", "{"));
  EXPECT_EQ(history["step_seconds"], 20);
  EXPECT_EQ(history["refused"], json({1}));
  const json refusal = history["last_refusals"].at(0);
  EXPECT_EQ(refusal["code"], "UNAVAILABLE");
  EXPECT_EQ(refusal["message"], "drained for \"service\"");
  EXPECT_EQ(refusal["station_name"], "Angio-1");
  EXPECT_THAT(refusal["time"].get<std::string>(), ::testing::EndsWith("Z"));
  history.erase("last_refusals");
  for (const auto& [name, column] : history.items()) {
    if (name == "step_seconds") continue;
    EXPECT_THAT(column, SizeIs(1)) << name;
  }
  EXPECT_NEAR(history["megabytes_per_second"][0].get<double>(), 0.2, 0.01);
  EXPECT_EQ(history["kernel_gups"][0], nullptr);
  EXPECT_EQ(client().Get("/api/v1/history?seconds=1").status, 400);
}

TEST_F(ApiTest, JobsAreCancelled) {
  const std::string id = Accept();
  client().TakeCsrfToken();
  EXPECT_EQ(client().Post("/api/v1/jobs/" + id + ":cancel").status, 200);
  ASSERT_TRUE(Eventually([&] { return jobs::HasEnded((*service_.table->Get(id))->state); }));
  const json job = Body("/api/v1/jobs/" + id);
  EXPECT_EQ(job["state"], "cancelled");
  EXPECT_EQ(job["error"]["code"], "CANCELLED");
  EXPECT_EQ(client().Post("/api/v1/jobs/" + id + ":cancel").status, 409);
  EXPECT_EQ(client().Post("/api/v1/jobs/none:cancel").status, 404);
  const auto slash = client().Post("/api/v1/jobs/none/cancel");
  EXPECT_EQ(slash.status, 404);
  EXPECT_THAT(slash.body, HasSubstr("; did you mean /api/v1/jobs/none:cancel?"));
  EXPECT_THAT(client().Post("/api/v1/jobs/none/stop").body, Not(HasSubstr("did you mean")));
}

TEST_F(ApiTest, TransfersAreEmptyWithoutDestinations) {
  const json transfers = Body("/api/v1/transfers");
  EXPECT_EQ(KeysOf(transfers), DocumentedKeys("### GET /api/v1/transfers", "{"));
  EXPECT_EQ(transfers["enabled"], false);
  EXPECT_THAT(transfers["transfers"], SizeIs(0));
}

}  // namespace
}  // namespace isocenter::testing
