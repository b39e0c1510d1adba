// HTTP/2 (RFC 9113) by hand, legal or not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
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

/// What a server lets its client send (RFC 9113, section 5.2).
class SendWindows {
 public:
  /// What the server has sent; frames may come in pieces. What is to be answered: until its
  /// settings are acknowledged, they do not count.
  std::string Read(const std::string& bytes) {
    bytes_ += bytes;
    std::string answer;
    while (bytes_.size() >= 9) {
      const size_t length = Number(0, 3);
      if (bytes_.size() < 9 + length) break;
      const auto stream = static_cast<uint32_t>(Number(5, 4));
      const char type = bytes_[3];
      if (type == kWindowUpdate) (stream == 0 ? connection_ : streams_[stream]) += Number(9, 4);
      for (size_t at = 9; type == kSettings && at < 9 + length; at += 6) {
        if (Number(at, 2) == 4) initial_ = Number(at + 2, 4);
      }
      constexpr char kAcknowledged = 1;
      if (type == kSettings && bytes_[4] != kAcknowledged) {
        answer += Http2Frame(kSettings, kAcknowledged, 0, "");
      }
      bytes_.erase(0, 9 + length);
    }
    return answer;
  }
  int64_t Left(uint32_t stream) { return std::min(connection_, initial_ + streams_[stream]); }
  void Spend(uint32_t stream, int64_t bytes) {
    connection_ -= bytes;
    streams_[stream] -= bytes;
  }

 private:
  static constexpr char kWindowUpdate = 8;
  int64_t Number(size_t at, size_t bytes) const {
    int64_t number = 0;
    for (size_t i = at; i < at + bytes; ++i) number = number << 8 | static_cast<uint8_t>(bytes_[i]);
    return number;
  }

  std::string bytes_;
  int64_t connection_ = 65535, initial_ = 65535;
  std::map<uint32_t, int64_t> streams_;  // beyond the initial one
};

}  // namespace isocenter::testing
