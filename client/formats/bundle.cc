#include "client/formats/bundle.h"

#include <google/protobuf/text_format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "client/formats/file.h"
#include "client/formats/json_file.h"
#include "kernels/base/status_macros.h"
#include "kernels/geometry/phases/phase_signal.h"
#include "kernels/geometry/phases/phase_window.h"
#include "kernels/ops/corrections.h"
#include "proto/text/message_text.h"
#include "proto/wire/acquisition.h"

namespace isocenter::formats {
namespace {

constexpr char kHeaderFile[] = "acquisition.textproto";
constexpr char kFramesFile[] = "frames.raw";
constexpr char kDescriptionFile[] = "bundle.json";
constexpr char kDosesFile[] = "doses.txt";
constexpr char kPhasesFile[] = "phases.txt";
constexpr char kSignalFile[] = "signal.txt";
constexpr char kFormatName[] = "isocenter-bundle";
constexpr uint64_t kNumbersLimit = 1 << 20;  // 10000 numbers
constexpr uint64_t kTextLimit = 64 << 20;    // 10000 matrices in text are about 3 MB

absl::StatusOr<v1::AcquisitionHeader> ReadHeader(const std::filesystem::path& path) {
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadText(path, kTextLimit));
  v1::AcquisitionHeader header;
  ISO_RETURN_IF_ERROR(text::ParseMessage(text, path.string(), "docs/formats/bundle.md", header));
  return header;
}

/// What frames tell beside their pixels, a number each.
struct Told {
  const char* file;
  const char* name;  // of many
  absl::Status (*check)(int64_t frame, double number);
};
constexpr Told kDoses{kDosesFile, "doses", ops::CheckGivenDose};
constexpr Told kPhases{kPhasesFile, "phases", [](int64_t frame, double phase) {
                         return CheckPhase(absl::StrCat("the phase of frame ", frame), phase);
                       }};
constexpr Told kSignal{kSignalFile, "numbers",  // PhasesOfSignal checks them
                       [](int64_t, double) { return absl::OkStatus(); }};
/// Cycles whose lengths differ by more are not one organ's, or a peak was not found.
constexpr double kMostUneven = 1.8;

absl::Status CheckNumbers(absl::string_view name, const Told& told, std::span<const float> numbers,
                          uint32_t frames) {
  if (numbers.size() != frames) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has ", numbers.size(), " ", told.name,
                                                   "; legal is one for each of ", frames,
                                                   " frames"));
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    const absl::Status status = told.check(static_cast<int64_t>(i), numbers[i]);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
    }
  }
  return absl::OkStatus();
}

/// A number on each line; none where there is no such file.
absl::StatusOr<std::vector<float>> ReadNumbers(const std::filesystem::path& directory,
                                               const Told& told, uint32_t frames) {
  const std::filesystem::path path = directory / told.file;
  std::vector<float> numbers;
  std::error_code unreadable;  // is said when it is opened
  if (!std::filesystem::exists(path, unreadable) && !unreadable) return numbers;
  ISO_ASSIGN_OR_RETURN(const std::string text, ReadText(path, kNumbersLimit));
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    float number = 0;
    if (!absl::SimpleAtof(line, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path.string(), ": line ", numbers.size() + 1, " is not a number"));
    }
    numbers.push_back(number);
  }
  ISO_RETURN_IF_ERROR(CheckNumbers(path.string(), told, numbers, frames));
  return numbers;
}

struct ToldPhases {
  std::vector<float> phases;  // one for each frame, or none
  std::vector<std::string> notes;
};

/// As phases.txt says them, or as the peaks of signal.txt do.
absl::StatusOr<ToldPhases> ReadPhases(const std::filesystem::path& directory, uint32_t frames) {
  ToldPhases told;
  ISO_ASSIGN_OR_RETURN(told.phases, ReadNumbers(directory, kPhases, frames));
  ISO_ASSIGN_OR_RETURN(const std::vector<float> signal, ReadNumbers(directory, kSignal, frames));
  if (signal.empty()) return told;
  if (!told.phases.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(directory.string(), " has ", kPhasesFile,
                                                   " and ", kSignalFile, "; legal is one of them"));
  }
  absl::StatusOr<SignalPhases> found = PhasesOfSignal(signal);
  if (!found.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat((directory / kSignalFile).string(), ": ", found.status().message()));
  }
  told.phases = std::move(found->phases);
  const std::string cycles =
      absl::StrFormat("%s has %d peaks, %.1f to %.1f frames apart", kSignalFile,
                      found->peaks.size(), found->shortest_cycle, found->longest_cycle);
  told.notes.push_back(found->longest_cycle > kMostUneven * found->shortest_cycle
                           ? absl::StrCat(cycles,
                                          ": a peak may be missing, or be none, and phases ",
                                          "beside it are then wrong")
                           : absl::StrCat(cycles, ", and phases are counted from them"));
  return told;
}

/// As an error shows it. Printing what is nested deeply would take as deep a stack.
std::string Shown(const nlohmann::json& value) {
  constexpr size_t kMostShown = 60;
  if (value.is_number()) return value.dump();
  if (!value.is_string()) return absl::StrCat("no number or text, but ", value.type_name());
  return absl::StrCat("\"", absl::CHexEscape(value.get<std::string>().substr(0, kMostShown)), "\"");
}

class BundleSource : public FrameSource {
 public:
  BundleSource(v1::AcquisitionHeader header, InputFile frames, int64_t frame_bytes,
               std::vector<float> doses, ToldPhases phases)
      : header_(std::move(header)),
        frames_(std::move(frames)),
        frame_bytes_(frame_bytes),
        doses_(std::move(doses)),
        told_(std::move(phases)) {}
  const v1::AcquisitionHeader& header() const override { return header_; }
  int64_t frame_bytes() const override { return frame_bytes_; }
  float dose(int64_t index) const override { return doses_.empty() ? 0 : doses_[index]; }
  std::optional<float> phase(int64_t index) const override {
    if (told_.phases.empty()) return std::nullopt;
    return told_.phases[index];
  }
  std::vector<std::string> notes() const override { return told_.notes; }
  absl::Status Read(int64_t index, std::span<std::byte> pixels) override {
    return frames_.ReadAt(index * frame_bytes_, pixels);
  }

 private:
  v1::AcquisitionHeader header_;
  InputFile frames_;
  int64_t frame_bytes_;
  std::vector<float> doses_;  // of the frames; or none
  ToldPhases told_;
};

/// A directory that was made for files; goes with the last of them, or if none came.
class MadeDirectory {
 public:
  explicit MadeDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  MadeDirectory(MadeDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MadeDirectory& operator=(MadeDirectory&&) = delete;
  ~MadeDirectory() {
    std::error_code not_empty;
    if (!path_.empty()) std::filesystem::remove(path_, not_empty);
  }

 private:
  std::filesystem::path path_;
};

/// Which file a path leads to, for telling whether it was replaced; nothing: to none.
std::optional<std::pair<ino_t, int64_t>> IdentityOf(const std::filesystem::path& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) return std::nullopt;
  return std::pair(file.st_ino, absl::ToUnixNanos(absl::TimeFromTimespec(file.st_mtim)));
}

class BundleSink : public FrameSink {
 public:
  BundleSink(std::filesystem::path directory, MadeDirectory made, v1::AcquisitionHeader header,
             BundleDescription description, OutputFile frames, int64_t frame_bytes,
             std::vector<float> doses, std::vector<float> phases)
      : directory_(std::move(directory)),
        description_before_(IdentityOf(directory_ / kDescriptionFile)),
        made_(std::move(made)),
        header_(std::move(header)),
        description_(std::move(description)),
        frames_(std::move(frames)),
        frame_bytes_(frame_bytes),
        doses_(std::move(doses)),
        phases_(std::move(phases)) {}

  absl::Status Append(std::span<const std::byte> pixels) override {
    if (static_cast<int64_t>(pixels.size()) != frame_bytes_ || written_ == header_.frame_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("frame ", written_, " of ", pixels.size(), " bytes does not fit; legal is ",
                       header_.frame_count(), " frames of ", frame_bytes_, " bytes"));
    }
    ++written_;
    return frames_.Write(pixels);
  }

  absl::Status Finish() override {
    if (written_ != header_.frame_count()) {
      return absl::FailedPreconditionError(
          absl::StrCat(written_, " of ", header_.frame_count(), " frames were written"));
    }
    if (IdentityOf(directory_ / kDescriptionFile) != description_before_) {
      return absl::AlreadyExistsError(
          absl::StrCat("the bundle in ", directory_.string(),
                       " was made by another program meanwhile, and is left as it is"));
    }
    // Until here a bundle that was there before is whole; from here on there is none.
    std::error_code none;
    std::filesystem::remove(directory_ / kDescriptionFile, none);
    std::filesystem::remove(directory_ / kSignalFile, none);
    for (const auto& [file, numbers] : {std::pair(kDosesFile, &doses_), {kPhasesFile, &phases_}}) {
      std::filesystem::remove(directory_ / file, none);
      if (numbers->empty()) continue;
      ISO_RETURN_IF_ERROR(WriteText(directory_ / file, absl::StrJoin(*numbers, "\n") + "\n"));
    }
    ISO_RETURN_IF_ERROR(frames_.Commit());
    std::string text;
    google::protobuf::TextFormat::Printer printer;
    printer.SetUseShortRepeatedPrimitives(true);  // one line per matrix
    printer.PrintToString(header_, &text);
    ISO_RETURN_IF_ERROR(WriteText(directory_ / kHeaderFile, text));
    nlohmann::ordered_json json;
    json["format"] = kFormatName;
    json["version"] = kBundleVersion;
    json["description"] = description_;
    // Last: a directory is a bundle only when this file is there.
    return WriteText(directory_ / kDescriptionFile, json.dump(2) + "\n");
  }

 private:
  std::filesystem::path directory_;
  std::optional<std::pair<ino_t, int64_t>> description_before_;
  MadeDirectory made_;  // before frames_, whose unfinished file goes first
  v1::AcquisitionHeader header_;
  BundleDescription description_;
  OutputFile frames_;
  int64_t frame_bytes_;
  std::vector<float> doses_, phases_;
  uint32_t written_ = 0;
};

}  // namespace

absl::StatusOr<BundleDescription> ReadBundleDescription(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kDescriptionFile;
  ISO_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonObject(path, kTextLimit));
  const auto format = json.find("format");
  if (format == json.end() || *format != kFormatName) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": \"format\" is ", format == json.end() ? "missing" : Shown(*format),
        "; legal is \"", kFormatName, "\""));
  }
  const auto version = json.find("version");
  if (version == json.end() || *version != kBundleVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": \"version\" is ", version == json.end() ? "missing" : Shown(*version),
        "; legal is ", kBundleVersion));
  }
  BundleDescription description;
  if (json.contains("description") && json["description"].is_object()) {
    for (const auto& [key, value] : json["description"].items()) {
      if (value.is_string()) description[key] = value.get<std::string>();
    }
  }
  return description;
}

absl::StatusOr<std::unique_ptr<FrameSource>> OpenBundle(const std::filesystem::path& directory) {
  ISO_RETURN_IF_ERROR(ReadBundleDescription(directory).status());
  ISO_ASSIGN_OR_RETURN(v1::AcquisitionHeader header, ReadHeader(directory / kHeaderFile));
  const absl::StatusOr<int64_t> frame_bytes = wire::CheckedFrameBytes(header);
  if (!frame_bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat((directory / kHeaderFile).string(), ": ", frame_bytes.status().message()));
  }
  ISO_ASSIGN_OR_RETURN(InputFile frames, InputFile::Open(directory / kFramesFile));
  const uint64_t expected = uint64_t(*frame_bytes) * header.frame_count();
  if (frames.size() != expected) {
    return absl::DataLossError(absl::StrCat(frames.name(), " has ", frames.size(), " bytes, but ",
                                            kHeaderFile, " states ", header.frame_count(),
                                            " frames of ", *frame_bytes, " bytes = ", expected));
  }
  ISO_ASSIGN_OR_RETURN(std::vector<float> doses,
                       ReadNumbers(directory, kDoses, header.frame_count()));
  ISO_ASSIGN_OR_RETURN(ToldPhases phases, ReadPhases(directory, header.frame_count()));
  return std::make_unique<BundleSource>(std::move(header), std::move(frames), *frame_bytes,
                                        std::move(doses), std::move(phases));
}

absl::StatusOr<std::unique_ptr<FrameSink>> CreateBundle(const std::filesystem::path& directory,
                                                        const v1::AcquisitionHeader& header,
                                                        const BundleDescription& description,
                                                        std::vector<float> doses,
                                                        std::vector<float> phases) {
  ISO_ASSIGN_OR_RETURN(const int64_t frame_bytes, wire::CheckedFrameBytes(header));
  for (const auto& [told, numbers] : {std::pair(&kDoses, &doses), {&kPhases, &phases}}) {
    if (numbers->empty()) continue;
    ISO_RETURN_IF_ERROR(CheckNumbers("the bundle", *told, *numbers, header.frame_count()));
  }
  std::error_code error;
  MadeDirectory made(std::filesystem::exists(directory, error) ? "" : directory);
  std::filesystem::create_directories(directory, error);
  if (error) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the directory ", directory.string(), ": ", error.message()));
  }
  ISO_ASSIGN_OR_RETURN(OutputFile frames, OutputFile::Create(directory / kFramesFile));
  return std::make_unique<BundleSink>(directory, std::move(made), header, description,
                                      std::move(frames), frame_bytes, std::move(doses),
                                      std::move(phases));
}

}  // namespace isocenter::formats
