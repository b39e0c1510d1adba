// Early return of errors, for functions that return absl::Status or absl::StatusOr.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define ISO_CONCAT_INNER(a, b) a##b
#define ISO_CONCAT(a, b) ISO_CONCAT_INNER(a, b)

/// Returns from the enclosing function when `expression`, an absl::Status, is an error.
#define ISO_RETURN_IF_ERROR(expression)                             \
  do {                                                              \
    if (absl::Status iso_status = (expression); !iso_status.ok()) { \
      return iso_status;                                            \
    }                                                               \
  } while (false)

/// Evaluates `expression`, an absl::StatusOr<T>; returns its error, or assigns its value to
/// `target`.
#define ISO_ASSIGN_OR_RETURN(target, expression) \
  ISO_ASSIGN_OR_RETURN_IMPL(ISO_CONCAT(iso_status_or_, __LINE__), target, expression)
#define ISO_ASSIGN_OR_RETURN_IMPL(name, target, expression) \
  auto name = (expression);                                 \
  if (!name.ok()) return std::move(name).status();          \
  target = *std::move(name)
