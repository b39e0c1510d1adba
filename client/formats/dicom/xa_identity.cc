#include "client/formats/dicom/xa_identity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/utf8.h"

namespace isocenter::formats {
namespace {

/// Seconds since midnight of YYYYMMDDHHMMSS.FFFFFF.
std::optional<double> SecondOfDay(const std::string& date_time) {
  int hours, minutes;
  double seconds;
  if (date_time.size() < 14) return std::nullopt;
  std::string rest = date_time.substr(12);
  rest = rest.substr(0, rest.find_first_of("+-"));  // the offset from UTC
  if (!absl::SimpleAtoi(date_time.substr(8, 2), &hours) ||
      !absl::SimpleAtoi(date_time.substr(10, 2), &minutes) || !absl::SimpleAtod(rest, &seconds)) {
    return std::nullopt;
  }
  return hours * 3600 + minutes * 60 + seconds;
}

std::optional<double> RateOfFrameTimes(const XaAttributes& run) {
  const auto at = [&](int frame) {
    return SecondOfDay(run.Text(frame, DCM_FrameContentSequence, DCM_FrameAcquisitionDateTime));
  };
  const auto first = at(0), last = at(run.frames() - 1);
  if (!first || !last) return std::nullopt;
  double seconds = *last - *first;
  if (seconds < 0) seconds += 86400;  // over midnight
  if (!(seconds > 0)) return std::nullopt;
  return (run.frames() - 1) / seconds;
}

std::string StationName(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.') c = '-';
  }
  return name.substr(0, 64);
}

/// Fractions of a second and colons, which old objects have, go.
std::string TimeOfDay(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c == '.') break;
    if (absl::ascii_isdigit(c)) digits += c;
  }
  return digits.size() >= 6 ? digits.substr(0, 6) : "";
}

const DcmTagKey kTexts[] = {DCM_PatientName,     DCM_PatientID,        DCM_StudyID,
                            DCM_AccessionNumber, DCM_StudyDescription, DCM_ReferringPhysicianName};

/// Text with bytes beyond ASCII; `utf8`: all of it is UTF-8.
bool IsExtended(DcmDataset& text, bool& utf8) {
  bool extended = false;
  utf8 = true;
  for (const DcmTagKey& tag : kTexts) {
    const std::string value = DicomText(text, tag);
    extended |= !std::ranges::all_of(value, absl::ascii_isascii);
    utf8 &= NotUtf8(value).empty();
  }
  return extended;
}

void ToUtf8(DcmDataset& text, std::vector<std::string>& notes) {
  bool utf8 = false;
  if (!IsExtended(text, utf8)) return;
  const std::string declared = DicomText(text, DCM_SpecificCharacterSet);
  if (declared.empty()) {
    text.putAndInsertString(DCM_SpecificCharacterSet, utf8 ? "ISO_IR 192" : "ISO_IR 100");
    notes.push_back(absl::StrCat("the run names no character set for its text, which is read as ",
                                 utf8 ? "UTF-8 (ISO_IR 192)" : "Latin-1 (ISO_IR 100)",
                                 ": check the patient's name"));
  }
  if (text.convertToUTF8().good() && IsExtended(text, utf8) && utf8) return;
  notes.push_back(absl::StrCat("text of the run is not in the character set that it names, '",
                               declared, "': names with other than ASCII are left empty"));
  for (const DcmTagKey& tag : kTexts) {
    const std::string value = DicomText(text, tag);
    if (!std::ranges::all_of(value, absl::ascii_isascii)) text.putAndInsertString(tag, "");
  }
}

}  // namespace

void CopyXaIdentity(const XaAttributes& run, v1::AcquisitionHeader& header,
                    std::vector<std::string>& notes) {
  // A copy of what is needed, as converting the data set would touch every functional group.
  DcmDataset text;
  run.data().findAndInsertCopyOfElement(DCM_SpecificCharacterSet, &text);
  for (const DcmTagKey& tag : kTexts) run.data().findAndInsertCopyOfElement(tag, &text);
  ToUtf8(text, notes);
  v1::PatientStudy& study = *header.mutable_patient_study();
  study.set_patient_name(DicomText(text, DCM_PatientName));
  study.set_patient_id(DicomText(text, DCM_PatientID));
  study.set_accession_number(DicomText(text, DCM_AccessionNumber));
  study.set_study_id(DicomText(text, DCM_StudyID));
  study.set_study_description(DicomText(text, DCM_StudyDescription));
  study.set_referring_physician_name(DicomText(text, DCM_ReferringPhysicianName));
  DcmDataset& data = run.data();
  study.set_patient_birth_date(DicomText(data, DCM_PatientBirthDate));
  study.set_patient_sex(DicomText(data, DCM_PatientSex));
  study.set_study_instance_uid(DicomText(data, DCM_StudyInstanceUID));
  study.set_study_date(DicomText(data, DCM_StudyDate));
  study.set_study_time(TimeOfDay(DicomText(data, DCM_StudyTime)));
  const double kilovolts = DicomNumber(data, DCM_KVP).value_or(0);
  if (kilovolts > 0 && kilovolts <= 300) header.set_tube_voltage_kv(kilovolts);
  header.set_body_part_examined(DicomText(data, DCM_BodyPartExamined));
  header.set_station_name(StationName(DicomText(data, DCM_StationName)));
}

std::optional<double> XaFrameRate(const XaAttributes& run) {
  constexpr double kMillisecondsPerSecond = 1000;
  if (const auto time = DicomNumber(run.data(), DCM_FrameTime); time && *time > 0) {
    return kMillisecondsPerSecond / *time;
  }
  // The first value is the time before the first frame: 0.
  const auto times = DicomNumbers(run.data(), DCM_FrameTimeVector);
  if (times.size() > 1) {
    const double sum = std::accumulate(times.begin() + 1, times.end(), 0.0);
    if (sum > 0) return kMillisecondsPerSecond * (times.size() - 1) / sum;
  }
  return run.enhanced() ? RateOfFrameTimes(run) : std::nullopt;
}

}  // namespace isocenter::formats
