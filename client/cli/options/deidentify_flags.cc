#include "client/cli/options/deidentify_flags.h"

#include <algorithm>
#include <cstdio>

#include "client/flags/wrong_usage.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::cli {
namespace {

constexpr uint64_t kLargestKeyFile = 1 << 20;

}  // namespace

void AddDeidentifyFlags(flags::Command command, DeidentifyFlags& flags) {
  command
      .AddSwitch("--deidentify", flags.deidentify,
                 "remove who, where and when: DICOM's Basic Application Confidentiality Profile")
      .Group("De-identification");
  command
      .Add("--keep", flags.keep,
           "what to retain: dates (all of a patient shifted alike), patient (sex, age, size, "
           "weight), device, institution")
      .Type("LIST")
      .Separator(',')
      .OneOf({"dates", "patient", "device", "institution"})
      .Group("De-identification");
  command
      .Add("--deidentify-key", flags.key_file,
           "secret of at least 16 bytes; exports with the same one stay linked (default: a "
           "random one that is forgotten)")
      .Type("FILE")
      .Group("De-identification");
}

absl::StatusOr<std::optional<formats::Deidentifier>> MakeDeidentifier(
    const DeidentifyFlags& flags) {
  if (!flags.deidentify) {
    if (flags.keep.empty() && flags.key_file.empty()) return std::nullopt;
    return flags::WrongUsage("--keep and --deidentify-key need --deidentify");
  }
  const auto keep = [&](const char* what) {
    return std::find(flags.keep.begin(), flags.keep.end(), what) != flags.keep.end();
  };
  const formats::DeidentifyOptions options{.shifted_dates = keep("dates"),
                                           .patient_characteristics = keep("patient"),
                                           .device_identity = keep("device"),
                                           .institution_identity = keep("institution")};
  ISO_ASSIGN_OR_RETURN(std::string key, flags.key_file.empty()
                                            ? formats::RandomKey()
                                            : formats::ReadText(flags.key_file, kLargestKeyFile));
  ISO_ASSIGN_OR_RETURN(formats::Deidentifier deidentifier,
                       formats::Deidentifier::Create(std::move(key), options));
  std::fprintf(stderr,
               "note: the voxels are unchanged; a face can be seen in the surface of a head\n");
  return deidentifier;
}

}  // namespace isocenter::cli
