// The attributes of an X-ray angiographic run, wherever its SOP class keeps them.
#pragma once

#include <dcmtk/config/osconfig.h>
//
#include <dcmtk/dcmdata/dctk.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace isocenter::formats {

/// Numbers of an element of any numeric or decimal-string representation; those that are none end
/// the list. Empty when the element is missing.
std::vector<double> DicomNumbers(DcmItem& item, const DcmTagKey& tag);
/// The first of them.
std::optional<double> DicomNumber(DcmItem& item, const DcmTagKey& tag);
/// Value `index` of a text element, "" when it is missing.
std::string DicomText(DcmItem& item, const DcmTagKey& tag, int index = 0);

/// A view of a data set of the classes X-Ray Angiographic Image (PS3.3 A.14), whose attributes
/// stand in the data set, and Enhanced XA Image (A.47), whose attributes stand in functional
/// groups, per frame or shared. The data set must outlive it.
class XaAttributes {
 public:
  /// Errors: INVALID_ARGUMENT (another SOP class, fewer than 2 frames or more than 10000).
  static absl::StatusOr<XaAttributes> Of(DcmDataset& data);

  bool enhanced() const { return enhanced_; }
  int frames() const { return frames_; }
  DcmDataset& data() const { return *data_; }
  /// What holds the attributes of the functional group `macro` of a frame: of an enhanced object
  /// its item, nullptr without one; of another the data set.
  DcmItem* Group(int frame, const DcmTagKey& macro) const;
  std::optional<double> Number(int frame, const DcmTagKey& macro, const DcmTagKey& tag) const;
  std::string Text(int frame, const DcmTagKey& macro, const DcmTagKey& tag, int index = 0) const;

 private:
  XaAttributes(DcmDataset& data, bool enhanced, int frames)
      : data_(&data), enhanced_(enhanced), frames_(frames) {}

  DcmDataset* data_;
  bool enhanced_;
  int frames_;
};

}  // namespace isocenter::formats
