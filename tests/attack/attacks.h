// What callers who mean harm do. Each takes some seconds, and is tried at random and at the same
// time as others. None of them checks anything: the rooms, the probes and the memory tell.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/attack/target.h"
#include "tests/fault/campaign.h"

namespace isocenter::testing {

struct Attack {
  std::string name;
  std::function<void(const Target&, Chance&)> run;
};

/// Bytes on gRPC's connections: HTTP/2 that is none, or too much of it, or never ends.
std::vector<Attack> Http2Attacks();
/// Calls that are well-formed, from callers with and without roles.
std::vector<Attack> GrpcAttacks();
/// The page's port and that of metrics and probes.
std::vector<Attack> HttpAttacks();
std::vector<Attack> DicomAttacks();

/// How long an attack holds what it has opened.
inline constexpr int kHoldSeconds = 3;

/// Where the attackers' raw connections come from: not from the rooms' address, which a node that
/// cuts off a host would cut off, too.
inline constexpr char kAttacker[] = "127.0.0.66";

inline std::string RandomBytes(Chance& chance, int64_t longest) {
  std::string bytes(static_cast<size_t>(chance.Integer(0, longest)), '\0');
  for (char& byte : bytes) byte = static_cast<char>(chance.Integer(0, 255));
  return bytes;
}

}  // namespace isocenter::testing
