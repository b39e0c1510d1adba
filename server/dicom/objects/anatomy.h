// Body parts as coded concepts.
#pragma once

#include <string>

namespace isocenter::dicom {

/// A concept of SNOMED CT (coding scheme SCT).
struct AnatomicRegion {
  const char* code;
  const char* meaning;
};

/// The region that a Body Part Examined stands for (PS3.16, Annex L). Of one that is empty or not
/// in the list nothing is known but that it belongs to the body.
AnatomicRegion RegionOf(const std::string& body_part_examined);

}  // namespace isocenter::dicom
