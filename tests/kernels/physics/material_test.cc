#include "kernels/physics/material.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isocenter::physics {
namespace {

// Mass attenuation coefficients (cm²/g) of Hubbell, Seltzer, NISTIR 5632 (1995), tables 3 and 4.
struct Tabulated {
  const char* material;
  double kev, mass_attenuation;
};
constexpr Tabulated kNist[] = {
    {"water", 30, 0.3756},     {"water", 60, 0.2059},       {"water", 100, 0.1707},
    {"water", 150, 0.1505},    {"soft-tissue", 40, 0.2688}, {"soft-tissue", 60, 0.2048},
    {"fat", 40, 0.2396},       {"fat", 60, 0.1974},         {"bone", 40, 0.6655},
    {"bone", 60, 0.3148},      {"bone", 100, 0.1855},       {"blood", 60, 0.2057},
    {"iodine", 60, 7.579},     {"iodine", 100, 1.942},      {"aluminium", 30, 1.128},
    {"aluminium", 60, 0.2778}, {"aluminium", 100, 0.1704},  {"titanium", 60, 0.7661},
    {"titanium", 100, 0.2721}, {"copper", 60, 1.593},       {"gold", 60, 4.528},
    {"gold", 100, 5.158},      {"csi", 60, 7.921},          {"air", 60, 0.1875},
    {"air", 100, 0.1541},
};

// xraylib interpolates by splines between the energies of its own evaluation: 0.5 % apart.
TEST(Material, AttenuatesAsNistTabulates) {
  for (const Tabulated& t : kNist) {
    const Material material = FindMaterial(t.material).value();
    EXPECT_NEAR(MassAttenuation(material, t.kev) / t.mass_attenuation, 1, 0.005)
        << t.material << " at " << t.kev << " keV";
  }
}

TEST(Material, LinearAttenuationIsPerMillimetre) {
  EXPECT_NEAR(LinearAttenuation(KnownMaterial("water"), 60), 0.02059, 1e-5);
  EXPECT_NEAR(LinearAttenuation(KnownMaterial("air"), 60), 0.1875 * 1.205e-4, 1e-7);
}

TEST(Material, AllAreMixturesOfWholes) {
  EXPECT_THAT(MaterialNames(), testing::IsSupersetOf({"water", "soft-tissue", "fat", "bone",
                                                      "iodine", "contrast-blood", "aluminium",
                                                      "titanium", "steel", "gold", "air"}));
  for (const std::string& name : MaterialNames()) {
    const Material material = FindMaterial(name).value();
    double sum = 0;
    for (const Material::Element& element : material.elements) sum += element.mass_fraction;
    EXPECT_NEAR(sum, 1, 1e-3) << name;  // the tables have three decimals
    for (double kev : {kLeastKev, 80.0, kMostKev}) {
      EXPECT_GT(LinearAttenuation(material, kev), 0) << name;
      EXPECT_LT(MassPhotoAbsorption(material, kev), MassAttenuation(material, kev)) << name;
    }
  }
}

// To the blood is added what its iodine alone attenuates: 15 mg in each ml.
TEST(Material, ContrastAddsIodine) {
  const double blood = LinearAttenuation(KnownMaterial("blood"), 60);
  const double contrast = LinearAttenuation(KnownMaterial("contrast-blood"), 60);
  EXPECT_NEAR(contrast - blood, 0.1 * 0.015 * 7.579, 5e-5);
  EXPECT_NEAR(KnownMaterial("contrast-blood").density_g_per_cm3, 1.075, 1e-12);
  EXPECT_EQ(LinearAttenuation(WithIodine(KnownMaterial("blood"), 0), 60), blood);
}

TEST(Material, RefusesUnknownNamesWithTheKnownOnes) {
  const absl::Status status = FindMaterial("wood").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), testing::AllOf(testing::HasSubstr("'wood'"),
                                               testing::HasSubstr("water, soft-tissue")));
}

}  // namespace
}  // namespace isocenter::physics
