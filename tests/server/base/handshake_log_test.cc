#include "server/base/handshake_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/base/log.h"
#include "spdlog/sinks/ostream_sink.h"

namespace isocenter {
namespace {

TEST(HandshakeLog, EachFailureHasALineOrIsCounted) {
  std::ostringstream written;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(written)));
  constexpr int kFailures = 20;
  for (int i = 0; i < kFailures; ++i) LogHandshake("grpc", "192.0.2.7", "plain text");
  absl::SleepFor(absl::Milliseconds(1100));
  LogHandshake("grpc", "", "no certificate");
  LogHandshake("web", "192.0.2.8", "plain text");  // endpoints are counted apart
  spdlog::set_default_logger(before);

  const std::vector<std::string> lines =
      absl::StrSplit(written.str(), '\n', absl::SkipWhitespace());
  int told = 0;
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = absl::StrSplit(line, " suppressed=");
    ASSERT_EQ(parts.size(), 2u) << line;
    int suppressed = 0;
    ASSERT_TRUE(absl::SimpleAtoi(parts[1], &suppressed)) << line;
    told += 1 + suppressed;
  }
  EXPECT_EQ(told, kFailures + 2);
  EXPECT_LT(lines.size(), 8u);
  EXPECT_THAT(lines[lines.size() - 2], ::testing::HasSubstr("endpoint=grpc address=\"unknown\" "
                                                            "why=\"no certificate\""));
  EXPECT_THAT(lines.back(), ::testing::EndsWith("why=\"plain text\" suppressed=0"));
}

}  // namespace
}  // namespace isocenter
