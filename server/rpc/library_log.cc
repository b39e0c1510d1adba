#include "server/rpc/library_log.h"

#include <string>

#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "spdlog/spdlog.h"

namespace isocenter::rpc {

void RedirectLibraryLogs() {
  gpr_set_log_function([](gpr_log_func_args* arguments) {
    spdlog::debug("event=grpc_message text=\"{}\"", arguments->message);
  });
  google::protobuf::SetLogHandler(
      [](google::protobuf::LogLevel, const char*, int, const std::string& message) {
        spdlog::debug("event=protobuf_message text=\"{}\"", message);
      });
}

}  // namespace isocenter::rpc
