#include "server/rpc/connections/connections.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "server/rpc/connections/stream_watch.h"

namespace isocenter::rpc {
namespace {

/// Two ends of a TCP connection.
struct Wire {
  Wire() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(listen(listener, 1), 0);
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
    client = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&address), length), 0);
    sockaddr_storage from{};
    length = sizeof(from);
    server = accept(listener, reinterpret_cast<sockaddr*>(&from), &length);
    peer = PeerOf(from);
    close(listener);
  }
  ~Wire() {
    close(client);
    close(server);
  }
  int client = -1, server = -1;
  Peer peer;
};

TEST(PeerOf, IsIPv4AlsoWhereItCameAsIPv6) {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in6&>(storage);
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(4711);
  inet_pton(AF_INET6, "::ffff:10.1.2.3", &address.sin6_addr);
  EXPECT_EQ(PeerOf(storage), (Peer{"10.1.2.3", 4711}));
  inet_pton(AF_INET6, "fe80::1", &address.sin6_addr);
  EXPECT_EQ(PeerOf(storage), (Peer{"fe80::1", 4711}));
}

TEST(Connections, CutsOneAtOnceWithWhatItHasSent) {
  Connections connections(64);
  Wire bad, other;
  ASSERT_TRUE(connections.Admit(bad.server, bad.peer));
  ASSERT_TRUE(connections.Admit(other.server, other.peer));
  ASSERT_EQ(send(bad.client, "unread", 6, 0), 6);
  EXPECT_TRUE(connections.Cut(bad.peer));
  char buffer[8];
  EXPECT_EQ(recv(bad.server, buffer, sizeof(buffer), MSG_DONTWAIT), -1) << "it is dropped";
  EXPECT_EQ(recv(bad.client, buffer, sizeof(buffer), 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_FALSE(connections.Cut(bad.peer)) << "it was cut";
  // The other one of the same host stays, and no further one comes.
  ASSERT_EQ(send(other.client, "x", 1, 0), 1);
  EXPECT_EQ(recv(other.server, buffer, sizeof(buffer), 0), 1);
  Wire again;
  EXPECT_FALSE(connections.Admit(again.server, again.peer));
  EXPECT_TRUE(connections.Admit(again.server, {"10.0.0.1", 1}));
}

TEST(Connections, OfAClosedOneNoOtherFileIsCut) {
  Connections connections(64);
  Wire gone;
  const Peer peer = gone.peer;
  ASSERT_TRUE(connections.Admit(gone.server, peer));
  close(gone.server);
  Wire next;  // gets its number
  gone.server = -1;
  EXPECT_TRUE(connections.Cut(peer));
  ASSERT_EQ(send(next.client, "x", 1, 0), 1);
  char byte;
  EXPECT_EQ(recv(next.server, &byte, 1, 0), 1);
}

TEST(Budget, IsSpentAtOnceAndComesBack) {
  Budget budget;
  absl::Time now = absl::UnixEpoch();
  EXPECT_TRUE(budget.Spend(Budget::kAtOnce - 1, now));
  EXPECT_FALSE(budget.Spend(2, now));
  now += absl::Seconds(1);
  EXPECT_TRUE(budget.Spend(Budget::kPerSecond - 1, now));
  EXPECT_FALSE(budget.is_full(now));
  EXPECT_TRUE(budget.is_full(now + absl::Seconds(20)));
}

}  // namespace
}  // namespace isocenter::rpc
