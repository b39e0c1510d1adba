#include "client/formats/dicom/xa_writer.h"

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dcostrmb.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmdata/dcuid.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/formats/dicom/dictionary.h"
#include "client/formats/dicom/positioner.h"
#include "client/formats/file.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/units.h"
#include "proto/wire/acquisition.h"

namespace isocenter::formats {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are written as they are");

constexpr uint64_t kLongestElement = 0xFFFFFFFE;  // bytes; 0xFFFFFFFF stands for unknown
constexpr size_t kLongestVector = 65534;          // bytes of a decimal string in explicit VR

/// Collects the first failure of many insertions.
class Inserter {
 public:
  explicit Inserter(DcmItem& item) : item_(item) {}
  void operator()(const DcmTagKey& tag, const std::string& value) {
    Keep(tag, item_.putAndInsertString(tag, value.c_str()));
  }
  void operator()(const DcmTagKey& tag, double value) {
    (*this)(tag, absl::StrFormat("%.8g", value));
  }
  void Unsigned(const DcmTagKey& tag, uint32_t value) {
    Keep(tag, item_.putAndInsertUint16(tag, static_cast<Uint16>(value)));
  }
  absl::Status status() const { return status_; }

 private:
  void Keep(const DcmTagKey& tag, const OFCondition& condition) {
    if (condition.good() || !status_.ok()) return;
    status_ = absl::InternalError(
        absl::StrCat("attribute ", tag.toString().c_str(), ": ", condition.text()));
  }
  DcmItem& item_;
  absl::Status status_;
};

std::string NewUid() {
  char uid[65];
  return dcmGenerateUniqueIdentifier(uid, SITE_INSTANCE_UID_ROOT);
}

/// To a ten-thousandth of a degree.
std::string Degrees(double degrees) {
  return absl::StrFormat("%.8g", std::round(degrees * 1e4) / 1e4 + 0.0);  // not -0
}

void InsertIdentity(const v1::AcquisitionHeader& header, Inserter& put) {
  const v1::PatientStudy& study = header.patient_study();
  const absl::Time now = absl::Now();
  const std::string date = absl::FormatTime("%Y%m%d", now, absl::LocalTimeZone());
  const std::string time = absl::FormatTime("%H%M%S", now, absl::LocalTimeZone());
  const auto or_else = [](const std::string& given, const std::string& otherwise) {
    return given.empty() ? otherwise : given;
  };
  put(DCM_SpecificCharacterSet, "ISO_IR 192");
  put(DCM_SOPClassUID, UID_XRayAngiographicImageStorage);
  put(DCM_SOPInstanceUID, NewUid());
  put(DCM_ImageType, "ORIGINAL\\PRIMARY\\SINGLE PLANE");
  put(DCM_Modality, "XA");
  put(DCM_PatientName, study.patient_name());
  put(DCM_PatientID, study.patient_id());
  put(DCM_PatientBirthDate, study.patient_birth_date());
  put(DCM_PatientSex, study.patient_sex());
  put(DCM_StudyInstanceUID, or_else(study.study_instance_uid(), NewUid()));
  put(DCM_StudyDate, or_else(study.study_date(), date));
  put(DCM_StudyTime, or_else(study.study_time(), time));
  put(DCM_AccessionNumber, study.accession_number());
  put(DCM_StudyID, or_else(study.study_id(), "1"));
  if (!study.study_description().empty()) put(DCM_StudyDescription, study.study_description());
  put(DCM_ReferringPhysicianName, study.referring_physician_name());
  put(DCM_SeriesInstanceUID, NewUid());
  put(DCM_SeriesNumber, "1");
  put(DCM_InstanceNumber, "1");
  put(DCM_ContentDate, date);
  put(DCM_ContentTime, time);
  put(DCM_AcquisitionDate, date);
  put(DCM_AcquisitionTime, time);
  put(DCM_Manufacturer, "Isocenter");
  if (!header.station_name().empty()) put(DCM_StationName, header.station_name().substr(0, 16));
  if (header.body_part_examined().empty()) {
    put(DCM_Laterality, "");
  } else {
    put(DCM_BodyPartExamined, header.body_part_examined());
  }
  put(DCM_PatientPosition, "HFS");
}

void InsertExposure(const v1::AcquisitionHeader& header, Inserter& put) {
  constexpr double kFrameMilliseconds = 33.3;  // when the header states no rate
  const double rate = header.frame_rate_hz();
  put(DCM_KVP, header.tube_voltage_kv() > 0 ? absl::StrCat(header.tube_voltage_kv()) : "");
  put(DCM_RadiationSetting, "GR");
  put(DCM_XRayTubeCurrent, "");
  put(DCM_ExposureTime, "");
  put(DCM_Exposure, "");
  put(DCM_FrameTime, rate > 0 ? 1000 / rate : kFrameMilliseconds);
  put(DCM_NumberOfFrames, absl::StrCat(header.frame_count()));
}

absl::Status InsertGeometry(const v1::DetectorGeometry& detector, const Trajectory& trajectory,
                            Inserter& put) {
  std::vector<double> primary_deg, secondary_deg;
  double to_isocenter = 0, to_detector = 0;
  for (const ProjectionMatrix& matrix : trajectory) {
    ISO_ASSIGN_OR_RETURN(const PositionerAngles angles, AnglesOf(matrix));
    ISO_ASSIGN_OR_RETURN(const Camera camera, Decompose(matrix));
    double degrees = RadiansToDegrees(angles.primary);
    if (!primary_deg.empty()) {  // offsets go on past 180 degrees
      degrees = primary_deg.back() + std::remainder(degrees - primary_deg.back(), 360);
    }
    primary_deg.push_back(degrees);
    secondary_deg.push_back(RadiansToDegrees(angles.secondary));
    to_isocenter += Norm(camera.source) / trajectory.size();
    to_detector += camera.focal_u_px * detector.pitch_u_mm() / trajectory.size();
  }
  // One value, the mean step, where nothing turns.
  const auto offsets = [](const std::vector<double>& degrees) {
    std::vector<std::string> all;
    bool turns = false;
    for (const double d : degrees) {
      all.push_back(Degrees(d - degrees.front()));
      turns |= all.back() != all.front();
    }
    return turns ? absl::StrJoin(all, "\\") : all.front();
  };
  const std::string primary = offsets(primary_deg), secondary = offsets(secondary_deg);
  if (std::max(primary.size(), secondary.size()) > kLongestVector) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the positioner angles of ", trajectory.size(), " frames take ",
        std::max(primary.size(), secondary.size()), " bytes; legal is up to ", kLongestVector));
  }
  put(DCM_PositionerMotion, "DYNAMIC");
  put(DCM_PositionerType, "CARM");
  put(DCM_PositionerPrimaryAngle, Degrees(primary_deg.front()));
  put(DCM_PositionerSecondaryAngle, Degrees(secondary_deg.front()));
  put(DCM_PositionerPrimaryAngleIncrement, primary);
  put(DCM_PositionerSecondaryAngleIncrement, secondary);
  put(DCM_DistanceSourceToPatient, to_isocenter);
  put(DCM_DistanceSourceToDetector, to_detector);
  put(DCM_EstimatedRadiographicMagnificationFactor, to_detector / to_isocenter);
  put(DCM_ImagerPixelSpacing,
      absl::StrFormat("%.8g\\%.8g", detector.pitch_v_mm(), detector.pitch_u_mm()));
  put(DCM_PatientOrientation, "L\\F");
  return absl::OkStatus();
}

void InsertPixels(const v1::DetectorGeometry& detector, DcmItem& data, Inserter& put) {
  data.putAndInsertTagKey(DCM_FrameIncrementPointer, DCM_FrameTime);
  put(DCM_PixelIntensityRelationship, "LIN");
  put.Unsigned(DCM_SamplesPerPixel, 1);
  put(DCM_PhotometricInterpretation, "MONOCHROME2");
  put.Unsigned(DCM_Rows, detector.rows());
  put.Unsigned(DCM_Columns, detector.columns());
  put.Unsigned(DCM_BitsAllocated, 16);
  put.Unsigned(DCM_BitsStored, 16);
  put.Unsigned(DCM_HighBit, 15);
  put.Unsigned(DCM_PixelRepresentation, 0);
}

/// Everything up to the first pixel, with the header of the pixel data element.
absl::StatusOr<std::vector<std::byte>> Encode(DcmFileFormat& file, uint32_t pixel_bytes) {
  std::vector<std::byte> bytes(1 << 20);
  DcmOutputBufferStream stream(bytes.data(), static_cast<offile_off_t>(bytes.size()));
  file.transferInit();
  const OFCondition written =
      file.write(stream, EXS_LittleEndianExplicit, EET_UndefinedLength, nullptr, EGL_recalcGL);
  file.transferEnd();
  if (written.bad()) {
    return absl::InternalError(absl::StrCat("cannot encode the header: ", written.text()));
  }
  void* begin = nullptr;
  offile_off_t length = 0;
  stream.flushBuffer(begin, length);
  bytes.resize(static_cast<size_t>(length));
  std::array<uint8_t, 12> element = {0xe0, 0x7f, 0x10, 0x00, 'O', 'W', 0, 0};
  std::memcpy(&element[8], &pixel_bytes, sizeof pixel_bytes);
  const auto raw = std::as_bytes(std::span(element));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

class XaSink : public FrameSink {
 public:
  XaSink(OutputFile file, int64_t frame_bytes, uint32_t frames)
      : file_(std::move(file)), frame_bytes_(frame_bytes), frames_(frames) {}
  absl::Status Append(std::span<const std::byte> pixels) override {
    if (static_cast<int64_t>(pixels.size()) != frame_bytes_ || written_ == frames_) {
      return absl::InvalidArgumentError(absl::StrCat("frame ", written_, " of ", pixels.size(),
                                                     " bytes does not fit; legal is ", frames_,
                                                     " frames of ", frame_bytes_, " bytes"));
    }
    ++written_;
    return file_.Write(pixels);
  }
  absl::Status Finish() override {
    if (written_ == frames_) return file_.Commit();
    return absl::FailedPreconditionError(
        absl::StrCat(written_, " of ", frames_, " frames were written"));
  }

 private:
  OutputFile file_;
  int64_t frame_bytes_;
  uint32_t frames_;
  uint32_t written_ = 0;
};

}  // namespace

Trajectory SeenFromDetector(const Trajectory& trajectory, int columns) {
  Trajectory mirrored = trajectory;
  for (ProjectionMatrix& p : mirrored) {
    for (int j = 0; j < 4; ++j) p.m[j] = (columns - 1) * p.m[8 + j] - p.m[j];
  }
  return mirrored;
}

absl::StatusOr<std::unique_ptr<FrameSink>> CreateXaRun(const std::filesystem::path& path,
                                                       const v1::AcquisitionHeader& header,
                                                       const Trajectory& trajectory) {
  ISO_RETURN_IF_ERROR(CheckDicomDictionary());
  ISO_ASSIGN_OR_RETURN(const int64_t frame_bytes, wire::CheckedFrameBytes(header));
  if (!header.patient_position().empty() && header.patient_position() != "HFS") {
    return absl::InvalidArgumentError(absl::StrCat(
        "patient_position is '", header.patient_position(), "'; legal for a DICOM XA run is HFS"));
  }
  if (header.pixel_type() != v1::PIXEL_TYPE_UINT16_COUNTS) {
    return absl::InvalidArgumentError("a DICOM XA run holds counts; line integrals are not legal");
  }
  const uint64_t pixel_bytes = uint64_t(frame_bytes) * header.frame_count();
  if (pixel_bytes > kLongestElement) {
    return absl::InvalidArgumentError(absl::StrCat(header.frame_count(), " frames take ",
                                                   pixel_bytes,
                                                   " bytes; legal in one DICOM object "
                                                   "is up to ",
                                                   kLongestElement));
  }
  DcmFileFormat format;
  DcmDataset& data = *format.getDataset();
  Inserter put(data);
  InsertIdentity(header, put);
  InsertExposure(header, put);
  ISO_RETURN_IF_ERROR(InsertGeometry(header.detector(), trajectory, put));
  InsertPixels(header.detector(), data, put);
  ISO_RETURN_IF_ERROR(put.status());
  ISO_ASSIGN_OR_RETURN(const std::vector<std::byte> head,
                       Encode(format, static_cast<uint32_t>(pixel_bytes)));
  ISO_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  ISO_RETURN_IF_ERROR(file.Write(head));
  return std::make_unique<XaSink>(std::move(file), frame_bytes, header.frame_count());
}

}  // namespace isocenter::formats
