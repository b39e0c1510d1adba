// Brackets a stage in a device's timeline.
#pragma once

#include "kernels/ops/timeline.h"

namespace isocenter::recon {

/// For as long as it lives.
class StageScope {
 public:
  StageScope(ops::Timeline& timeline, ops::Stage stage) : timeline_(timeline) {
    timeline_.Begin(stage);
  }
  ~StageScope() { timeline_.End(); }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  ops::Timeline& timeline_;
};

}  // namespace isocenter::recon
