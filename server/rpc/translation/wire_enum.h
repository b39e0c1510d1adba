// Enumerations of jobs and of the wire, which have the same names: jobs::JobState::kFailed,
// "failed", is JOB_STATE_FAILED.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/generated_enum_reflection.h"
#include "server/jobs/names.h"

namespace isocenter::rpc {

/// The number on the wire of each value; 0, which is ..._UNSPECIFIED, of one that the wire has not.
template <class Wire, jobs::Named Enum>
const auto& WireNumbers() {
  static const auto numbers = [] {
    const google::protobuf::EnumDescriptor& wire = *google::protobuf::GetEnumDescriptor<Wire>();
    const std::string prefix(absl::StripSuffix(wire.value(0)->name(), "UNSPECIFIED"));
    std::array<int, jobs::AllOf<Enum>().size()> found{};
    for (const Enum value : jobs::AllOf<Enum>()) {
      const auto* same =
          wire.FindValueByName(absl::StrCat(prefix, absl::AsciiStrToUpper(jobs::Name(value))));
      if (same != nullptr) found[static_cast<size_t>(value)] = same->number();
    }
    return found;
  }();
  return numbers;
}

template <class Wire, jobs::Named Enum>
Wire ToWire(Enum value) {
  return static_cast<Wire>(WireNumbers<Wire, Enum>()[static_cast<size_t>(value)]);
}

/// Empty: no value has that number.
template <class Wire, jobs::Named Enum>
std::optional<Enum> FromWire(int number) {
  for (const Enum value : jobs::AllOf<Enum>()) {
    if (WireNumbers<Wire, Enum>()[static_cast<size_t>(value)] == number) return value;
  }
  return std::nullopt;
}

}  // namespace isocenter::rpc
