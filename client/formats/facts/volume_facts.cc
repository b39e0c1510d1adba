#include "client/formats/facts/volume_facts.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "proto/volume/headers.h"

namespace isocenter::formats {
namespace {

constexpr size_t kLongestValue = 256;
constexpr double kMostKv = 1000;
constexpr char kVoltage[] = "IsocenterTubeVoltageKv";

constexpr std::pair<const char*, std::string VolumeFacts::*> kTexts[] = {
    {volume_file::kUnitKey, &VolumeFacts::unit},
    {"IsocenterFrames", &VolumeFacts::frames},
    {volume_file::kProtocolKey, &VolumeFacts::protocol},
    {"IsocenterFilter", &VolumeFacts::filter},
    {volume_file::kCalibrationKey, &VolumeFacts::calibration},
};

/// On one line of a header, and not longer than others read.
std::string OneLine(absl::string_view value) {
  std::string line(value.substr(0, kLongestValue));
  for (char& c : line) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return line;
}

}  // namespace

std::string FactLines(const VolumeFacts& facts) {
  std::string lines;
  for (const auto& [key, member] : kTexts) {
    if (!(facts.*member).empty()) {
      lines += volume_file::FactLine(key, facts.*member);
    }
  }
  if (facts.tube_voltage_kv > 0) {
    absl::StrAppend(&lines, kVoltage, " = ", facts.tube_voltage_kv, "\n");
  }
  return lines;
}

void TakeUpFact(absl::string_view key, absl::string_view value, VolumeFacts& facts) {
  for (const auto& [name, member] : kTexts) {
    if (key == name) facts.*member = OneLine(value);
  }
  double kv = 0;
  if (key == kVoltage && absl::SimpleAtod(value, &kv) && kv > 0 && kv < kMostKv) {
    facts.tube_voltage_kv = kv;
  }
}

}  // namespace isocenter::formats
