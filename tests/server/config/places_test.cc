#include "server/config/places.h"

#include <gtest/gtest.h>

#include <string>

#include "server/config/server_config.h"

namespace isocenter::config {
namespace {

TEST(Places, OfTwoListenersOnOnePortTheOneThatTheFileNamesIsToBlame) {
  const auto placed = [](const std::string& text) {
    auto config = ParseServerConfig(text, "site.txt");
    EXPECT_TRUE(config.ok()) << config.status();
    ApplyDefaults(*config);
    return std::string(
        WithPlaces(ValidateServerConfig(*config), text, "site.txt", *config).message());
  };
  EXPECT_EQ(placed("metrics_address: \"127.0.0.1:8080\""),
            "site.txt:1: metrics_address is '127.0.0.1:8080'; legal is another port than that of "
            "web.address");
  EXPECT_EQ(placed("\nweb { address: \"127.0.0.1:9464\" }"),
            "site.txt:2: web.address is '127.0.0.1:9464'; legal is another port than that of "
            "metrics_address");
  EXPECT_EQ(placed("grpc_address: \"127.0.0.1:8080\""),
            "site.txt:1: grpc_address is '127.0.0.1:8080'; legal is another port than that of "
            "web.address");
}

}  // namespace
}  // namespace isocenter::config
