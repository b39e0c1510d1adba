// Names that people write with a comma.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/options/identity_checks.h"

namespace isocenter::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NamesWithCommas, AreToldWithWhatIsMeant) {
  v1::AcquisitionHeader header;
  EXPECT_THAT(NamesWithCommas(header), IsEmpty());
  header.mutable_patient_study()->set_patient_name("Müller, Jürgen");
  EXPECT_THAT(NamesWithCommas(header),
              ElementsAre("patient_study.patient_name is 'Müller, Jürgen', which is all family "
                          "name; did you mean 'Müller^Jürgen'?"));
  header.set_operators_name("Doe,Jane");
  EXPECT_EQ(NamesWithCommas(header).size(), 2u);
}

TEST(NamesWithCommas, OfComponentsAreMeant) {
  v1::AcquisitionHeader header;
  for (const char* name : {"Müller^Jürgen", "Doe^Jane^^^M.D., Ph.D.", "Doe", "Doe,"}) {
    header.mutable_patient_study()->set_patient_name(name);
    EXPECT_THAT(NamesWithCommas(header), IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace isocenter::cli
