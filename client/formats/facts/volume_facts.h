// What a volume's file tells of where its numbers come from. docs/formats/metaimage.md.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace isocenter::formats {

/// Empty or 0: not known. Without names of patients, rooms and jobs, or dates: such files carry no
/// identity.
struct VolumeFacts {
  std::string unit;  // "HU", or what else 1 is
  /// What tells frames from others: a scheme, a space and a checksum. See quality::FramesOf.
  std::string frames;
  std::string protocol;
  std::string filter;       // "hann 0.70", or the algorithm that iterated
  std::string calibration;  // name of the set; quality::kUncorrectedScan: nothing corrected
  double tube_voltage_kv = 0;

  bool operator==(const VolumeFacts&) const = default;
};

/// Lines of a MetaImage's header, of what is known; values without line ends.
std::string FactLines(const VolumeFacts& facts);
/// Takes up what a line of such a header says; other keys are ignored.
void TakeUpFact(absl::string_view key, absl::string_view value, VolumeFacts& facts);

}  // namespace isocenter::formats
