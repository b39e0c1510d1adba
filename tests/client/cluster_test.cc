// Runs the `isocenter` binary before several nodes, which fake servers play: what is asked of all,
// and which of them a job's commands go to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/client/command.h"
#include "tests/client/fake_cluster.h"

namespace isocenter::client_test {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kNotAll = 3;  // exit code

FakeNode ReadyNode(const std::string& name) {
  FakeNode node{.name = name};
  node.status.set_server(absl::StrCat(name, ".example.org"));
  node.status.set_version("0.9.0");
  node.status.set_ready(true);
  node.status.set_active_jobs(2);
  node.status.set_max_active_jobs(8);
  node.status.set_queue_chunks(12);
  v1::NodeDevice& device = *node.status.add_device();
  device.set_name("cuda0");
  device.set_healthy(true);
  device.set_speed_gups(52.1);
  return node;
}

FakeNode AwayNode(const std::string& name) {
  FakeNode node = ReadyNode(name);
  node.away = true;
  return node;
}

TEST(Cluster, StatusHasARowForEachNode) {
  FakeNode busy = ReadyNode("recon1");
  for (const char* room : {"C1", "C2"}) busy.status.add_station_name(room);
  FakeNode drained = ReadyNode("recon2");
  drained.status.set_ready(false);
  drained.status.mutable_drain()->set_by("chief");
  drained.status.add_reason()->set_message("the node is drained: new filter");
  drained.status.mutable_device(0)->set_healthy(false);
  const FakeAddress proxy({busy, drained, AwayNode("recon3")});
  const Outcome table = RunCommand({"status", "--server", proxy.address()});
  EXPECT_EQ(table.exit_code, kNotAll);
  EXPECT_THAT(table.out,
              ContainsRegex("recon1 +ready +C1,C2 +2/8 +12 +cuda0 52.1 GUPS +- +- +0.9.0\n"));
  EXPECT_THAT(table.out, ContainsRegex("recon2 +drained +- +2/8 +12 +cuda0 failed +- +- +0.9.0 +"
                                       "the node is drained: new filter\n"));
  EXPECT_THAT(table.out, ContainsRegex("recon3 +away .* no such server\n"));
  EXPECT_EQ(table.err, "isocenter: 1 of 3 nodes gave no answer:\n  recon3: no such server\n");

  const auto json =
      nlohmann::json::parse(RunCommand({"status", "--json", "--server", proxy.address()}).out);
  ASSERT_EQ(json["nodes"].size(), 3u);
  EXPECT_EQ(json["nodes"][0]["node"], "recon1");
  EXPECT_EQ(json["nodes"][0]["station_names"], nlohmann::json({"C1", "C2"}));
  EXPECT_EQ(json["nodes"][1]["drain"]["by"], "chief");
  EXPECT_EQ(json["nodes"][2]["reachable"], false);
  EXPECT_EQ(json["nodes"][2]["error_message"], "no such server");
}

/// As `node` sees another one.
v1::NodePeer& AddPeer(FakeNode& node, const std::string& name, const std::string& address) {
  v1::NodePeer& peer = *node.status.add_peer();
  peer.set_node(name);
  peer.set_address(address);
  return peer;
}

TEST(Cluster, StatusShowsNodesThatOnlyAnotherNodeKnows) {
  FakeNode first = ReadyNode("recon1");
  first.status.set_node("recon1");
  first.status.set_spool_free_bytes(3'000'000'000);
  first.status.set_archive_free_bytes(80'000'000'000);
  v1::NodeReplication& replication = *first.status.mutable_replication();
  replication.set_keeper("recon2");
  v1::NodeOrigin& origin = *replication.add_origin();
  origin.set_node("recon3");
  origin.set_copies(5);
  origin.set_orphans(2);
  v1::NodePeer& second = AddPeer(first, "recon2", "10.0.0.2:50051");
  second.set_reachable(true);
  *second.mutable_status() = ReadyNode("recon2").status;
  second.mutable_status()->set_node("recon2");
  second.mutable_status()->set_version("0.8\x1b[2J");
  v1::NodePeer& third = AddPeer(first, "recon3", "10.0.0.3:50051");
  third.set_error("it does not answer in time");
  third.mutable_seen_time()->set_seconds(1'700'000'000);
  AddPeer(first, "recon4", "").set_error("its address is not configured here (cluster.peer)");
  // Its own address: the others are behind other ones.
  const FakeAddress address({first}, "recon1");
  const Outcome table = RunCommand({"status", "--server", address.address()});
  EXPECT_EQ(table.exit_code, kNotAll);
  EXPECT_THAT(table.out,
              ContainsRegex("recon1 +ready .* 3.0/80.0 +5 of recon3 \\(2 LOST\\), own at "
                            "recon2 NOT REACHED +0.9.0"));
  EXPECT_THAT(table.out, ContainsRegex("recon2 +ready .* 0.8\\?\\[2J"));
  EXPECT_THAT(table.out, ContainsRegex("recon3 +away .* it does not answer in time; recon1 saw it "
                                       "last at 20"));
  EXPECT_THAT(table.out, ContainsRegex("recon4 +not asked .*cluster.peer"));
  EXPECT_THAT(table.err, HasSubstr("1 of 3 nodes gave no answer"));
  const auto json =
      nlohmann::json::parse(RunCommand({"status", "--json", "--server", address.address()}).out);
  ASSERT_EQ(json["nodes"].size(), 4u);
  EXPECT_EQ(json["nodes"][0]["replication"]["origins"][0]["orphans"], 2);
  EXPECT_EQ(json["nodes"][1]["told_by"], "recon1");
  EXPECT_EQ(json["nodes"][2]["reachable"], false);
  EXPECT_EQ(json["nodes"][2]["seen_time"], "2023-11-14T22:13:20.000Z");
  // One that is named is shown alone.
  const Outcome one = RunCommand({"status", "--server", address.address(), "--node", "recon1"});
  EXPECT_THAT(one.out, HasSubstr("recon1.example.org is ready"));
  EXPECT_THAT(one.out, HasSubstr("copies at recon2: NOT REACHED"));
}

TEST(Cluster, StatusIsOkWhenAllAnswerAndFailsWhenNoneDoes) {
  const FakeAddress whole({ReadyNode("recon1"), ReadyNode("recon2")});
  const Outcome all = RunCommand({"status", "--server", whole.address()});
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.err, IsEmpty());
  const Outcome one = RunCommand({"status", "--server", whole.address(), "--node", "recon2"});
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("recon2.example.org is ready\n"));
  const Outcome unknown = RunCommand({"status", "--server", whole.address(), "--node", "recon9"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr(absl::StrCat("there is no node 'recon9' at ", whole.address(),
                                                  "; legal is recon1, recon2\n")));
  // For what any node answers as well.
  EXPECT_EQ(RunCommand({"health", "--server", whole.address(), "--node", "recon9"}).exit_code, 4);
  // One that is down is another matter.
  const FakeAddress half({ReadyNode("recon1"), AwayNode("recon2")});
  EXPECT_EQ(RunCommand({"status", "--server", half.address(), "--node", "recon2"}).exit_code, 6);
  const FakeAddress gone({AwayNode("recon1"), AwayNode("recon2")});
  const Outcome none = RunCommand({"status", "--server", gone.address(), "--json"});
  EXPECT_EQ(none.exit_code, 6);
  EXPECT_THAT(none.out, HasSubstr("\"code\": \"UNAVAILABLE\""));
}

TEST(Cluster, ANodeThatHangsDelaysTheOthersForSecondsOnly) {
  FakeNode hung = ReadyNode("recon2");
  hung.hangs = true;
  const FakeAddress proxy({ReadyNode("recon1"), hung});
  const absl::Time begin = absl::Now();
  const Outcome table = RunCommand({"status", "--server", proxy.address()});
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20)) << "one deadline of 3 s, and a busy machine";
  EXPECT_EQ(table.exit_code, kNotAll);
  EXPECT_THAT(table.out, ContainsRegex("recon1 +ready"));
  EXPECT_THAT(table.err, HasSubstr("recon2: the server has not answered in time"));
}

TEST(Cluster, SeveralAddressesAreAskedTogether) {
  const std::vector<FakeNode> nodes = {ReadyNode("recon1"), ReadyNode("recon2")};
  const FakeAddress first(nodes, "recon1"), second(nodes, "recon2"), proxy(nodes);
  const std::string both = absl::StrCat(first.address(), ",", second.address());
  const Outcome table = RunCommand({"status", "--server", both});
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_THAT(table.out, ContainsRegex("recon1 +ready .*\nrecon2 +ready [^\n]*\n$"));
  // A node's own address is that node's; a proxy beside it adds no row.
  EXPECT_THAT(RunCommand({"status", "--server", first.address()}).out,
              HasSubstr("recon1.example.org is ready"));
  const std::string thrice = absl::StrCat(both, ",", proxy.address());
  EXPECT_EQ(RunCommand({"status", "--server", thrice}).out, table.out);
  // An address that nobody listens at is told of, and hides nothing.
  const std::string with_dead = absl::StrCat("127.0.0.1:1,", both);
  const Outcome missing = RunCommand({"status", "--server", with_dead});
  EXPECT_EQ(missing.exit_code, kNotAll);
  EXPECT_THAT(missing.err, HasSubstr("127.0.0.1:1: the server cannot be reached"));
  EXPECT_THAT(missing.out, ContainsRegex("recon2 +ready"));
  const Outcome named = RunCommand({"status", "--server", both, "--node", "recon2"});
  EXPECT_THAT(named.out, HasSubstr("recon2.example.org is ready")) << named.err;
  const Outcome unknown = RunCommand({"status", "--server", both, "--node", "recon9"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.err, HasSubstr("there is no node 'recon9' at"));
  EXPECT_EQ(RunCommand({"status", "--server", absl::StrCat(both, ",")}).exit_code, 2);
}

TEST(Cluster, JobsOfAllNodesComeNewestFirst) {
  FakeNode first = ReadyNode("recon1"), second = ReadyNode("recon2");
  first.AddJob("early", v1::JOB_STATE_COMPLETED, 100);
  first.AddJob("moved", v1::JOB_STATE_FAILED, 300);
  second.AddJob("late", v1::JOB_STATE_COMPLETED, 400);
  second.AddJob("moved", v1::JOB_STATE_COMPLETED, 301);
  const FakeAddress proxy({first, second, AwayNode("recon3")});
  const Outcome table = RunCommand({"jobs", "--server", proxy.address()});
  EXPECT_EQ(table.exit_code, kNotAll);
  EXPECT_THAT(table.out, ContainsRegex("^JOB +NODE +STATE .*\n"
                                       "late +recon2 +completed .*\n"
                                       "moved +recon2 +completed .*\n"
                                       "moved +recon1 +failed .*\n"
                                       "early +recon1 +completed .*\n"));
  EXPECT_THAT(table.err, HasSubstr("recon3: no such server"));
  const Outcome ids = RunCommand({"jobs", "--ids", "--server", proxy.address()});
  EXPECT_EQ(ids.out, "late\nmoved\nearly\n");
  const auto json = nlohmann::json::parse(
      RunCommand({"jobs", "--limit", "2", "--json", "--server", proxy.address()}).out);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0]["node"], "recon2");
  EXPECT_EQ(json[1]["job_id"], "moved");
}

TEST(Cluster, AJobsCommandsFindItsNode) {
  FakeNode first = ReadyNode("recon1"), second = ReadyNode("recon2");
  second.AddJob("there", v1::JOB_STATE_RECEIVING, 100);
  first.AddJob("moved", v1::JOB_STATE_RECEIVING, 100);  // waits for its console in vain
  second.AddJob("moved", v1::JOB_STATE_COMPLETED, 101);
  first.AddJob("twice", v1::JOB_STATE_RECEIVING, 100);
  second.AddJob("twice", v1::JOB_STATE_RECEIVING, 101);
  const FakeAddress proxy({first, second});
  EXPECT_EQ(RunCommand({"cancel", "there", "--server", proxy.address()}).exit_code, 0);
  EXPECT_EQ(RunCommand({"cancel", "moved", "--server", proxy.address()}).exit_code, 0);
  EXPECT_EQ(RunCommand({"cancel", "twice", "--server", proxy.address()}).exit_code, 0);
  EXPECT_THAT(proxy.done(), ElementsAre("recon1 cancelled moved", "recon1 cancelled twice",
                                        "recon2 cancelled there", "recon2 cancelled twice"));
  const Outcome watched = RunCommand({"watch", "moved", "--server", proxy.address()});
  EXPECT_EQ(watched.exit_code, 0) << "the node that completed it: " << watched.err;
  EXPECT_EQ(RunCommand({"delete", "moved", "--server", proxy.address()}).exit_code, 0);
  EXPECT_THAT(proxy.done(),
              testing::IsSupersetOf({"recon1 deleted moved", "recon2 deleted moved"}));
}

/// An ended job, so many days old, whose images went to one destination; `delivered` nothing: to
/// none.
void AddEnded(FakeNode& node, const std::string& id, v1::JobState state, double days,
              std::optional<bool> delivered) {
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  node.AddJob(id, state, now - static_cast<int64_t>(days * 86400) - 60);
  v1::Job& job = node.jobs.back();
  job.mutable_end_time()->set_seconds(now - static_cast<int64_t>(days * 86400));
  job.mutable_grid()->set_nx(512);
  job.mutable_grid()->set_ny(512);
  job.mutable_grid()->set_nz(512);
  if (delivered) job.add_transfer()->set_done(*delivered);
}

TEST(Cluster, OldJobsAreDeletedOnAllNodesAndOthersStay) {
  FakeNode first = ReadyNode("recon1"), second = ReadyNode("recon2");
  AddEnded(first, "new", v1::JOB_STATE_COMPLETED, 29.9, true);
  AddEnded(first, "sent", v1::JOB_STATE_COMPLETED, 30.1, true);
  AddEnded(first, "waits", v1::JOB_STATE_COMPLETED, 40, false);
  AddEnded(first, "failed", v1::JOB_STATE_FAILED, 50, std::nullopt);
  AddEnded(second, "oldest", v1::JOB_STATE_COMPLETED, 90, true);
  AddEnded(second, "refined", v1::JOB_STATE_COMPLETED, 80, true);
  AddEnded(second, "active", v1::JOB_STATE_RECEIVING, 99, true);  // a lie of the node
  second.undeletable = {"refined"};
  const FakeAddress proxy({first, second});
  const auto sweep = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"delete", "--older-than", "30d"});
    flags.insert(flags.end(), {"--server", proxy.address()});
    return RunCommand(flags);
  };
  // Nobody is there to be asked.
  const Outcome unsaid = sweep({"--delivered"});
  EXPECT_EQ(unsaid.exit_code, 2);
  EXPECT_THAT(unsaid.err, HasSubstr("--older-than needs --yes, or --dry-run"));
  const Outcome dry = sweep({"--delivered", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("3 jobs, about 2.2"));
  EXPECT_THAT(dry.out, HasSubstr("2 jobs are as old and stay"));
  EXPECT_THAT(proxy.done(), IsEmpty());
  const Outcome done = sweep({"--delivered", "--yes", "--json"});
  EXPECT_EQ(done.exit_code, 5) << "one was refused";
  EXPECT_THAT(done.err, HasSubstr("1 job could not be deleted:\n  refined: "));
  const auto json = nlohmann::json::parse(done.out);
  EXPECT_EQ(json["selected_count"], 3);
  EXPECT_EQ(json["estimated_bytes"], int64_t{3} * 6 * 512 * 512 * 512);
  EXPECT_EQ(json["kept_count"], 2);
  EXPECT_EQ(json["deleted_count"], 2);
  EXPECT_EQ(json["refused"][0]["job_id"], "refined");
  EXPECT_LT(json["oldest_end_time"], json["newest_end_time"]);
  EXPECT_THAT(proxy.done(), ElementsAre("recon1 deleted sent", "recon2 deleted oldest"));
  // Without --delivered what was to go nowhere goes, too; what a destination waits for never does.
  EXPECT_EQ(sweep({"--yes"}).exit_code, 5);
  EXPECT_THAT(proxy.done(),
              ElementsAre("recon1 deleted failed", "recon1 deleted sent", "recon2 deleted oldest"));
}

TEST(Cluster, SeveralJobsAreDeletedByName) {
  FakeNode first = ReadyNode("recon1"), second = ReadyNode("recon2");
  first.AddJob("a", v1::JOB_STATE_COMPLETED, 100);
  second.AddJob("b", v1::JOB_STATE_COMPLETED, 100);
  second.AddJob("stays", v1::JOB_STATE_COMPLETED, 100);
  second.undeletable = {"stays"};
  const FakeAddress proxy({first, second});
  const Outcome done =
      RunCommand({"delete", "a", "stays", "b", "--yes", "--server", proxy.address()});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_EQ(done.out, "job a is deleted\njob b is deleted\n");
  EXPECT_THAT(done.err, HasSubstr("1 job could not be deleted:\n  stays: "));
  EXPECT_THAT(proxy.done(), ElementsAre("recon1 deleted a", "recon2 deleted b"));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"delete"},
                                             {"delete", "a", "--older-than", "30d", "--yes"},
                                             {"delete", "a", "--delivered"},
                                             {"delete", "--older-than", "30d", "--force", "--yes"},
                                             {"delete", "--older-than", "30 fortnights", "--yes"},
                                             {"delete", "--older-than", "30", "--yes"}}) {
    std::vector<std::string> command = wrong;
    command.insert(command.end(), {"--server", proxy.address()});
    EXPECT_EQ(RunCommand(command).exit_code, 2) << wrong.back();
  }
}

TEST(Cluster, AJobThatIsNowhereIsSaidToBeSo) {
  const FakeAddress whole({ReadyNode("recon1"), ReadyNode("recon2")});
  const Outcome nowhere = RunCommand({"watch", "none", "--server", whole.address()});
  EXPECT_EQ(nowhere.exit_code, 4);
  EXPECT_EQ(nowhere.err,
            "isocenter: there is no job 'none' on any of the nodes recon1, recon2; `isocenter "
            "jobs` lists those that are there\n");
  const FakeAddress part({ReadyNode("recon1"), AwayNode("recon2")});
  const Outcome perhaps = RunCommand({"watch", "none", "--server", part.address()});
  EXPECT_EQ(perhaps.exit_code, 6);
  EXPECT_THAT(perhaps.err, HasSubstr("no node that answers has job 'none'; without an answer: "
                                     "recon2 (no such server)"));
}

TEST(Cluster, DrainingNeedsAName) {
  const FakeAddress proxy({ReadyNode("recon1"), ReadyNode("recon2")});
  const Outcome unnamed = RunCommand({"drain", "--server", proxy.address()});
  EXPECT_EQ(unnamed.exit_code, 2);
  EXPECT_THAT(unnamed.err, HasSubstr("legal is one of recon1, recon2"));
  EXPECT_THAT(proxy.done(), IsEmpty());
  EXPECT_EQ(RunCommand({"drain", "--node", "recon2", "--server", proxy.address()}).exit_code, 0);
  EXPECT_THAT(proxy.done(), ElementsAre("recon2 drained "));
}

}  // namespace
}  // namespace isocenter::client_test
