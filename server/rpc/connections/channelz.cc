#include "server/rpc/connections/channelz.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "grpc/grpc.h"
#include "grpc/support/alloc.h"

namespace isocenter::rpc {
namespace {

using Json = google::protobuf::Struct;

/// gRPC's accounts are JSON (grpc/channelz/v1/channelz.proto), which it allocates.
std::optional<Json> Parse(char* text) {
  if (text == nullptr) return std::nullopt;
  Json json;
  const bool parsed = google::protobuf::util::JsonStringToMessage(text, &json).ok();
  gpr_free(text);
  return parsed ? std::optional(std::move(json)) : std::nullopt;
}

const google::protobuf::Value& Field(const Json& json, const std::string& name) {
  const auto found = json.fields().find(name);
  return found == json.fields().end() ? google::protobuf::Value::default_instance() : found->second;
}

const Json& Object(const Json& json, const std::string& name) {
  return Field(json, name).struct_value();
}

/// Numbers of 64 bits are strings, and left out where they are 0.
int64_t Number(const Json& json, const std::string& name) {
  int64_t number = 0;
  (void)absl::SimpleAtoi(Field(json, name).string_value(), &number);
  return number;
}

Peer PeerIn(const Json& socket) {
  const Json& address = Object(Object(socket, "remote"), "tcpip_address");
  std::string bytes;
  if (!absl::Base64Unescape(Field(address, "ip_address").string_value(), &bytes)) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
  if (bytes.size() != 4 && bytes.size() != 16) return {};
  inet_ntop(family, bytes.data(), text.data(), text.size());
  return {text.data(), static_cast<int>(Field(address, "port").number_value())};
}

}  // namespace

Channelz Channelz::OfNewestServer() {
  int64_t newest = 0;
  for (int64_t next = 0;;) {
    const auto page = Parse(grpc_channelz_get_servers(next));
    if (!page) break;
    for (const auto& server : Field(*page, "server").list_value().values()) {
      newest = std::max(newest, Number(Object(server.struct_value(), "ref"), "serverId"));
    }
    if (Field(*page, "end").bool_value() || newest < next) break;
    next = newest + 1;
  }
  return Channelz(newest);
}

int64_t Channelz::StreamsBegun() const {
  const auto json = Parse(grpc_channelz_get_server(server_));
  return json ? Number(Object(Object(*json, "server"), "data"), "callsStarted") : 0;
}

std::vector<Channelz::Connection> Channelz::OpenConnections() const {
  std::vector<Connection> connections;
  for (int64_t next = 0;;) {
    const auto page = Parse(grpc_channelz_get_server_sockets(server_, next, 0));
    if (!page) break;
    for (const auto& reference : Field(*page, "socketRef").list_value().values()) {
      const int64_t id = Number(reference.struct_value(), "socketId");
      next = std::max(next, id + 1);
      const auto json = Parse(grpc_channelz_get_socket(id));
      if (!json) continue;
      const Json& socket = Object(*json, "socket");
      const Json& data = Object(socket, "data");
      connections.push_back(
          {id, PeerIn(socket), Number(data, "streamsStarted"), Number(data, "streamsSucceeded")});
    }
    if (Field(*page, "end").bool_value() ||
        Field(*page, "socketRef").list_value().values().empty()) {
      break;
    }
  }
  return connections;
}

}  // namespace isocenter::rpc
