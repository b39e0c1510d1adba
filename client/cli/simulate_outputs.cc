#include "client/cli/simulate_outputs.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/truth.h"
#include "client/flags/wrong_usage.h"
#include "client/formats/destination.h"
#include "client/formats/staged_directory.h"
#include "client/formats/volume_writer.h"
#include "kernels/base/bytes_text.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {

std::string FormatOf(const SimulateOptions& options) {
  if (!options.format.empty()) return options.format;
  const std::filesystem::path ending = std::filesystem::path(options.out).extension();
  if (ending == ".rct" || ending == ".rctd") return "rabbitct";
  return ending == ".dcm" ? "dicom-xa" : "bundle";
}

namespace {

/// Of the frames.
uint64_t BytesOf(const SimulateOptions& options, const std::string& format, int64_t frames) {
  const uint64_t pixel_bytes = options.pixel == "counts" && format != "rabbitct" ? 2 : 4;
  return pixel_bytes * options.detector[0] * options.detector[1] * frames;
}

/// Those of --truth.
std::vector<std::filesystem::path> TruthFiles(const SimulateOptions& options) {
  std::vector<std::filesystem::path> files;
  if (options.truth.empty()) return files;
  files.emplace_back(options.truth);
  if (options.truth_materials) {
    for (const auto& file : MaterialTruthFiles(options.truth)) files.push_back(file);
  }
  return files;
}

}  // namespace

absl::Status CheckOutputs(const SimulateOptions& options, const std::string& format,
                          int64_t frames) {
  ISO_RETURN_IF_ERROR(
      options.json.Check({options.volume, options.physics, options.trajectory.kind}));
  if (options.out == "-") {
    return flags::WrongUsage(
        "--out is -; legal is a directory, for a bundle, or the name of a file: scans are not "
        "written to standard output");
  }
  formats::Destination out{.flag = "--out",
                           .path = options.out,
                           .bytes = BytesOf(options, format, frames),
                           .replaces = options.overwrite,
                           .inputs = {options.volume, options.physics}};
  if (format == "bundle") {
    if (options.format.empty() && formats::LooksLikeAFile(options.out)) {
      return flags::WrongUsage(absl::StrCat(
          "--out is ", options.out,
          "; legal is a directory, for a bundle, or a file that ends in .dcm (an XA run), .rct or "
          ".rctd (RabbitCT); a directory of that name: --format bundle"));
    }
    ISO_RETURN_IF_ERROR(formats::CheckDirectoryDestination(out));
    ISO_RETURN_IF_ERROR(formats::CheckUnused("--out", options.out, options.overwrite));
  } else {
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(out));
  }
  if (!options.matrices.empty()) {
    ISO_RETURN_IF_ERROR(
        formats::CheckFileDestination({.flag = "--matrices",
                                       .path = options.matrices,
                                       .endings = {".csv"},
                                       .replaces = options.overwrite,
                                       .inputs = {options.trajectory.kind, options.physics}}));
  }
  if (!options.motion.poses.empty()) {
    ISO_RETURN_IF_ERROR(formats::CheckFileDestination(
        {.flag = "--poses",
         .path = options.motion.poses,
         .endings = {".csv"},
         .replaces = options.overwrite,
         .inputs = {options.trajectory.kind, options.motion.kind, options.physics}}));
  }
  const auto size = static_cast<uint64_t>(options.truth_size);
  const std::vector<std::filesystem::path> files = TruthFiles(options);
  for (const std::filesystem::path& file : files) {
    ISO_RETURN_IF_ERROR(
        formats::CheckFileDestination({.flag = "--truth",
                                       .path = file,
                                       .endings = formats::VolumeEndings(),
                                       .bytes = files.size() * size * size * size * sizeof(float),
                                       .replaces = options.overwrite,
                                       .inputs = {options.volume, options.physics}}));
  }
  return absl::OkStatus();
}

absl::Status ReportOutputs(const SimulateOptions& options, const std::string& format,
                           int64_t frames, double seconds) {
  const uint64_t bytes = BytesOf(options, format, frames);
  std::vector<std::string> others;
  for (const std::filesystem::path& file : TruthFiles(options)) others.push_back(file.string());
  for (const std::string& table : {options.matrices, options.motion.poses}) {
    if (!table.empty()) others.push_back(table);
  }
  std::string text = absl::StrFormat("%s: %s of %d frames of %d x %d pixels (%s), %s, in %.1f s\n",
                                     options.out, format, frames, options.detector[0],
                                     options.detector[1], options.pixel, BytesText(bytes), seconds);
  for (const std::string& file : others) absl::StrAppend(&text, file, "\n");
  return options.json.Report(text, {{"out", options.out},
                                    {"format", format},
                                    {"frames", frames},
                                    {"columns", options.detector[0]},
                                    {"rows", options.detector[1]},
                                    {"pixel", options.pixel},
                                    {"frame_bytes", frames > 0 ? bytes / frames : 0},
                                    {"seconds", seconds},
                                    {"files", others}});
}

}  // namespace isocenter::cli
