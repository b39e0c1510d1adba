// What may be listened on.
#include "server/config/addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "isocenter/v1/server_config.pb.h"
#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

using ::testing::HasSubstr;

TEST(Addresses, HostsAndPorts) {
  for (const char* legal : {"127.0.0.1:0", "0.0.0.0:65535", "recon-1.example.org:50051", "ct:80",
                            "localhost:1", "node_1:80", "1a:80"}) {
    EXPECT_TRUE(CheckAddress("f", legal, AddressFamily::kIpv4).ok()) << legal;
  }
  // 127.0.0.999 would be listened on as 127.0.3.231 by one library and refused by another.
  for (const char* wrong : {"", "50051", ":50051", "127.0.0.999:80", "10.0.0:80", "1:80", "a b:80",
                            "-a:80", "a..b:80", "ct:", "ct:65536", "ct:-1", "ct:http", "ct :80",
                            "::1:80", "[::1]", "[::g]:80", "[10.0.0.1]:80", "http://ct:80"}) {
    EXPECT_THAT(std::string(CheckAddress("f", wrong, AddressFamily::kAny).message()),
                HasSubstr("; legal is host:port"))
        << wrong;
  }
  EXPECT_TRUE(CheckAddress("f", "[::1]:80", AddressFamily::kAny).ok());
  EXPECT_FALSE(CheckAddress("f", "[::1]:80", AddressFamily::kIpv4).ok());
  EXPECT_TRUE(CheckHost("f", "10.0.0.1", AddressFamily::kIpv4).ok());
  EXPECT_FALSE(CheckHost("f", "10.0.0.1:80", AddressFamily::kIpv4).ok());
}

/// The complaint about a node whose gRPC and metrics listen there.
std::string Complaint(const char* grpc, const char* metrics) {
  v1::ServerConfig config;
  ApplyDefaults(config);
  config.set_grpc_address(grpc);
  config.set_metrics_address(metrics);
  config.add_unprotected_listener(v1::LISTENER_GRPC);
  return std::string(ValidateServerConfig(config).message());
}

TEST(Addresses, EachPortIsTakenOnce) {
  EXPECT_EQ(Complaint("127.0.0.1:5000", "127.0.0.1:5000"),
            "metrics_address is '127.0.0.1:5000'; legal is another port than that of grpc_address");
  for (const char* grpc : {"localhost:5000", "0.0.0.0:5000", "[::]:5000"}) {
    EXPECT_THAT(Complaint(grpc, "127.0.0.1:5000"), HasSubstr("metrics_address is")) << grpc;
  }
  EXPECT_EQ(Complaint("10.0.0.1:5000", "127.0.0.1:5000"), "");
  EXPECT_EQ(Complaint("[::1]:5000", "0.0.0.0:5000"), "");
  EXPECT_EQ(Complaint("127.0.0.1:0", "127.0.0.1:0"), "");
  EXPECT_THAT(Complaint("127.0.0.1:11112", "127.0.0.1:0"),
              HasSubstr("grpc_address is '127.0.0.1:11112'; legal is another port than that of "
                        "dicom_node.port"));
  EXPECT_EQ(Complaint("127.0.0.1:2762", "127.0.0.1:0"), "") << "without TLS nothing has that port";
}

}  // namespace
}  // namespace isocenter::config
