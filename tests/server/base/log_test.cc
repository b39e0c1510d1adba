#include "server/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "spdlog/sinks/ostream_sink.h"

namespace isocenter {
namespace {

std::string Logged(const std::string& job_id) {
  std::ostringstream lines;
  spdlog::logger logger("test", std::make_shared<spdlog::sinks::ostream_sink_st>(lines));
  logger.set_formatter(LogFormatter());
  logger.info("event=retry_requested job={}", job_id);
  return lines.str();
}

TEST(Log, AnEventIsOneLine) {
  EXPECT_THAT(Logged("j1"), ::testing::MatchesRegex("time=[0-9T:.-]+Z level=info "
                                                    "event=retry_requested job=j1\n"));
}

TEST(Log, WhatOthersHaveSentBeginsNoLine) {
  EXPECT_THAT(Logged("j1\ntime=2026-01-01T00:00:00.000Z level=info event=job_deleted\r\x1b[2J\x7f"),
              ::testing::EndsWith(" job=j1\\x0atime=2026-01-01T00:00:00.000Z level=info "
                                  "event=job_deleted\\x0d\\x1b[2J\\x7f\n"));
  EXPECT_THAT(Logged("Müller"), ::testing::EndsWith("job=Müller\n"));
}

}  // namespace
}  // namespace isocenter
