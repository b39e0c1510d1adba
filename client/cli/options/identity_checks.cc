#include "client/cli/options/identity_checks.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/flags/wrong_usage.h"
#include "kernels/base/status_macros.h"
#include "proto/wire/field_checks.h"
#include "proto/wire/header_numbers.h"
#include "proto/wire/illegal.h"

namespace isocenter::cli {
namespace {

absl::Status AsUsage(const absl::Status& status) {
  return status.ok() ? status : flags::WrongUsage(status.message());
}

absl::Status CheckTexts(const v1::PatientStudy& study, const v1::Equipment& equipment) {
  struct Text {
    const char* flag;
    const std::string& value;
    int longest;
  };
  for (const Text& text : {Text{"--patient-id", study.patient_id(), 64},
                           Text{"--accession", study.accession_number(), 16},
                           Text{"--study-description", study.study_description(), 64},
                           Text{"--manufacturer", equipment.manufacturer(), 64},
                           Text{"--model", equipment.model_name(), 64},
                           Text{"--serial-number", equipment.device_serial_number(), 64},
                           Text{"--institution", equipment.institution_name(), 64},
                           Text{"--department", equipment.institutional_department_name(), 64}}) {
    ISO_RETURN_IF_ERROR(wire::CheckText(text.flag, text.value, text.longest));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckIdentityFlags(const v1::PatientStudy& study,
                                const v1::AcquisitionHeader& system) {
  ISO_RETURN_IF_ERROR(AsUsage(CheckTexts(study, system.equipment())));
  ISO_RETURN_IF_ERROR(AsUsage(wire::CheckPersonName("--patient-name", study.patient_name())));
  ISO_RETURN_IF_ERROR(
      AsUsage(wire::CheckPersonName("--performing-physician", system.performing_physician_name())));
  ISO_RETURN_IF_ERROR(AsUsage(wire::CheckPersonName("--operator", system.operators_name())));
  ISO_RETURN_IF_ERROR(AsUsage(wire::CheckTubeVoltage("--tube-voltage", system.tube_voltage_kv())));
  const std::string& side = system.laterality();
  if (side.empty() || side == "L" || side == "R") return absl::OkStatus();
  return AsUsage(wire::Illegal("--laterality", wire::Shown(side), "L or R"));
}

absl::Status CheckManufacturer(const v1::Equipment& equipment) {
  const bool needs_one =
      !equipment.model_name().empty() || !equipment.device_serial_number().empty();
  if (!needs_one || !equipment.manufacturer().empty()) return absl::OkStatus();
  return flags::WrongUsage(
      "--model and --serial-number are of a manufacturer, which is not said; legal is with "
      "--manufacturer");
}

std::vector<std::string> NamesWithCommas(const v1::AcquisitionHeader& header) {
  struct Name {
    const char* field;
    const std::string& value;
  };
  const v1::PatientStudy& study = header.patient_study();
  std::vector<std::string> sentences;
  for (const Name& name :
       {Name{"patient_study.patient_name", study.patient_name()},
        Name{"patient_study.referring_physician_name", study.referring_physician_name()},
        Name{"performing_physician_name", header.performing_physician_name()},
        Name{"operators_name", header.operators_name()}}) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(name.value, absl::MaxSplits(',', 1));
    if (parts.second.empty() || absl::StrContains(name.value, '^')) continue;
    sentences.push_back(
        absl::StrCat(name.field, " is '", absl::Utf8SafeCHexEscape(name.value),
                     "', which is all family name; did you mean '",
                     absl::Utf8SafeCHexEscape(
                         absl::StrCat(parts.first, "^", absl::StripAsciiWhitespace(parts.second))),
                     "'?"));
  }
  return sentences;
}

}  // namespace isocenter::cli
