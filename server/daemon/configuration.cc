#include "server/daemon/configuration.h"

#include <utility>

#include "kernels/base/status_macros.h"

namespace isocenter::daemon {

absl::StatusOr<Configuration> ReadConfiguration(const Flags& flags) {
  ISO_ASSIGN_OR_RETURN(v1::ServerConfig config, Configure(flags));
  ISO_ASSIGN_OR_RETURN(auto protocols, config::ProtocolBook::Make(config));
  ISO_ASSIGN_OR_RETURN(ConfiguredFiles files, ReadConfiguredFiles(config));
  ISO_ASSIGN_OR_RETURN(auto fault, FaultOf(flags));
  return Configuration{.config = std::move(config),
                       .protocols = std::move(protocols),
                       .files = std::move(files),
                       .fault = std::move(fault)};
}

}  // namespace isocenter::daemon
