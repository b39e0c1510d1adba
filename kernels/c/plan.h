// A plan behind its handle.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "kernels/c/device.h"
#include "kernels/c/isocenter_kernels.h"
#include "kernels/recon/iterative/refinement.h"
#include "kernels/recon/reconstructor.h"

struct isocenter_plan {
  std::shared_ptr<const isocenter::c::OpenDevice> device;
  std::variant<isocenter::recon::ReconstructionPlan, isocenter::recon::RefinementPlan> plan;
  std::string text;

  const isocenter::recon::Acquisition& acquisition() const {
    return std::visit(
        [](const auto& made) -> const auto& { return made.acquisition; }, plan);
  }
  const isocenter::VolumeGrid& grid() const {
    return std::visit(
        [](const auto& made) -> const auto& { return made.grid; }, plan);
  }
};
