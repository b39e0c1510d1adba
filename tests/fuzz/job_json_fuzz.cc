// Records of jobs in the index of the archive.
#include <cstddef>
#include <cstdint>

#include "server/archive/job_json.h"
#include "tests/fuzz/input.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto job = archive::JobFromJson({reinterpret_cast<const char*>(data), size});
  if (!job.ok()) return 0;
  const std::string record = archive::JobToJson(*job);
  const auto again = archive::JobFromJson(record);
  fuzz::Require(again.ok(), "a record that was written can be read");
  fuzz::Require(archive::JobToJson(*again) == record, "a job survives being stored");
  return 0;
}
