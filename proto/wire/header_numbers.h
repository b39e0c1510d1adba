// The single numbers of an acquisition header: a service refuses them, and whoever writes a header
// for one can tell before.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "isocenter/v1/acquisition.pb.h"

namespace isocenter::wire {

/// 0 (unknown) or 10 to 300 kV: below the lowest of any tube are megavolts, and kilovolts that were
/// divided once too often; above the highest, volts. Errors: INVALID_ARGUMENT naming field, value,
/// what is legal and the unit that was meant where another one makes it legal. `field`:
/// "tube_voltage_kv", or what people typed it as.
absl::Status CheckTubeVoltage(absl::string_view field, double kilovolts);

/// That an arc of several frames is more than a turn has radians: less is no scan, and whoever
/// gives the angle in radians gives no more. Errors: INVALID_ARGUMENT naming field, value and the
/// degrees that may be meant.
absl::Status CheckArcUnit(const v1::AcquisitionHeader& header);

/// What the exposure came to. Errors: INVALID_ARGUMENT, naming the field below `field`, its value
/// and what is legal.
absl::Status CheckExposure(absl::string_view field, const v1::Exposure& exposure);

/// deadline_seconds, frame_rate_hz and exposure. Errors: INVALID_ARGUMENT as above, all at once.
absl::Status CheckHeaderNumbers(const v1::AcquisitionHeader& header);

/// 0 to `most`. Errors: INVALID_ARGUMENT.
absl::Status CheckUpTo(absl::string_view field, double value, double most);

inline constexpr double kLeastTubeVoltage = 10, kMostTubeVoltage = 300;  // kV

}  // namespace isocenter::wire
