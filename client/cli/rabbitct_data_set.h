// A data set for the RabbitCT benchmark from simulated frames.
#pragma once

#include <filesystem>
#include <memory>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"
#include "kernels/recon/plan.h"

namespace isocenter::cli {

struct RabbitCtChoice {
  int version = 1;           // layout of the file: 1 or 2
  int reference_size = 256;  // largest reference volume, voxels per edge: 128, 256, 512 or 1024
};

/// The benchmark times back-projection alone, so its files hold what comes before as done: the sink
/// takes raw frames, and writes them weighted and ramp-filtered such that the plain sum over views
/// of w⁻² · p is the attenuation in 1/mm (FDK with the weights of kernels/recon and the Ram-Lak
/// filter). After them come the volumes that the runner compares with, up to `reference_size`,
/// back-projected in float32 on the CPU. Attenuation becomes the benchmark's unsigned HU by the
/// factors in the file: 1000 · mu / mu_water, air 0 and water 1000.
/// Errors: those of RabbitCtWriter::Create and MakePlan; RESOURCE_EXHAUSTED when memory does not
/// hold the volumes.
absl::StatusOr<std::unique_ptr<formats::FrameSink>> CreateRabbitCtDataSet(
    const std::filesystem::path& path, const recon::Acquisition& acquisition,
    const RabbitCtChoice& choice);

}  // namespace isocenter::cli
