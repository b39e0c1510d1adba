// Tables of balls: the built-in ones, and files, which anybody may have written.
#include "kernels/geometry/phantom_tables/bead_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace isocenter {
namespace {

using testing::HasSubstr;

std::string Error(absl::string_view text) {
  return std::string(ParseBeadTable(text).status().message());
}

TEST(BeadTable, BuiltInPhantomsAreLegalAndComeBackFromText) {
  for (const BeadTable& table : {HelixBeads(), RingBeads()}) {
    EXPECT_TRUE(CheckBeadTable(table).ok()) << CheckBeadTable(table);
    const auto read = ParseBeadTable(BeadTableText(table));
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->size(), table.size());
    for (size_t i = 0; i < table.size(); ++i) {
      EXPECT_LT(Norm((*read)[i].center - table[i].center), 1e-5);
      EXPECT_EQ((*read)[i].diameter_mm, table[i].diameter_mm);
    }
  }
}

TEST(BeadTable, AMistypedNameIsNamed) {
  EXPECT_THAT(std::string(FindBeadTable("--beads", "helx").status().message()),
              testing::AllOf(HasSubstr("--beads"), HasSubstr("helx"),
                             HasSubstr("legal is helix, rings, or a table of the balls; did you "
                                       "mean helix?")));
}

// Where on the helix one is, seven neighbours tell; also backwards, which is another sequence.
TEST(BeadTable, SevenNeighboursOfTheHelixOccurOnce) {
  std::set<std::string> seen;
  const BeadTable table = HelixBeads();
  for (size_t i = 0; i + 7 <= table.size(); ++i) {
    std::string code;
    for (size_t k = i; k < i + 7; ++k) code += table[k].diameter_mm > 2 ? '1' : '0';
    EXPECT_TRUE(seen.insert(code).second) << code << " from " << i;
  }
}

TEST(BeadTable, SaysWhatIsWrongInWhichLine) {
  EXPECT_THAT(Error("# only a comment\n"), HasSubstr("0 balls; legal is 12"));
  EXPECT_THAT(Error("0 0 0 1\n1 2 3\n"), HasSubstr("line 2"));
  EXPECT_THAT(Error("0 0 x 1"), HasSubstr("line 1"));
  EXPECT_THAT(Error("0 0 inf 1"), HasSubstr("line 1"));
  EXPECT_THAT(Error("0 0 nan 1"), HasSubstr("line 1"));
  std::string many;
  for (int i = 0; i <= kMostBeads; ++i) absl::StrAppend(&many, i % 400, ",", i / 400, ",0,0.5\n");
  EXPECT_THAT(Error(many), HasSubstr("1001 balls"));
}

TEST(BeadTable, SaysWhichBallIsWrong) {
  const auto error = [](auto change) {
    BeadTable table = HelixBeads();
    change(table);
    return std::string(CheckBeadTable(table).message());
  };
  EXPECT_THAT(error([](BeadTable& t) { t[5].center.y = 600; }), HasSubstr("ball 5"));
  EXPECT_THAT(error([](BeadTable& t) { t[6].diameter_mm = 0; }), HasSubstr("ball 6"));
  EXPECT_THAT(error([](BeadTable& t) { t[6].diameter_mm = 21; }), HasSubstr("0.2 to 20"));
  EXPECT_THAT(error([](BeadTable& t) { t[9].center = t[8].center; }), HasSubstr("balls 8 and 9"));
  EXPECT_THAT(error([](BeadTable& t) {
                for (size_t i = 0; i < t.size(); ++i) t[i].center = {3.0 * i - 160, i % 7 * 3.0, 0};
              }),
              HasSubstr("of a plane"));
  EXPECT_THAT(error([](BeadTable& t) {
                for (size_t i = 0; i < t.size(); ++i) t[i].center = {3.0 * i - 160, 0, 0};
              }),
              HasSubstr("of a plane"));
}

TEST(BeadTable, AsksForTheUnitWhereAnotherWouldBeLegal) {
  const auto text = [](double mm, bool diameters) {
    BeadTable table = HelixBeads();
    for (Bead& bead : table) {
      bead.center = (1 / mm) * bead.center;
      if (diameters) bead.diameter_mm /= mm;
    }
    return BeadTableText(table);
  };
  for (const bool diameters : {false, true}) {
    EXPECT_THAT(Error(text(10, diameters)), HasSubstr("; times 10 it would be legal: is the table "
                                                      "in cm?"));
    // Legal as well in cm: what is asked is whether it is mm.
    EXPECT_THAT(Error(text(25.4, diameters)), HasSubstr("it would be legal: is the table in"));
  }
  BeadTable twice = HelixBeads();
  twice[9].center = twice[8].center;
  EXPECT_THAT(Error(BeadTableText(twice)), testing::Not(HasSubstr("unit")));
  for (Bead& bead : twice) bead.center = 0.1 * bead.center;
  EXPECT_THAT(Error(BeadTableText(twice)), testing::Not(HasSubstr("would be legal")));
}

}  // namespace
}  // namespace isocenter
