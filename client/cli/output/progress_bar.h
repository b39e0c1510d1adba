// Progress of long work, on stderr.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace isocenter::cli {

/// A bar that is redrawn in place on a terminal; elsewhere a line every ten seconds. Not
/// thread-safe.
class ProgressBar {
 public:
  /// `unit` is a plural, e.g. "frames".
  ProgressBar(std::string label, std::string unit, int64_t total);
  /// Removes the bar.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(int64_t done);

 private:
  std::string label_, unit_;
  int64_t total_;
  bool terminal_;
  bool drawn_ = false;
  absl::Time start_, last_;
};

}  // namespace isocenter::cli
