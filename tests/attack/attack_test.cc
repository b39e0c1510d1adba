// Every door of a node is attacked at random, by several callers at once, while rooms scan: no scan
// is lost or late, no door stays closed, and the memory comes back to what it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/attack/attacks.h"
#include "tests/attack/live_room.h"
#include "tests/attack/target.h"
#include "tests/fault/campaign.h"
#include "tests/fault/raw_connection.h"
#include "tests/fault/small_scan.h"

namespace isocenter::testing {
namespace {

constexpr int kRooms = 2, kAttackers = 3;
constexpr int64_t kAllowedBytes = 64 << 20;
// The server gives unused memory back every 5 seconds; jobs of attackers wait for their consoles.
constexpr absl::Duration kToGiveBack = absl::Minutes(3);
constexpr double kLatestP99Ms = 50;
constexpr bool kMemoryComesBack = !ISOCENTER_SANITIZED;

absl::Duration Length() {
  int seconds = Rounds(15, 3600);
  if (const char* given = std::getenv("ISOCENTER_ATTACK_SECONDS")) {
    EXPECT_TRUE(absl::SimpleAtoi(given, &seconds)) << given;
  }
  return absl::Seconds(seconds);
}

/// Asks again and again whether the node is ready.
class Probe {
 public:
  explicit Probe(int port) : port_(port), thread_([this] { Run(); }) {}
  /// Seconds until it was, at most; what it said meanwhile is printed.
  double Stop() {
    stopped_ = true;
    thread_.join();
    if (!refusal_.empty()) std::printf("last not ready: %s\n", refusal_.c_str());
    return worst_;
  }

 private:
  void Run() {
    while (!stopped_) {
      const absl::Time asked = absl::Now();
      while (!IsReady() && absl::Now() - asked < absl::Minutes(1)) {
        absl::SleepFor(absl::Milliseconds(50));
      }
      worst_ = std::max(worst_, absl::ToDoubleSeconds(absl::Now() - asked));
      absl::SleepFor(absl::Seconds(1));
    }
  }
  bool IsReady() {
    RawConnection connection(port_);
    connection.Send("GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const std::string answer = connection.ReadAll(absl::Seconds(10));
    if (absl::StartsWith(answer, "HTTP/1.1 200")) return true;
    refusal_ = answer.empty() ? "no answer" : answer;
    return false;
  }

  const int port_;
  std::atomic<bool> stopped_ = false;
  double worst_ = 0;
  std::string refusal_;
  std::thread thread_;
};

std::vector<Attack> AllAttacks() {
  std::vector<Attack> all;
  for (const auto& some : {Http2Attacks(), GrpcAttacks(), HttpAttacks(), DicomAttacks()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// One of several; how often it has tried what.
std::map<std::string, int> AttackUntil(absl::Time end, const Target& target, uint64_t seed) {
  const std::vector<Attack> attacks = AllAttacks();
  Chance chance(seed);
  std::map<std::string, int> tried;
  while (absl::Now() < end) {
    const Attack& attack = attacks[chance.Integer(0, attacks.size() - 1)];
    attack.run(target, chance);
    ++tried[attack.name];
  }
  return tried;
}

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

/// Waits until it is as little as is wanted.
int64_t MemoryAfter(const Daemon& daemon, int64_t wanted) {
  const absl::Time give_up = absl::Now() + kToGiveBack;
  while (daemon.ResidentBytes() > wanted && absl::Now() < give_up) {
    absl::SleepFor(absl::Seconds(1));
  }
  return daemon.ResidentBytes();
}

TEST(Attack, RoomsGoOnScanningAndMemoryComesBack) {
  Target target;
  ASSERT_NE(target.grpc_port(), 0) << "isocenterd did not start";
  UndisturbedVolume();
  {
    LiveRoom warm(target, "warm");
    while (warm.scans() < 1) absl::SleepFor(absl::Milliseconds(50));
    ASSERT_THAT(warm.Stop().failures, ::testing::IsEmpty());
  }
  const int64_t before = target.daemon().ResidentBytes();

  Chance chance;
  std::vector<std::unique_ptr<LiveRoom>> rooms;
  for (int i = 0; i < kRooms; ++i) {
    rooms.push_back(std::make_unique<LiveRoom>(target, "room-" + std::to_string(i)));
  }
  Probe probe(target.web_port());
  const absl::Time end = absl::Now() + Length();
  std::vector<std::map<std::string, int>> tried(kAttackers);
  std::vector<std::thread> attackers;
  for (int i = 0; i < kAttackers; ++i) {
    const uint64_t seed = chance.Integer(0, 1 << 30);
    attackers.emplace_back([&, i, seed] { tried[i] = AttackUntil(end, target, seed); });
  }
  for (std::thread& attacker : attackers) attacker.join();

  std::map<std::string, int> times;
  for (const auto& of_one : tried) {
    for (const auto& [name, count] : of_one) times[name] += count;
  }
  for (const auto& [name, count] : times) std::printf("%-22s %6d\n", name.c_str(), count);
  const double worst_probe = probe.Stop();
  std::vector<double> acknowledged;
  int scans = 0;
  for (const auto& room : rooms) {
    const LiveRoom::Served served = room->Stop();
    EXPECT_THAT(served.failures, ::testing::IsEmpty());
    scans += served.scans;
    acknowledged.insert(acknowledged.end(), served.acknowledged_ms.begin(),
                        served.acknowledged_ms.end());
  }
  ASSERT_TRUE(target.daemon().IsRunning()) << "the server has gone";
  const int64_t peak = target.daemon().ResidentBytes();
  const int64_t after = MemoryAfter(target.daemon(), before + kAllowedBytes);
  const double p99 = Percentile(acknowledged, 0.99);
  std::printf(
      "%d scans; frames acknowledged after %.1f ms (median), %.1f (p99), %.1f (latest); "
      "ready after %.2f s at most\n",
      scans, Percentile(acknowledged, 0.5), p99, Percentile(acknowledged, 1), worst_probe);
  std::printf("resident: %.1f MiB before, %.1f at the end, %.1f afterwards\n", before / 1048576.,
              peak / 1048576., after / 1048576.);
  EXPECT_GE(scans, kRooms);
  EXPECT_LT(worst_probe, 10);
  if (IsLongCampaign()) {
    EXPECT_LT(p99, kLatestP99Ms);
  }
  if (kMemoryComesBack) {
    EXPECT_LE(after - before, kAllowedBytes);
  }
  target.daemon().Signal(SIGTERM);
  EXPECT_EQ(target.daemon().Wait(), 0);
  EXPECT_EQ(std::system((ISOCENTERD " --verify_audit " + target.audit_directory()).c_str()), 0);
}

}  // namespace
}  // namespace isocenter::testing
