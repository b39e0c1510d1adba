// DICOM unique identifiers that follow from names.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace isocenter::dicom {

/// What a UID identifies; part of the name that it is made from.
enum class UidRole {
  kStudy,
  kSeries,  // index 0: of CT images; 1: of X-Ray 3D objects
  kFrameOfReference,
  kInstance,               // a CT image; index: slice
  kVolume,                 // an X-Ray 3D object; index: part of the volume
  kConcatenation,          // of the parts of a volume; index 1: the whole
  kDimensionOrganization,  // of the frames of a volume
  kProcedureStep,
};

/// The UID of an object of `name`, a job's id or what the jobs of a pair share: always the same for
/// the same name, role and index, so that a repeated export replaces instead of adding. Form:
/// "2.25." and the decimal value of a name-based UUID (RFC 4122 version 5; DICOM PS3.5 B.2).
std::string MakeUid(UidRole role, absl::string_view name, int index = 0);

/// The UID of something that happens once, such as a transaction: "2.25." and the decimal value of
/// a random UUID (RFC 4122 version 4).
std::string RandomUid();

/// Whether `uid` is a legal UID: 1 to 64 characters, numbers without leading zeros between dots.
bool IsUid(absl::string_view uid);

}  // namespace isocenter::dicom
