#include "server/rpc/translation/translate_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/wire/header_numbers.h"

namespace isocenter::rpc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Setter = void (v1::Exposure::*)(double);

struct Field {
  const char* name;
  Setter set;
  double most;
  const char* most_text;
};

constexpr Field kFields[] = {
    {"tube_current_ma", &v1::Exposure::set_tube_current_ma, 1e4, "10000"},
    {"exposure_mas", &v1::Exposure::set_exposure_mas, 1e6, "1000000"},
    {"dose_area_product_dgycm2", &v1::Exposure::set_dose_area_product_dgycm2, 1e6, "1000000"},
};

absl::Status Check(const Field& field, double value) {
  v1::Exposure exposure;
  (exposure.*field.set)(value);
  return wire::CheckExposure("finish.exposure", exposure);
}

TEST(CheckExposure, NothingIsKnownOfAnEmptyOne) {
  EXPECT_TRUE(wire::CheckExposure("header.exposure", v1::Exposure()).ok());
}

TEST(CheckExposure, EachFieldHasItsRange) {
  for (const Field& field : kFields) {
    for (const double legal : {0.0, 1e-9, 21.5, field.most}) {
      EXPECT_TRUE(Check(field, legal).ok()) << field.name << " " << legal;
    }
    for (const double illegal :
         {-1e-9, -1.0, 1.001 * field.most, std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      const absl::Status status = Check(field, illegal);
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field.name << " " << illegal;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(absl::StrCat("finish.exposure.", field.name, " is ")),
                        HasSubstr(absl::StrCat("legal is 0 to ", field.most_text))));
    }
  }
}

}  // namespace
}  // namespace isocenter::rpc
