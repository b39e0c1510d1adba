// Frames of HTTP/2 (RFC 9113) and headers of gRPC calls, byte by byte.
#pragma once

#include <cstdint>
#include <string>

namespace isocenter::testing {

inline constexpr char kHttp2Preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum Http2Type : char { kData = 0, kHeaders = 1, kResetStream = 3, kSettings = 4, kPing = 6 };
inline constexpr char kEndStream = 1, kEndHeaders = 4;

inline std::string BigEndian32(uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift);
  return bytes;
}

/// `claimed`: the length that it says, if not its own.
inline std::string Http2Frame(char type, char flags, uint32_t stream, const std::string& payload,
                              int64_t claimed = -1) {
  const auto length = static_cast<uint32_t>(claimed < 0 ? payload.size() : claimed);
  return BigEndian32(length).substr(1) + type + flags + BigEndian32(stream) + payload;
}

/// The header block of a call (HPACK, RFC 7541): indexed fields, and literals that enter no table.
inline std::string CallHeaders(const std::string& method, const std::string& token = "") {
  const auto text = [](const std::string& value) {
    return static_cast<char>(value.size()) + value;  // up to 126 bytes
  };
  std::string block = "\x83\x86";                               // :method POST, :scheme http
  block += '\x04' + text(method);                               // :path
  block += '\x01' + text("127.0.0.1");                          // :authority
  block += std::string("\x0f\x10") + text("application/grpc");  // content-type
  block += '\0' + text("te") + text("trailers");
  if (!token.empty()) block += '\0' + text("authorization") + text("Bearer " + token);
  return block;
}

/// The prefix of a gRPC message of `bytes` bytes.
inline std::string MessagePrefix(uint32_t bytes, bool compressed = false) {
  return static_cast<char>(compressed) + BigEndian32(bytes);
}

}  // namespace isocenter::testing
