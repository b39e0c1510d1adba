// Connections that keep others out, or would.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "isocenter/v1/node.grpc.pb.h"
#include "server/rpc/connections/listener.h"
#include "tests/contract/contract_fixture.h"

namespace isocenter::testing {
namespace {

/// Descriptors that are closed in the end.
class Files {
 public:
  Files() = default;
  ~Files() { Close(); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  void Add(int descriptor) { descriptors_.push_back(descriptor); }
  void CloseOne() {
    close(descriptors_.back());
    descriptors_.pop_back();
  }
  void Close() {
    while (!descriptors_.empty()) CloseOne();
  }

 private:
  std::vector<int> descriptors_;
};

class ConnectionsTest : public ContractTest {
 protected:
  /// A connection that says nothing, from an address of the loopback network; -1: there is none.
  int Silent(const char* from) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      close(socket);
      return -1;
    }
    int port = 0;
    EXPECT_TRUE(
        absl::SimpleAtoi(server_->address().substr(server_->address().rfind(':') + 1), &port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(static_cast<uint16_t>(port));
    if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      close(socket);
      return -1;
    }
    return socket;
  }
  /// Of a call on a connection of its own.
  grpc::Status NewCall() {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel = grpc::CreateCustomChannel(server_->address(),
                                                   grpc::InsecureChannelCredentials(), arguments);
    grpc::ClientContext context;
    SetDeadline(context);
    context.set_wait_for_ready(true);
    v1::NodeStatus status;
    return v1::NodeService::NewStub(channel)->GetNodeStatus(&context, {}, &status);
  }
};

TEST(MostConnections, LeavesDescriptorsForScans) {
  EXPECT_EQ(rpc::MostConnections(100), 64);
  EXPECT_EQ(rpc::MostConnections(1024), 256);
  EXPECT_EQ(rpc::MostConnections(65536), 1024);
}

TEST_F(ConnectionsTest, OneHostCannotKeepTheOthersOut) {
  Files silent;
  for (int i = 0; i < 1500; ++i) {
    const int socket = Silent("127.0.0.2");
    ASSERT_GE(socket, 0) << i;
    silent.Add(socket);
  }
  EXPECT_TRUE(NewCall().ok());
}

TEST_F(ConnectionsTest, WithoutDescriptorsItWaitsAndGoesOn) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 300;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Files files, waiting;
  for (int file = 0; (file = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) files.Add(file);
  for (int i = 0; i < 20; ++i) {
    files.CloseOne();  // for the client's side
    waiting.Add(Silent("127.0.0.2"));
    absl::SleepFor(absl::Milliseconds(20));  // for the server's to find that there is none
  }
  files.Close();
  EXPECT_TRUE(NewCall().ok());
  waiting.Close();
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace isocenter::testing
