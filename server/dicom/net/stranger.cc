#include "server/dicom/net/stranger.h"

#include <array>

#include "absl/strings/match.h"

namespace isocenter::dicom {

absl::string_view StrangerOf(std::span<const std::byte, 6> first) {
  const absl::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  const auto at = [&first](size_t i) { return std::to_integer<int>(first[i]); };
  // A record of TLS (RFC 8446, 5.1): its type, and version 3.x.
  if (at(0) >= 20 && at(0) <= 23 && at(1) == 3) {
    return "the other side speaks TLS, and this connection has none; check the port, and that both "
           "sides have TLS or neither";
  }
  // The first frame of a server sets what holds (RFC 9113, 3.4).
  if (absl::StartsWith(text, "PRI * ") || (at(0) == 0 && at(1) == 0 && at(3) == 4)) {
    return "the other side speaks HTTP/2, as gRPC does, and no DICOM; check the port";
  }
  constexpr std::array kHttp = {"HTTP/", "GET ", "HEAD ", "POST ", "PUT ", "OPTION", "DELETE"};
  for (const char* word : kHttp) {
    if (absl::StartsWith(text, word)) {
      return "the other side speaks HTTP, as web servers and browsers do, and no DICOM; check the "
             "port";
    }
  }
  return "";
}

}  // namespace isocenter::dicom
