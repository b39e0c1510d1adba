#include "kernels/physics/spectrum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "absl/strings/str_cat.h"

namespace isocenter::physics {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(absl::string_view text) {
  return std::string(ParseSpectrum(text).status().message());
}

TEST(Spectrum, ReadsATable) {
  const Spectrum spectrum =
      ParseSpectrum("# keV photons\n40 1\n\n 60.5,2 # middle\r\n80\t1").value();
  EXPECT_THAT(spectrum.kev, ElementsAre(40, 60.5, 80));
  EXPECT_THAT(spectrum.photons, ElementsAre(0.25, 0.5, 0.25));
  EXPECT_DOUBLE_EQ(spectrum.MeanKev(), 60.25);
}

TEST(Spectrum, RefusesWhatIsNone) {
  EXPECT_THAT(ErrorOf("40 1\nforty 1"), HasSubstr("line 2 is not an energy"));
  EXPECT_THAT(ErrorOf("40 1 2"), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOf("4.9 1"), HasSubstr("energy 1 is 4.9 keV; legal is 5 to 160"));
  EXPECT_THAT(ErrorOf("161 1"), HasSubstr("161 keV; legal is 5 to 160"));
  EXPECT_THAT(ErrorOf("nan 1"), HasSubstr("energy 1 is nan"));
  EXPECT_THAT(ErrorOf("60 1\n60 1"), HasSubstr("60 keV after 60 keV; legal is a higher one"));
  EXPECT_THAT(ErrorOf("60 -1"), HasSubstr("photons of 60 keV are -1; legal is 0 to"));
  EXPECT_THAT(ErrorOf("60 nan"), HasSubstr("photons of 60 keV are nan"));
  EXPECT_THAT(ErrorOf("60 inf"), HasSubstr("photons of 60 keV are inf"));
  EXPECT_THAT(ErrorOf("60 0\n70 0"), HasSubstr("no photons"));
  EXPECT_THAT(ErrorOf("# nothing"), HasSubstr("0 energies"));
}

TEST(Spectrum, BoundsTheNumberOfEnergies) {
  std::string text;
  for (int i = 0; i < kMostEnergies; ++i) absl::StrAppend(&text, 10 + 0.1 * i, " 1\n");
  EXPECT_TRUE(ParseSpectrum(text).ok());
  EXPECT_THAT(ErrorOf(text + "150 1"), HasSubstr("line 1001 is energy 1001; legal is 1 to 1000"));
}

TEST(Spectrum, NamesTheFileAndBoundsItsSize) {
  const std::string path = testing::TempDir() + "/spectrum_test.txt";
  std::ofstream(path) << "60 x";
  EXPECT_THAT(ReadSpectrum("spectrum", path).status().message(),
              testing::AllOf(HasSubstr(path), HasSubstr("line 1")));
  std::ofstream(path) << std::string(kMostSpectrumBytes + 1, '#');
  EXPECT_EQ(ReadSpectrum("spectrum", path).status().code(), absl::StatusCode::kInvalidArgument);
  std::ofstream(path) << "60 7";
  EXPECT_THAT(ReadSpectrum("spectrum", path).value().photons, ElementsAre(1));
  EXPECT_EQ(ReadSpectrum("spectrum", path + ".none").status().code(), absl::StatusCode::kNotFound);
}

TEST(Spectrum, AFilterTakesTheLowEnergies) {
  const Spectrum bare = MakeSpectrum({30, 60}, {1, 1}).value();
  const Spectrum filtered = Filtered(bare, KnownMaterial("aluminium"), 5).value();
  // exp(-μρd), NISTIR 5632: 1.128 and 0.2778 cm²/g, 2.699 g/cm³.
  const double ratio = std::exp(-(1.128 - 0.2778) * 2.699 * 0.5);
  EXPECT_NEAR(filtered.photons[0] / filtered.photons[1], ratio, 0.002);
  EXPECT_THAT(Filtered(bare, KnownMaterial("gold"), 1e4).status().message(),
              HasSubstr("no photons"));
}

}  // namespace
}  // namespace isocenter::physics
