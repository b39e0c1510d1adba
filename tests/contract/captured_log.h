// What the service writes to its log.
#pragma once

#include <memory>
#include <sstream>
#include <string>

#include "server/base/log.h"
#include "spdlog/sinks/ostream_sink.h"

namespace isocenter::testing {

/// Takes the lines of the log as long as it lives. One at a time.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(lines_)));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  /// After the calls that are to be seen have ended.
  std::string text() const { return lines_.str(); }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream lines_;
};

}  // namespace isocenter::testing
