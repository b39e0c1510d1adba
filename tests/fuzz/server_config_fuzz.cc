// The configuration file of the server.
#include <cstddef>
#include <cstdint>

#include "server/config/server_config.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto config = config::ParseServerConfig({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!config.ok()) return 0;
  config::ApplyDefaults(*config);
  (void)config::ValidateServerConfig(*config);
  return 0;
}
