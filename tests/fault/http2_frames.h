// HTTP/2 (RFC 9113) by hand, legal or not.
#pragma once

#include <cstdint>
#include <string>

namespace isocenter::testing {

inline constexpr char kHttp2Preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr char kSettings = 4, kHeaders = 1, kData = 0, kReset = 3, kPing = 6;
inline constexpr char kEndStream = 1, kEndHeaders = 4;

/// `claimed`: the length that the frame says it has; -1: what it has.
inline std::string Http2Frame(char type, char flags, uint32_t stream, const std::string& payload,
                              int64_t claimed = -1) {
  const auto length = static_cast<uint32_t>(claimed < 0 ? payload.size() : claimed);
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(length >> shift);
  frame += type;
  frame += flags;
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift);
  return frame + payload;
}

/// What begins a connection.
inline std::string Http2Opening() { return kHttp2Preface + Http2Frame(kSettings, 0, 0, ""); }

/// What begins a gRPC call of `method`, "/package.Service/Method" (HPACK, RFC 7541, no table).
/// `token`: of the caller; empty: none.
inline std::string CallHeaders(uint32_t stream, const std::string& method,
                               const std::string& token = "") {
  const auto text = [](const std::string& value) {
    return static_cast<char>(value.size()) + value;
  };
  std::string block = "\x83\x86";       // POST, http
  block += "\x04" + text(method);       // :path
  block += "\x01" + text("localhost");  // :authority
  block += std::string(1, '\0') + text("te") + text("trailers");
  block += "\x0f\x10" + text("application/grpc");  // content-type
  if (!token.empty())
    block += std::string(1, '\0') + text("authorization") + text("Bearer " + token);
  return Http2Frame(kHeaders, kEndHeaders, stream, block);
}

/// The beginning of a gRPC message that claims `bytes`, of which `part` comes.
inline std::string MessageBeginning(uint32_t stream, uint32_t bytes, const std::string& part,
                                    bool compressed = false) {
  std::string prefix(1, static_cast<char>(compressed));
  for (const int shift : {24, 16, 8, 0}) prefix += static_cast<char>(bytes >> shift);
  return Http2Frame(kData, 0, stream, prefix + part);
}

/// A call that is begun and taken back.
inline std::string ResetCall(uint32_t stream, const std::string& method,
                             const std::string& token = "") {
  return CallHeaders(stream, method, token) + Http2Frame(kReset, 0, stream, {0, 0, 0, 8});
}

}  // namespace isocenter::testing
