// Requests that hostile clients may come to.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace isocenter::testing {

/// Legal requests with bytes changed, doubled, cut off or put in. The same seed gives the same.
class Mutations {
 public:
  explicit Mutations(unsigned seed) : random_(seed) {}

  std::string Next() {
    std::string text = kRequests[Below(kRequests.size())];
    for (size_t n = Below(4); n > 0; --n) {
      const size_t at = Below(text.size()), length = Below(text.size() - at) % 40;
      switch (Below(6)) {
        case 0:
          text[at] = static_cast<char>(Below(256));
          break;
        case 1:
          text.insert(at, text.substr(at, length));
          break;
        case 2:
          text.erase(at, length);
          break;
        case 3:
          text.insert(at, kPieces[Below(kPieces.size())]);
          break;
        case 4:
          text.insert(at, std::string(Below(20'000), text[at]));
          break;
        default:
          text.resize(at);
      }
      if (text.empty()) text = "G";
    }
    return text;
  }

 private:
  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }

  inline static const std::vector<std::string> kRequests = {
      "GET /livez HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
      "HEAD / HTTP/1.0\r\n\r\n",
      "GET /api/v1/jobs?state=completed&page_size=5 HTTP/1.1\r\nHost: localhost\r\nCookie: "
      "isocenter_session=1\r\n\r\nGET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
      "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 13\r\n\r\n{\"token\":\"x\"}",
      "POST /api/v1/node:drain HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "4;a=b\r\n{\"re\r\n9\r\nason\":\"\"}\r\n0\r\nTrailer: 1\r\n\r\n",
      "DELETE /api/v1/jobs/20260101T000000-00000000 HTTP/1.1\r\nHost: localhost\r\nExpect: "
      "100-continue\r\nUpgrade: h2c\r\n\r\n"};
  inline static const std::vector<std::string> kPieces = {"\r\n",
                                                          "\n",
                                                          "\r",
                                                          "\r\n\r\n",
                                                          std::string(1, '\0'),
                                                          "%00",
                                                          "%2e%2e/",
                                                          "Content-Length: 5\r\n",
                                                          "Content-Length: -1\r\n",
                                                          "Transfer-Encoding: chunked\r\n",
                                                          "FFFFFFFFFFFFFFFF\r\n",
                                                          ": ",
                                                          " ",
                                                          "\xff\xfe",
                                                          "HTTP/2.0",
                                                          "Host: b\r\n",
                                                          "\t",
                                                          ";",
                                                          "Connection: keep-alive, close\r\n"};
  std::mt19937 random_;
};

}  // namespace isocenter::testing
