#include <deque>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/attack/attacks.h"
#include "tests/fault/raw_connection.h"

namespace isocenter::testing {
namespace {

int AnyPort(const Target& target, Chance& chance) {
  return chance.OneIn(3) ? target.metrics_port() : target.web_port();
}

// Requests of which a byte comes now and then.
void SlowRequests(const Target& target, Chance& chance) {
  const std::string request = "GET /api/v1/jobs HTTP/1.1\r\nHost: a\r\nX-Header: some value\r\n";
  std::deque<RawConnection> held;
  for (int i = 0; i < 300; ++i) held.emplace_back(AnyPort(target, chance), kAttacker);
  for (int byte = 0; byte < 10 * kHoldSeconds; ++byte) {
    for (RawConnection& connection : held) connection.Send(request.substr(byte, 1));
    absl::SleepFor(absl::Milliseconds(100));
  }
}

// Connections that asked once and stay.
void IdleConnections(const Target& target, Chance& chance) {
  std::deque<RawConnection> held;
  for (int i = 0; i < 300; ++i) {
    held.emplace_back(AnyPort(target, chance), kAttacker);
    held.back().Send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  absl::SleepFor(absl::Seconds(kHoldSeconds));
}

void MalformedRequests(const Target& target, Chance& chance) {
  const std::string valid =
      "POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: 15\r\nCookie: a=b\r\n\r\n{\"token\":\"abc\"}";
  for (int i = 0; i < 200; ++i) {
    std::string request = valid;
    for (int64_t change = chance.Integer(0, 8); change > 0; --change) {
      request[chance.Integer(0, request.size() - 1)] = static_cast<char>(chance.Integer(0, 255));
    }
    if (chance.OneIn(4)) request = RandomBytes(chance, 3000);
    RawConnection connection(AnyPort(target, chance), kAttacker);
    connection.Send(request);
    if (chance.OneIn(3)) connection.Read();
  }
}

void LargeRequests(const Target& target, Chance& chance) {
  const std::string much(1 << 20, 'a');
  for (const std::string& request :
       {absl::StrCat("GET /", much, " HTTP/1.1\r\n\r\n"),
        absl::StrCat("GET / HTTP/1.1\r\nX: ", much, "\r\n\r\n"),
        absl::StrCat("POST /api/v1/session HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", much),
        absl::StrCat("POST /api/v1/session HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                     "fffffff\r\n", much)}) {
    RawConnection connection(AnyPort(target, chance), kAttacker);
    connection.Send(request);
    connection.Read();
  }
}

void WrongTokens(const Target& target, Chance& chance) {
  for (int i = 0; i < 300; ++i) {
    RawConnection connection(target.web_port(), kAttacker);
    connection.Send(absl::StrCat("DELETE /api/v1/jobs/", chance.Integer(1, 1 << 30),
                                 " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ",
                                 chance.Integer(1, 1 << 30), "\r\nConnection: close\r\n\r\n"));
    connection.Read();
  }
}

}  // namespace

std::vector<Attack> HttpAttacks() {
  return {{"slow requests", SlowRequests},
          {"idle connections", IdleConnections},
          {"malformed requests", MalformedRequests},
          {"large requests", LargeRequests},
          {"wrong tokens", WrongTokens}};
}

}  // namespace isocenter::testing
