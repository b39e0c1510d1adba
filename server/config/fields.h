// What every part of the configuration does with a field: its range, its default.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/wire/illegal.h"

namespace isocenter::config {

using wire::Illegal;

/// INVALID_ARGUMENT unless low <= value <= high.
absl::Status CheckRange(absl::string_view field, double value, double low, double high);

/// Sets a field that has the value of an unset one.
template <class Message, class Value>
void Default(Message& message, Value (Message::*get)() const, void (Message::*set)(Value),
             Value value) {
  if ((message.*get)() == Value{}) (message.*set)(value);
}

inline void DefaultString(std::string* value, const char* when_empty) {
  if (value->empty()) *value = when_empty;
}

}  // namespace isocenter::config
