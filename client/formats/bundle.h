// Acquisition bundles: our own format for recorded and simulated acquisitions.
// docs/formats/bundle.md.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/formats/frames.h"

namespace isocenter::formats {

inline constexpr int kBundleVersion = 1;

/// What is known of a bundle's origin, for people and for `isocenter compare`: plain key = value
/// pairs, e.g. phantom = "head".
using BundleDescription = std::map<std::string, std::string>;

/// Errors: NOT_FOUND, INVALID_ARGUMENT (version, header; with line and column of a syntax error),
/// DATA_LOSS (frames.raw is not exactly as large as the header says; both sizes are named),
/// INVALID_ARGUMENT (doses.txt, phases.txt or signal.txt, where there is one, has not a legal
/// number for each frame; phases.txt and signal.txt).
absl::StatusOr<std::unique_ptr<FrameSource>> OpenBundle(const std::filesystem::path& directory);
absl::StatusOr<BundleDescription> ReadBundleDescription(const std::filesystem::path& directory);

/// Makes the directory if need be; an older bundle in it is replaced. `doses`: what the frames
/// tell, one for each; empty: nothing; `phases` likewise. Errors: INVALID_ARGUMENT (header, doses,
/// phases), PERMISSION_DENIED.
absl::StatusOr<std::unique_ptr<FrameSink>> CreateBundle(const std::filesystem::path& directory,
                                                        const v1::AcquisitionHeader& header,
                                                        const BundleDescription& description,
                                                        std::vector<float> doses = {},
                                                        std::vector<float> phases = {});

}  // namespace isocenter::formats
