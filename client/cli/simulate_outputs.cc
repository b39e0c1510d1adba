#include "client/cli/simulate_outputs.h"

#include <filesystem>

#include "client/cli/truth.h"
#include "client/formats/destination.h"
#include "client/formats/volume_writer.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {

std::string FormatOf(const SimulateOptions& options) {
  if (!options.format.empty()) return options.format;
  const std::filesystem::path ending = std::filesystem::path(options.out).extension();
  if (ending == ".rct" || ending == ".rctd") return "rabbitct";
  return ending == ".dcm" ? "dicom-xa" : "bundle";
}

absl::Status CheckOutputs(const SimulateOptions& options, const std::string& format,
                          int64_t frames) {
  const uint64_t pixel_bytes = options.pixel == "counts" && format != "rabbitct" ? 2 : 4;
  formats::Destination out{
      .flag = "--out", .path = options.out, .inputs = {options.volume, options.physics}};
  out.bytes = pixel_bytes * options.detector[0] * options.detector[1] * frames;
  if (format == "bundle") {
    ISO_RETURN_IF_ERROR(formats::CheckDirectoryDestination(out));
  } else {
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(out));
  }
  if (!options.matrices.empty()) {
    ISO_RETURN_IF_ERROR(
        formats::CheckFileDestination({.flag = "--matrices",
                                       .path = options.matrices,
                                       .endings = {".csv"},
                                       .inputs = {options.trajectory.kind, options.physics}}));
  }
  if (!options.motion.poses.empty()) {
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(
        {.flag = "--poses",
         .path = options.motion.poses,
         .endings = {".csv"},
         .inputs = {options.trajectory.kind, options.motion.kind, options.physics}}));
  }
  if (options.truth.empty()) return absl::OkStatus();
  const auto size = static_cast<uint64_t>(options.truth_size);
  std::vector<std::filesystem::path> files{options.truth};
  if (options.truth_materials) {
    for (const auto& file : MaterialTruthFiles(options.truth)) files.push_back(file);
  }
  for (const std::filesystem::path& file : files) {
    ISO_RETURN_IF_ERROR(
        formats::CheckFileDestination({.flag = "--truth",
                                       .path = file,
                                       .endings = formats::VolumeEndings(),
                                       .bytes = files.size() * size * size * size * sizeof(float),
                                       .inputs = {options.volume, options.physics}}));
  }
  return absl::OkStatus();
}

}  // namespace isocenter::cli
