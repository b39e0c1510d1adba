// DICOM XA objects for tests: spheres seen by a C-arm that is described in words, not in the
// formulas of the code under test.
#pragma once

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dcrleerg.h>
#include <dcmtk/dcmdata/dcrlerp.h>
#include <dcmtk/dcmdata/dctk.h>
#include <dcmtk/dcmjpeg/djencode.h>
#include <dcmtk/dcmjpeg/djrplol.h>
#include <dcmtk/dcmjpls/djencode.h>
#include <dcmtk/dcmjpls/djrparam.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/units.h"
#include "kernels/geometry/vec3.h"

namespace isocenter::client_test {

struct Sphere {
  Vec3 center;  // LPS, mm
  double radius = 0;
  double mu = 0;  // 1/mm
};

/// A run and how its object is to be written.
struct XaFile {
  int frames = 60, columns = 64, rows = 48;
  double spacing_columns = 4, spacing_rows = 4.5;  // Imager Pixel Spacing is rows\columns
  double source_to_isocenter = 700, source_to_detector = 1100;
  double first_deg = -100, step_deg = 200.0 / 59, secondary_deg = 0;
  std::vector<Sphere> spheres;
  bool enhanced = false;
  bool vector_of_offsets = false;
  bool turned_images = false;  // rotated by 180 degrees, as a console may store them
  std::string patient_position = "HFS", patient_orientation;
  std::string relationship = "LIN";
  bool log_table = false;
  double sign = 1;
  int bits_stored = 16;
  E_TransferSyntax syntax = EXS_LittleEndianExplicit;
  std::function<void(DcmDataset&)> change = [](DcmDataset&) {};

  double full() const { return std::exp2(bits_stored) - 1; }
};

/// Intensity, 0..1, at a pixel: the spheres in the way of the ray. The observer stands behind the
/// detector and looks towards the source with the patient's head up; columns count to the
/// observer's right, rows down.
inline double Intensity(const XaFile& run, double primary_deg, double column, double row) {
  const double p = DegreesToRadians(primary_deg), s = DegreesToRadians(run.secondary_deg);
  // LAO turns the detector from the chest (-y) to the left (+x), CRA from there to the head (+z).
  const Vec3 chest{0, -1, 0}, left{1, 0, 0}, head{0, 0, 1};
  const Vec3 around = std::cos(p) * chest + std::sin(p) * left;
  const Vec3 detector = std::cos(s) * around + std::sin(s) * head;
  const Vec3 looking = -detector;
  const Vec3 right = (1 / Norm(Cross(looking, head))) * Cross(looking, head);
  const Vec3 up = Cross(right, looking);
  const Vec3 source = run.source_to_isocenter * looking;
  const Vec3 pixel = (run.source_to_detector - run.source_to_isocenter) * detector +
                     (column - 0.5 * (run.columns - 1)) * run.spacing_columns * right -
                     (row - 0.5 * (run.rows - 1)) * run.spacing_rows * up;
  const Vec3 ray = (1 / Norm(pixel - source)) * (pixel - source);
  double integral = 0;
  for (const Sphere& sphere : run.spheres) {
    const Vec3 to = sphere.center - source;
    const double along = Dot(to, ray);
    const double off2 = Dot(to, to) - along * along;
    const double r2 = sphere.radius * sphere.radius;
    if (off2 < r2) integral += 2 * sphere.mu * std::sqrt(r2 - off2);
  }
  return std::exp(-integral);
}

/// What LOG objects store for an intensity.
inline double LogValue(const XaFile& run, double intensity) {
  return run.full() * (1 + std::log(std::max(intensity, std::exp(-6.0))) / 6);
}

inline std::vector<Uint16> Pixels(const XaFile& run) {
  std::vector<Uint16> pixels;
  for (int f = 0; f < run.frames; ++f) {
    for (int v = 0; v < run.rows; ++v) {
      for (int u = 0; u < run.columns; ++u) {
        const int column = run.turned_images ? run.columns - 1 - u : u;
        const int row = run.turned_images ? run.rows - 1 - v : v;
        const double intensity = Intensity(run, run.first_deg + f * run.step_deg, column, row);
        double value =
            run.relationship == "LOG" ? LogValue(run, intensity) : intensity * run.full();
        if (run.sign < 0) value = run.full() - value;
        pixels.push_back(static_cast<Uint16>(std::lround(value)));
      }
    }
  }
  return pixels;
}

inline void PutLogTable(DcmItem& item, const XaFile& run) {
  const int entries = static_cast<int>(run.full()) + 1;
  std::vector<Uint16> linear;
  for (int i = 0; i < entries; ++i) {
    linear.push_back(static_cast<Uint16>(std::lround(60000 * std::exp(6 * (i / run.full() - 1)))));
  }
  const Uint16 descriptor[] = {static_cast<Uint16>(entries % 65536), 0, 16};
  auto* const d = new DcmUnsignedShort(DcmTag(DCM_LUTDescriptor, EVR_US));
  d->putUint16Array(descriptor, 3);
  item.insert(d, true);
  auto* const data = new DcmOtherByteOtherWord(DcmTag(DCM_LUTData, EVR_OW));
  data->putUint16Array(linear.data(), linear.size());
  item.insert(data, true);
}

inline DcmItem& NewItem(DcmItem& parent, const DcmTagKey& sequence, int number = 0) {
  DcmItem* item = nullptr;
  parent.findOrCreateSequenceItem(sequence, item, number);
  return *item;
}

inline void PutPlain(DcmDataset& data, const XaFile& run) {
  const auto put = [&](const DcmTagKey& tag, const std::string& value) {
    data.putAndInsertString(tag, value.c_str());
  };
  std::string steps = absl::StrCat(run.step_deg);
  for (int f = 0; f < run.frames && run.vector_of_offsets; ++f) {
    steps = f == 0 ? "0" : absl::StrCat(steps, "\\", f * run.step_deg);
  }
  put(DCM_PositionerMotion, "DYNAMIC");
  put(DCM_PositionerPrimaryAngle, absl::StrCat(run.first_deg));
  put(DCM_PositionerPrimaryAngleIncrement, steps);
  put(DCM_PositionerSecondaryAngle, absl::StrCat(run.secondary_deg));
  put(DCM_PositionerSecondaryAngleIncrement, "0");
  put(DCM_DistanceSourceToPatient, absl::StrCat(run.source_to_isocenter));
  put(DCM_DistanceSourceToDetector, absl::StrCat(run.source_to_detector));
  put(DCM_ImagerPixelSpacing, absl::StrCat(run.spacing_rows, "\\", run.spacing_columns));
  put(DCM_PixelIntensityRelationship, run.relationship);
  put(DCM_PatientOrientation, run.patient_orientation);
  put(DCM_FrameTime, "40");
  if (run.sign < 0) data.putAndInsertSint16(DCM_PixelIntensityRelationshipSign, -1);
  if (run.log_table) PutLogTable(NewItem(data, DCM_ModalityLUTSequence), run);
}

inline void PutEnhanced(DcmDataset& data, const XaFile& run) {
  DcmItem& shared = NewItem(data, DCM_SharedFunctionalGroupsSequence);
  DcmItem& geometry = NewItem(shared, DCM_XRayGeometrySequence);
  geometry.putAndInsertString(DCM_DistanceSourceToDetector,
                              absl::StrCat(run.source_to_detector).c_str());
  geometry.putAndInsertFloat32(DCM_DistanceSourceToIsocenter,
                               static_cast<Float32>(run.source_to_isocenter));
  DcmItem& pixel = NewItem(shared, DCM_FramePixelDataPropertiesSequence);
  pixel.putAndInsertString(DCM_ImagerPixelSpacing,
                           absl::StrCat(run.spacing_rows, "\\", run.spacing_columns).c_str());
  pixel.putAndInsertString(DCM_PixelIntensityRelationship, run.relationship.c_str());
  pixel.putAndInsertSint16(DCM_PixelIntensityRelationshipSign, static_cast<Sint16>(run.sign));
  if (!run.patient_orientation.empty()) {
    NewItem(shared, DCM_PatientOrientationInFrameSequence)
        .putAndInsertString(DCM_PatientOrientation, run.patient_orientation.c_str());
  }
  for (int f = 0; f < run.frames; ++f) {
    DcmItem& frame = NewItem(data, DCM_PerFrameFunctionalGroupsSequence, f);
    DcmItem& position = NewItem(frame, DCM_PositionerPositionSequence);
    position.putAndInsertString(DCM_PositionerPrimaryAngle,
                                absl::StrCat(run.first_deg + f * run.step_deg).c_str());
    position.putAndInsertString(DCM_PositionerSecondaryAngle,
                                absl::StrCat(run.secondary_deg).c_str());
    NewItem(frame, DCM_FrameContentSequence)
        .putAndInsertString(DCM_FrameAcquisitionDateTime,
                            absl::StrCat("202601312359", 58 + f / 100, ".", f % 100 < 10 ? "0" : "",
                                         f % 100, "0000")
                                .c_str());
    if (!run.log_table) continue;
    DcmItem& table = NewItem(frame, DCM_PixelIntensityRelationshipLUTSequence);
    table.putAndInsertString(DCM_LUTFunction, "TO_LINEAR");
    PutLogTable(table, run);
  }
}

inline void RegisterEncoders() {
  static const bool once = [] {
    DcmRLEEncoderRegistration::registerCodecs();
    DJEncoderRegistration::registerCodecs();
    DJLSEncoderRegistration::registerCodecs();
    return true;
  }();
  static_cast<void>(once);
}

/// False when the object cannot be written.
inline bool WriteXa(const std::filesystem::path& path, const XaFile& run) {
  DcmFileFormat file;
  DcmDataset& data = *file.getDataset();
  const auto put = [&](const DcmTagKey& tag, const char* value) {
    data.putAndInsertString(tag, value);
  };
  put(DCM_SOPClassUID,
      run.enhanced ? UID_EnhancedXAImageStorage : UID_XRayAngiographicImageStorage);
  put(DCM_SOPInstanceUID, "1.2.3.4");
  put(DCM_SpecificCharacterSet, "ISO_IR 100");
  put(DCM_PatientName, "M\xfcller^J\xf6rg");
  put(DCM_PatientID, "P42");
  put(DCM_PatientBirthDate, "19600229");
  put(DCM_PatientSex, "M");
  put(DCM_StudyInstanceUID, "1.2.840.99");
  put(DCM_AccessionNumber, "ACC7");
  put(DCM_StudyDate, "20260131");
  put(DCM_StudyTime, "235958.123");
  put(DCM_StationName, "ROOM 2/A");
  put(DCM_BodyPartExamined, "HEAD");
  put(DCM_KVP, "82.5");
  put(DCM_PatientPosition, run.patient_position.c_str());
  put(DCM_NumberOfFrames, absl::StrCat(run.frames).c_str());
  data.putAndInsertUint16(DCM_SamplesPerPixel, 1);
  put(DCM_PhotometricInterpretation, "MONOCHROME2");
  data.putAndInsertUint16(DCM_Rows, static_cast<Uint16>(run.rows));
  data.putAndInsertUint16(DCM_Columns, static_cast<Uint16>(run.columns));
  data.putAndInsertUint16(DCM_BitsAllocated, 16);
  data.putAndInsertUint16(DCM_BitsStored, static_cast<Uint16>(run.bits_stored));
  data.putAndInsertUint16(DCM_HighBit, static_cast<Uint16>(run.bits_stored - 1));
  data.putAndInsertUint16(DCM_PixelRepresentation, 0);
  run.enhanced ? PutEnhanced(data, run) : PutPlain(data, run);
  const std::vector<Uint16> pixels = Pixels(run);
  data.putAndInsertUint16Array(DCM_PixelData, pixels.data(), pixels.size());
  run.change(data);
  RegisterEncoders();
  const DcmRLERepresentationParameter rle;
  const DJ_RPLossless jpeg;
  const DJLSRepresentationParameter jpeg_ls;
  const DcmRepresentationParameter* parameter = nullptr;
  if (run.syntax == EXS_RLELossless) parameter = &rle;
  if (run.syntax == EXS_JPEGProcess14SV1) parameter = &jpeg;
  if (run.syntax == EXS_JPEGLSLossless) parameter = &jpeg_ls;
  return data.chooseRepresentation(run.syntax, parameter).good() &&
         file.saveFile(path.c_str(), run.syntax).good();
}

}  // namespace isocenter::client_test
