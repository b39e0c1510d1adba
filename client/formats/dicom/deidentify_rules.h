// What becomes of each attribute when an object is de-identified: PS3.15 Table E.1-1 for those that
// the service's objects can have, and what is kept of the rest.
#pragma once

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dctagkey.h>

#include <optional>
#include <span>

namespace isocenter::formats {

enum class DeidentifyAction {
  kKeep,       // says nothing of a person, place or time
  kRemove,     // code X
  kEmpty,      // code Z
  kUid,        // code U: replaced
  kItems,      // a sequence that is kept, its items treated alike
  kDate,       // X/D: removed, or shifted
  kEmptyDate,  // Z: emptied, or shifted
  kDummyDate,  // D: must have a value: a fixed one, or shifted
  kDummy,      // D: must have a value: a fixed text
  kSubject,    // name and id of the patient: a pseudonym
};

/// The option that keeps an attribute which the basic profile does not.
enum class RetainOption { kNone, kPatientCharacteristics, kDevice, kInstitution };

struct DeidentifyRule {
  DcmTagKey tag;
  DeidentifyAction action;
  RetainOption option = RetainOption::kNone;
};

/// Sorted by tag.
std::span<const DeidentifyRule> DeidentifyRules();

/// The rule of an attribute; nothing for one that is not in the table, which is removed.
std::optional<DeidentifyRule> FindDeidentifyRule(const DcmTagKey& tag);

}  // namespace isocenter::formats
