#include "tests/bench/fanbeam/bench.h"

#include <cstdio>

#include "kernels/base/status_macros.h"
#include "tests/bench/fanbeam/figures.h"
#include "tests/bench/fanbeam/scan.h"
#include "tests/bench/machine.h"

namespace isocenter::bench {

absl::Status RunFanBeam(const FanBeamOptions& options) {
  ISO_RETURN_IF_ERROR(MakeFigureDirectory(options.out));
  ISO_ASSIGN_OR_RETURN(const std::vector<FanBeamMethods> methods,
                       FanBeamMethodsOf(options.backends, options.methods));
  std::printf("%s, commit %s\n", Processor().c_str(), Commit().c_str());
  std::printf("%d views of %d channels, %d x %d pixels: %.4g updates; medians of %d runs\n",
              options.views, PaperGeometry(options.views, 1).channels, options.size, options.size,
              double(options.size) * options.size * options.views, options.repeats);
  if (options.devices > 1) return RunFanBeamDevices(options, methods);
  ISO_RETURN_IF_ERROR(RunFanBeamTimes(options, methods));
  ISO_RETURN_IF_ERROR(RunFanBeamErrors(options, methods));
  ISO_RETURN_IF_ERROR(RunFanBeamDecrease(options));
  return options.realizations == 0 ? absl::OkStatus() : RunFanBeamNoise(options, methods);
}

}  // namespace isocenter::bench
