// The attributes of what searches find: what they are called, how JSON has them, and where the
// index keeps them. How they are matched is what C-FIND does (server/dicom/scp).
#pragma once

#include <span>

#include "absl/strings/string_view.h"
#include "server/archive/listing.h"
#include "server/dicom/scp/query.h"

namespace isocenter::dicomweb {

struct SearchAttribute {
  dicom::TagPath tag;
  const char* keyword;
  const char* vr;
  archive::Field field;
};

/// By level; of one sequence the attributes of its item, whose keyword stands behind the
/// sequence's.
std::span<const SearchAttribute> SearchAttributes();

/// By keyword ("PatientID", "RequestAttributesSequence.RequestedProcedureID") or tag ("00100020",
/// "00400275.00401001"). Null: there is none.
const SearchAttribute* FindSearchAttribute(absl::string_view name);

/// Whether it is an attribute of what a level's searches find.
bool IsOfLevel(const SearchAttribute& attribute, dicom::Level level);

}  // namespace isocenter::dicomweb
