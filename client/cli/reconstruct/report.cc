#include "client/cli/reconstruct/report.h"

#include <string>

#include "client/cli/output/job_text.h"
#include "proto/wire/geometry.h"

namespace isocenter::cli {

nlohmann::ordered_json ReportOf(const ReconstructOptions& options, int64_t frames,
                                const VolumeGrid& grid, const std::vector<ops::Device*>& devices,
                                double seconds) {
  return {{"input", options.acquisition.input},
          {"frames", frames},
          {"grid", ToJson(wire::ToProto(grid))},
          {"algorithm", options.algorithm},
          {"backend", std::string(devices[0]->backend())},
          {"device", devices[0]->description()},
          {"device_count", devices.size()},
          {"seconds", seconds}};
}

}  // namespace isocenter::cli
