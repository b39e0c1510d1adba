// Baselines of isocenter qa: what is read is legal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "client/cli/qa/study_json.h"

using namespace isocenter;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto measures = cli::ParseBaseline({reinterpret_cast<const char*>(data), size}, "FILE");
  if (!measures.ok()) return 0;
  if (!quality::CheckMeasures(*measures).ok()) std::abort();
  for (const quality::Verdict& verdict : quality::Compare(*measures, *measures)) {
    if (!verdict.passed() || verdict.deviation() != 0) std::abort();
  }
  return 0;
}
