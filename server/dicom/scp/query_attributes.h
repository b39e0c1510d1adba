// The attributes that queries can ask for, and where their values come from. They are listed in
// docs/dicom.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "server/archive/archive.h"
#include "server/dicom/scp/matching.h"
#include "server/dicom/scp/query.h"

namespace isocenter::dicom {

inline constexpr uint32_t kSpecificCharacterSet = 0x00080005;
inline constexpr uint32_t kQueryRetrieveLevel = 0x00080052;
inline constexpr uint32_t kRetrieveAeTitle = 0x00080054;
inline constexpr uint32_t kInstanceAvailability = 0x00080056;
inline constexpr uint32_t kTimezoneOffset = 0x00080201;
inline constexpr uint32_t kModalitiesInStudy = 0x00080061;
inline constexpr uint32_t kPatientId = 0x00100020;
inline constexpr uint32_t kStudyDate = 0x00080020;
inline constexpr uint32_t kSopInstanceUid = 0x00080018;
inline constexpr uint32_t kStudyInstanceUid = 0x0020000d;
inline constexpr uint32_t kSeriesInstanceUid = 0x0020000e;

inline constexpr uint32_t kPatientName = 0x00100010;
inline constexpr uint32_t kAccessionNumber = 0x00080050;
inline constexpr uint32_t kRequestAttributesSequence = 0x00400275;
inline constexpr uint32_t kRequestedProcedureId = 0x00401001;
inline constexpr uint32_t kScheduledStepId = 0x00400009;

/// One row of an answer with everything above it; what is below its level stays empty.
struct Entity {
  archive::Patient patient;
  archive::Study study;
  archive::Series series;
  archive::Instance instance;
  std::filesystem::path file;
  std::string node;  // whose archive has the file; empty: this one's
  std::vector<std::string> modalities;
  int64_t study_count = 0, series_count = 0, instance_count = 0;
};

/// One that can be asked for.
struct Attribute {
  TagPath tag;
  Level level;      // the entity that has it
  bool only_there;  // not returned with entities below
  Matching matching;
  std::string (*value)(const Entity&);
};

/// Null: entities of the level have no such attribute that this node knows.
const Attribute* FindAttribute(TagPath tag, Level query_level);

}  // namespace isocenter::dicom
