#include "kernels/phantom/composite_phantom.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/kernels/geometry/random_numbers.h"
#include "tests/kernels/phantom/quadrature.h"

namespace isocenter::phantom {
namespace {

using Overlap = CompositePhantom::Overlap;
using Shape = Body::Shape;

constexpr double kRounding = 1e-12;  // of lengths up to 10

// The outermost of many points inside is near the border of the box, and none is beyond it.
TEST(Body, FillsItsExtent) {
  RandomNumbers random(3);
  for (Shape shape : {Shape::kEllipsoid, Shape::kCylinder, Shape::kBox}) {
    const Vec3 center{5, -3, 2};
    const Body body(shape, center, {3, 1, 2}, 0.7, -0.4);
    const Vec3 half = body.HalfExtent();
    Vec3 reached;
    for (int i = 0; i < 400000; ++i) {
      const Vec3 p{random.Uniform(-4.5, 4.5), random.Uniform(-4.5, 4.5), random.Uniform(-4.5, 4.5)};
      if (!body.Contains(center + p)) continue;
      reached = {std::max(reached.x, p.x), std::max(reached.y, p.y), std::max(reached.z, p.z)};
    }
    for (auto axis : {&Vec3::x, &Vec3::y, &Vec3::z}) {
      EXPECT_LE(reached.*axis, half.*axis);
      EXPECT_GT(reached.*axis, 0.93 * half.*axis);
    }
  }
}

TEST(CompositePhantom, HasABoxOfAllItsParts) {
  const CompositePhantom two({{Body(Shape::kBox, {1, 0, 0}, {2, 1, 1}), 1},
                              {Body(Shape::kEllipsoid, {0, 5, 0}, {1, 1, 4}), 1}},
                             Overlap::kAdd);
  const Box box = two.Bounds();
  EXPECT_NEAR(box.low.x, -1, kRounding);
  EXPECT_NEAR(box.high.x, 3, kRounding);
  EXPECT_NEAR(box.low.y, -1, kRounding);
  EXPECT_NEAR(box.high.y, 6, kRounding);
  EXPECT_NEAR(box.low.z, -4, kRounding);
  EXPECT_NEAR(box.high.z, 4, kRounding);
}

TEST(Body, ChordsByHand) {
  const auto length = [](const Body& body, Vec3 from, Vec3 along) {
    const Interval inside = body.Intersect(from, along);
    return std::max(0.0, inside.end - inside.begin);
  };
  const Body sphere(Shape::kEllipsoid, {1, 0, 0}, {2, 2, 2});
  EXPECT_NEAR(length(sphere, {-5, 0, 0}, {1, 0, 0}), 4, kRounding);
  EXPECT_NEAR(length(sphere, {-5, 1, 0}, {1, 0, 0}), 2 * std::sqrt(3), kRounding);
  EXPECT_EQ(length(sphere, {-5, 2.001, 0}, {1, 0, 0}), 0);
  EXPECT_EQ(length(sphere, {-5, 0, 0}, {-1, 0, 0}), 0) << "it lies behind the source";
  EXPECT_NEAR(length(sphere, {1, 0, 0}, {0, 0, 1}), 2, kRounding) << "from its middle";

  const Body cylinder(Shape::kCylinder, {0, 0, 0}, {3, 1, 2});
  EXPECT_NEAR(length(cylinder, {-5, 0, 1}, {1, 0, 0}), 6, kRounding);
  EXPECT_NEAR(length(cylinder, {0, -5, 1}, {0, 1, 0}), 2, kRounding);
  EXPECT_NEAR(length(cylinder, {1, 0, -9}, {0, 0, 1}), 4, kRounding);
  EXPECT_EQ(length(cylinder, {3.1, 0, -9}, {0, 0, 1}), 0);
  EXPECT_EQ(length(cylinder, {-5, 0, 2.1}, {1, 0, 0}), 0);

  const Body box(Shape::kBox, {0, 0, 1}, {1, 2, 3});
  EXPECT_NEAR(length(box, {-5, 0, 0}, {1, 0, 0}), 2, kRounding);
  EXPECT_NEAR(length(box, {0, 0, -9}, {0, 0, 1}), 6, kRounding);
  const double half = std::sqrt(0.5);  // the diagonal of the square |x|, |y| <= 1 of the box
  EXPECT_NEAR(length(box, {-1.5, -1.5, 0}, {half, half, 0}), 2 * std::sqrt(2), kRounding);
}

TEST(Body, TurnsAboutZThenStandsWhereItIsPut) {
  const Body turned(Shape::kEllipsoid, {1, 1, 0}, {3, 1, 1}, std::acos(-1) / 2);
  EXPECT_TRUE(turned.Contains({1, 3.9, 0}));
  EXPECT_FALSE(turned.Contains({3.9, 1, 0}));
  const Body tilted(Shape::kCylinder, {0, 0, 0}, {0.1, 0.1, 5}, 0, 0.2);  // its axis leans to +x
  EXPECT_TRUE(tilted.Contains({4 * std::sin(0.2), 0, 4 * std::cos(0.2)}));
  EXPECT_FALSE(tilted.Contains({-4 * std::sin(0.2), 0, 4 * std::cos(0.2)}));
}

// A map of the sums where parts add up, of the parts' own values where they replace each other.
TEST(CompositePhantom, MapsWhatItAttenuates) {
  const std::vector<Part> parts = {{Body(Shape::kEllipsoid, {0, 0, 0}, {4, 4, 4}), 1},
                                   {Body(Shape::kBox, {0, 0, 0}, {2, 2, 2}), 10},
                                   {Body(Shape::kEllipsoid, {1, 1, 1}, {2, 1, 3}, 0.3), -3}};
  const auto map = [](double a) { return a > 5 ? a * a : 0; };
  RandomNumbers random(7);
  for (Overlap overlap : {Overlap::kAdd, Overlap::kReplace}) {
    const CompositePhantom phantom(parts, overlap);
    const auto mapped = phantom.Mapped(map);
    EXPECT_EQ(mapped->Attenuation({0, 0, 0}), map(phantom.Attenuation({0, 0, 0})));
    const auto twice = mapped->Mapped([](double a) { return a / 2; });
    for (int i = 0; i < 20; ++i) {
      const Vec3 source{-9, random.Uniform(-2, 2), random.Uniform(-2, 2)};
      const Vec3 along = UnitVector({1, random.Uniform(-0.1, 0.1), random.Uniform(-0.1, 0.1)});
      const double exact = mapped->LineIntegral(source, along);
      // Midpoint sums miss up to a step at each of six borders, of at most 121.
      EXPECT_NEAR(exact, Quadrature(*mapped, source, along, 18, 18000), 6 * 121 * 1e-3);
      EXPECT_NEAR(twice->LineIntegral(source, along), exact / 2, 1e-9);
    }
  }
}

TEST(CompositePhantom, AddsOrReplaces) {
  const std::vector<Part> parts = {{Body(Shape::kEllipsoid, {0, 0, 0}, {4, 4, 4}), 1},
                                   {Body(Shape::kEllipsoid, {0, 0, 0}, {2, 2, 2}), 10}};
  const CompositePhantom added(parts, Overlap::kAdd), replaced(parts, Overlap::kReplace);
  EXPECT_EQ(added.Attenuation({0, 0, 0}), 11);
  EXPECT_EQ(replaced.Attenuation({0, 0, 0}), 10);
  EXPECT_EQ(replaced.Attenuation({3, 0, 0}), 1);
  EXPECT_EQ(replaced.Attenuation({5, 0, 0}), 0);
  EXPECT_NEAR(added.LineIntegral({-9, 0, 0}, {1, 0, 0}), 8 * 1 + 4 * 10, 1e-10);
  EXPECT_NEAR(replaced.LineIntegral({-9, 0, 0}, {1, 0, 0}), 4 * 1 + 4 * 10, 1e-10);
}

// Any heap of bodies, overlapping in all ways: the integral is that of Attenuation.
TEST(CompositePhantom, IntegratesWhatAttenuationSays) {
  RandomNumbers random(1);
  for (int repeat = 0; repeat < 60; ++repeat) {
    std::vector<Part> parts;
    for (int i = 0; i < 12; ++i) {
      const Shape shape =
          i % 3 == 0 ? Shape::kEllipsoid : (i % 3 == 1 ? Shape::kCylinder : Shape::kBox);
      parts.push_back(
          {Body(shape, random.Vector(5),
                {random.Uniform(0.5, 5), random.Uniform(0.5, 5), random.Uniform(0.5, 5)},
                random.Uniform(0, 3), random.Uniform(0, 3)),
           random.Uniform(0.5, 2)});
    }
    for (Overlap overlap : {Overlap::kAdd, Overlap::kReplace}) {
      const CompositePhantom phantom(parts, overlap);
      for (int ray = 0; ray < 20; ++ray) {
        // Also from sources inside of bodies.
        const Vec3 source = random.Vector(ray % 2 ? 20 : 4);
        const Vec3 direction = UnitVector(random.Vector(5) - source);
        constexpr int kSteps = 10000;
        constexpr double kLength = 60;
        // A sample decides for a whole step at each of up to 24 borders: half a step of 2 at most.
        const double tolerance = 24 * 0.5 * kLength / kSteps * 2;
        EXPECT_NEAR(phantom.LineIntegral(source, direction),
                    Quadrature(phantom, source, direction, kLength, kSteps), tolerance);
      }
    }
  }
}

}  // namespace
}  // namespace isocenter::phantom
