// The names of enumerations. Beside each enumeration stands one table, NamesOf(Enum): the names of
// its values in their order, lower case with underscores. Logs, metrics, records, the page and the
// wire have them from there.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"

namespace isocenter::jobs {

template <class Enum>
concept Named = requires {
  NamesOf(Enum{});
};

/// "unknown" for what is no value.
template <Named Enum>
absl::string_view Name(Enum value) {
  static constexpr auto kNames = NamesOf(Enum{});
  const auto index = static_cast<size_t>(value);
  return index < kNames.size() ? kNames[index] : "unknown";
}

/// Every value, in order.
template <Named Enum>
constexpr auto AllOf() {
  std::array<Enum, NamesOf(Enum{}).size()> values{};
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Enum>(i);
  return values;
}

/// Empty: no value has that name.
template <Named Enum>
std::optional<Enum> FromName(absl::string_view name) {
  for (const Enum value : AllOf<Enum>()) {
    if (Name(value) == name) return value;
  }
  return std::nullopt;
}

}  // namespace isocenter::jobs
