#include "client/cli/options/untold.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace isocenter::cli {

std::string UntoldText(const std::string& set_name, const SetFit& fit) {
  return absl::StrCat("the acquisition does not tell its ", absl::StrJoin(fit.untold, ", "),
                      ": that calibration '", set_name, "' fits is taken for granted");
}

}  // namespace isocenter::cli
