#include "client/formats/dicom/series_facts.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/formats/dicom/first_ct.h"
#include "client/formats/dicom/xa_attributes.h"
#include "kernels/base/status_macros.h"
#include "kernels/quality/conditions.h"

namespace isocenter::formats {
namespace {

/// What docs/dicom.md says of Image Comments, taken apart: "job ID; .. ; refined from the frames of
/// job ID by ..; filter NAME; calibration NAME, checksum ..".
void TakeUpComments(absl::string_view comments, VolumeFacts& facts) {
  if (!absl::StartsWith(comments, "job ")) return;  // another's
  std::string job;
  bool is_corrected = false;
  for (absl::string_view part : absl::StrSplit(comments, "; ")) {
    if (absl::ConsumePrefix(&part, "job ")) {
      job = std::string(part);
    } else if (absl::ConsumePrefix(&part, "refined from the frames of job ")) {
      job = std::string(part.substr(0, part.find(' ')));
      // Which algorithm stands behind " by "; of two filters it is what matters.
      if (const size_t by = part.find(" by "); by != absl::string_view::npos) {
        facts.filter = std::string(part.substr(by + 4));
      }
    } else if (absl::ConsumePrefix(&part, "filter ")) {
      facts.filter =
          facts.filter.empty() ? std::string(part) : absl::StrCat(facts.filter, "; ", part);
    } else if (absl::ConsumePrefix(&part, "calibration ")) {
      facts.calibration = std::string(part.substr(0, part.find(',')));
      is_corrected = true;
    }
  }
  facts.frames = quality::FramesOfJob(job);
  if (!is_corrected) facts.calibration = quality::kUncorrectedScan;
}

}  // namespace

absl::StatusOr<SeriesFacts> ReadSeriesFacts(const std::filesystem::path& directory) {
  DcmFileFormat format;
  ISO_RETURN_IF_ERROR(LoadFirstCt(directory, format));
  DcmDataset& data = *format.getDataset();
  SeriesFacts facts;
  facts.volume.unit = "HU";
  facts.volume.protocol = DicomText(data, DCM_ProtocolName);
  facts.volume.filter = DicomText(data, DCM_ConvolutionKernel);
  facts.station = DicomText(data, DCM_StationName);
  const double kv = DicomNumber(data, DCM_KVP).value_or(0);
  if (kv > 0) facts.volume.tube_voltage_kv = kv;
  const std::string date = DicomText(data, DCM_AcquisitionDate);
  const std::string time = DicomText(data, DCM_AcquisitionTime);
  if (date.size() == 8 && time.size() >= 6) {
    std::string ignored;
    (void)absl::ParseTime("%Y%m%d%H%M%S", absl::StrCat(date, time.substr(0, 6)),
                          absl::LocalTimeZone(), &facts.acquired, &ignored);
  }
  if (const std::string event = DicomText(data, DCM_IrradiationEventUID); !event.empty()) {
    facts.volume.frames = quality::FramesOf("event", event);
  } else if (!time.empty()) {
    facts.volume.frames = quality::FramesOf(
        "acquisition", absl::StrCat(DicomText(data, DCM_StudyInstanceUID), " ", date, " ", time,
                                    " ", DicomText(data, DCM_AcquisitionNumber)));
  }
  // What our own comments say of filter and frames is more than the attributes do.
  const std::string comments = DicomText(data, DCM_ImageComments);
  if (absl::StartsWith(comments, "job ")) facts.volume.filter.clear();
  TakeUpComments(comments, facts.volume);
  return facts;
}

}  // namespace isocenter::formats
