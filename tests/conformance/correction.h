// What the suites of operations that are made for a calibration share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/conformance/conformance.h"

namespace isocenter::conformance {

/// What methods are held against.
inline const Method kReference{.backend = "reference", .name = ""};

template <class Operation>
std::unique_ptr<Operation> Made(
    const ops::MethodTable<ops::Factory<Operation, ops::Calibration>>& table, const Method& method,
    ops::Session& session, const ops::Calibration& calibration) {
  const auto factory = table.Find(method.backend, method.name);
  EXPECT_TRUE(factory.ok()) << factory.status();
  auto operation = (*factory)(session, calibration);
  EXPECT_TRUE(operation.ok()) << operation.status();
  return *std::move(operation);
}

}  // namespace isocenter::conformance
