#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/conformance/conformance.h"
#include "tests/conformance/geometries.h"

namespace isocenter::conformance {
namespace {

using ops::StackUse;

enum class Kind { kVolume, kProjections, kLineIntegrals };

// A buffer of any kind, with what suits its kind.
struct Buffer {
  Buffer(ops::Session& session, Kind kind, Shape3 shape) {
    if (kind == Kind::kVolume) {
      volume = NewVolume(session,
                         CenteredGrid(static_cast<int>(shape.fast), static_cast<int>(shape.middle),
                                      static_cast<int>(shape.slow), {1, 1, 1}));
    } else {
      stack =
          NewStack(session, shape,
                   kind == Kind::kProjections ? StackUse::kProjections : StackUse::kLineIntegrals);
    }
  }
  Buffer(ops::Session& session, Kind kind, const Array& array)
      : Buffer(session, kind, array.shape) {
    const absl::Status status =
        volume != nullptr ? volume->Upload(0, array.view()) : stack->Upload(0, array.view());
    EXPECT_TRUE(status.ok()) << status;
  }
  ops::Vector& operator*() const {
    if (volume != nullptr) return *volume;
    return *stack;
  }
  Array array() const { return volume != nullptr ? Downloaded(*volume) : Downloaded(*stack); }

  std::unique_ptr<ops::VolumeBuffer> volume;
  std::unique_ptr<ops::ProjectionStack> stack;
};

constexpr Kind kKinds[] = {Kind::kVolume, Kind::kProjections, Kind::kLineIntegrals};
// Around the lengths of vectors, cache lines and blocks, and wider than high.
const Shape3 kShapes[] = {{1, 1, 1}, {3, 5, 7}, {2, 33, 64}, {5, 17, 131}};
// float32 rounds each of two or three operations to 6e-8.
constexpr double kTolerance = 5e-7;
// The argument of up to 2.3 is rounded before, and functions may be off by some units.
constexpr double kExponentialTolerance = 1.5e-6;

class ArithmeticTest : public testing::TestWithParam<Method> {
 protected:
  static std::unique_ptr<ops::Arithmetic> On(ops::Session& session) {
    const bool reference = session.backend() == "reference";
    auto operation = (*AllMethods().arithmetic.Find(reference ? "reference" : GetParam().backend,
                                                    reference ? "" : GetParam().name))(session);
    EXPECT_TRUE(operation.ok()) << operation.status();
    return *std::move(operation);
  }

  using Call = std::function<absl::Status(ops::Arithmetic&, const ops::Vector& w,
                                          const ops::Vector& x, ops::Vector& y)>;
  // What is in y after the call, where w, x and y held these.
  static Array After(const std::string& backend, Kind kind, const Call& call, const Array& w,
                     const Array& x, const Array& y) {
    const auto session = OpenSession(backend);
    const Buffer in_w(*session, kind, w), in_x(*session, kind, x), in_y(*session, kind, y);
    const absl::Status status = call(*On(*session), *in_w, *in_x, *in_y);
    EXPECT_TRUE(status.ok()) << status;
    return in_y.array();
  }
  static void ExpectAgreement(const Call& call, double tolerance = kTolerance) {
    for (const Kind kind : kKinds) {
      for (const Shape3 shape : kShapes) {
        SCOPED_TRACE(testing::Message()
                     << "kind " << static_cast<int>(kind) << ", " << shape.count() << " values");
        const Array w = Noise(shape, 71), x = Noise(shape, 72), y = Noise(shape, 73);
        EXPECT_LT(Compare(After(GetParam().backend, kind, call, w, x, y),
                          After("reference", kind, call, w, x, y))
                      .largest,
                  tolerance);
      }
    }
  }
};

TEST(ArithmeticMethods, AreUnderTest) {
  EXPECT_FALSE(MethodsUnderTest(AllMethods().arithmetic).empty());
}

TEST_P(ArithmeticTest, Fill) {
  ExpectAgreement([](auto& a, auto&, auto&, auto& y) { return a.Fill(-0.7, y); });
}
TEST_P(ArithmeticTest, Copy) {
  ExpectAgreement([](auto& a, auto&, auto& x, auto& y) { return a.Copy(x, y); });
}
TEST_P(ArithmeticTest, Axpby) {
  ExpectAgreement([](auto& a, auto&, auto& x, auto& y) { return a.Axpby(0.3, x, -1.7, y); });
  ExpectAgreement([](auto& a, auto&, auto& x, auto& y) { return a.Axpby(1, x, 1, y); });
  ExpectAgreement([](auto& a, auto&, auto& x, auto& y) { return a.Axpby(0, x, 0.5, y); });
  ExpectAgreement([](auto& a, auto&, auto& x, auto& y) { return a.Axpby(2.5, x, 0, y); });
}
TEST_P(ArithmeticTest, AxpbyOfOneVector) {
  ExpectAgreement([](auto& a, auto&, auto&, auto& y) { return a.Axpby(0.3, y, 0.4, y); });
}
TEST_P(ArithmeticTest, Multiply) {
  ExpectAgreement([](auto& a, auto&, auto& x, auto& y) { return a.Multiply(x, y); });
}
TEST_P(ArithmeticTest, MultiplyAdd) {
  ExpectAgreement([](auto& a, auto& w, auto& x, auto& y) { return a.MultiplyAdd(-3.1, w, x, y); });
}
TEST_P(ArithmeticTest, MultiplyAddAbove) {
  ExpectAgreement(
      [](auto& a, auto& w, auto& x, auto& y) { return a.MultiplyAddAbove(-0.1, -3.1, w, x, y); });
}
TEST_P(ArithmeticTest, Exponential) {
  ExpectAgreement([](auto& a, auto&, auto&, auto& y) { return a.Exponential(-2.3, y); },
                  kExponentialTolerance);
}
TEST_P(ArithmeticTest, ClampBelow) {
  ExpectAgreement([](auto& a, auto&, auto&, auto& y) { return a.ClampBelow(-0.1, y); });
}
TEST_P(ArithmeticTest, Bend) {
  ExpectAgreement(
      [](auto& a, auto&, auto&, auto& y) { return a.Bend({.offset = 0.3f, .slope = -1.7f}, y); });
  ExpectAgreement([](auto& a, auto&, auto&, auto& y) {
    return a.Bend({.offset = 0.3f, .slope = 1, .count = 2, .at = {-0.2f, 0.1f}, .turn = {-2, 5}},
                  y);
  });
}

TEST_P(ArithmeticTest, InvertLeavesZeroUpToTheThreshold) {
  for (const Kind kind : kKinds) {
    const auto session = OpenSession(GetParam().backend);
    Array y({1, 1, 8});
    y.values = {4, 0.5, 0.25, 0.125, 0, -0.5, -4, std::numeric_limits<float>::quiet_NaN()};
    const Buffer buffer(*session, kind, y);
    ASSERT_TRUE(On(*session)->Invert(0.25, *buffer).ok());
    const std::vector<float> expected = {0.25, 2, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(buffer.array().values, expected);
    const Buffer again(*session, kind, y);
    ASSERT_TRUE(On(*session)->Invert(0, *again).ok());
    EXPECT_EQ(again.array().values, (std::vector<float>{0.25, 2, 4, 8, 0, 0, 0, 0}));
  }
}

TEST_P(ArithmeticTest, WhatIsOverwrittenDoesNotMatter) {
  const auto session = OpenSession(GetParam().backend);
  const Array x = Noise({2, 5, 19}, 74);
  Array rubbish(x.shape);
  std::fill(rubbish.values.begin(), rubbish.values.end(), std::numeric_limits<float>::quiet_NaN());
  for (const Kind kind : kKinds) {
    const Buffer from(*session, kind, x), to(*session, kind, rubbish);
    ASSERT_TRUE(On(*session)->Axpby(1, *from, 0, *to).ok());
    EXPECT_EQ(to.array().values, x.values);
  }
}

TEST_P(ArithmeticTest, CopyChangesTheUseOfAStack) {
  const auto session = OpenSession(GetParam().backend);
  const Array x = Noise({3, 19, 45}, 75);
  const Buffer lines(*session, Kind::kLineIntegrals, x),
      projections(*session, Kind::kProjections, x.shape);
  ASSERT_TRUE(On(*session)->Copy(*lines, *projections).ok());
  EXPECT_EQ(projections.array().values, x.values);
  const Buffer back(*session, Kind::kLineIntegrals, x.shape);
  ASSERT_TRUE(On(*session)->Copy(*projections, *back).ok());
  EXPECT_EQ(back.array().values, x.values);
}

// Stacks and volumes that use the memory of a larger shape.
TEST_P(ArithmeticTest, WorksOnPartsOfTheMemory) {
  const auto session = OpenSession(GetParam().backend);
  const auto arithmetic = On(*session);
  const Array x = Noise({2, 9, 23}, 76), y = Noise({2, 9, 23}, 77);
  for (const Kind kind : kKinds) {
    const Buffer large(*session, kind, Noise({4, 20, 37}, 78)), small(*session, kind, x);
    if (kind == Kind::kVolume) {
      ASSERT_TRUE(large.volume->Regrid(small.volume->grid()).ok());
      ASSERT_TRUE(large.volume->Upload(0, y.view()).ok());
    } else {
      ASSERT_TRUE(large.stack->Reshape(x.shape).ok());
      ASSERT_TRUE(large.stack->Upload(0, y.view()).ok());
    }
    const absl::StatusOr<double> dot = arithmetic->Dot(*small, *large);
    ASSERT_TRUE(dot.ok()) << dot.status();
    double expected = 0;
    for (size_t i = 0; i < x.values.size(); ++i) {
      expected += double{x.values[i]} * double{y.values[i]};
    }
    EXPECT_NEAR(*dot, expected, 1e-9);
    ASSERT_TRUE(arithmetic->Axpby(1, *small, 0, *large).ok());
    EXPECT_EQ(large.array().values, x.values);
  }
}

// A backend may keep more than the numbers that are asked for: rows and columns of padding, which
// other operations take to be 0. exp(0) is 1 there, too.
TEST_P(ArithmeticTest, PaddingStaysOutOfIt) {
  const auto session = OpenSession(GetParam().backend);
  const auto arithmetic = On(*session);
  const Shape3 shape{3, 13, 19};
  Array ones(shape);
  std::fill(ones.values.begin(), ones.values.end(), 1.0f);
  for (const Kind kind : kKinds) {
    for (const bool filled : {true, false}) {
      const Buffer y(*session, kind, shape);
      ASSERT_TRUE((filled ? arithmetic->Fill(1, *y) : arithmetic->Exponential(1, *y)).ok());
      EXPECT_EQ(y.array().values, ones.values);
      EXPECT_EQ(*arithmetic->Dot(*y, *y), static_cast<double>(shape.count()));
    }
  }
  // What a projector makes of numbers that were computed and of the same numbers that were
  // uploaded.
  const auto& joseph = AllMethods().projectors.at(ops::ProjectorModel::kJoseph);
  const auto forward = joseph.forward.Find(GetParam().backend);
  const auto back = joseph.back.Find(GetParam().backend);
  if (!forward.ok() || !back.ok()) GTEST_SKIP() << "no projector to read what was computed";
  const std::vector<ProjectionMatrix> matrices = CArmMatrices(3, shape, 1, 1, 0);
  const auto seen = [&](const Buffer& voxels) {
    const Buffer out(*session, Kind::kProjections, shape);
    EXPECT_TRUE((*(*forward)(*session))->Run(matrices, *voxels.volume, *out.stack).ok());
    return out.array().values;
  };
  const auto spread = [&](const Buffer& pixels) {
    const Buffer out(*session, Kind::kVolume, shape);
    EXPECT_TRUE((*(*back)(*session))->Run(matrices, *pixels.stack, *out.volume).ok());
    return out.array().values;
  };
  const Buffer voxels(*session, Kind::kVolume, shape), pixels(*session, Kind::kProjections, shape);
  ASSERT_TRUE(arithmetic->Exponential(1, *voxels).ok());
  ASSERT_TRUE(arithmetic->Exponential(1, *pixels).ok());
  EXPECT_EQ(seen(voxels), seen(Buffer(*session, Kind::kVolume, ones)));
  EXPECT_EQ(spread(pixels), spread(Buffer(*session, Kind::kProjections, ones)));
}

// Products of two float32 numbers are exact in float64, and 10^5 sums round by 1e-16 each. Values
// of one sign and of very different size show a sum in float32.
TEST_P(ArithmeticTest, DotAgreesWithReferenceAndIsReproducible) {
  for (const Kind kind : kKinds) {
    for (const Shape3 shape : {Shape3{1, 1, 1}, Shape3{3, 5, 7}, Shape3{9, 63, 171}}) {
      Array x = Noise(shape, 79), y = Noise(shape, 80);
      for (size_t i = 0; i < x.values.size(); ++i) {
        x.values[i] = std::abs(x.values[i]) * (i % 97 == 0 ? 1000.0f : 1.0f);
        y.values[i] = std::abs(y.values[i]);
      }
      const auto dot = [&](const std::string& backend, int threads) {
        const auto session = OpenSession(backend, threads);
        const Buffer in_x(*session, kind, x), in_y(*session, kind, y);
        const absl::StatusOr<double> sum = On(*session)->Dot(*in_x, *in_y);
        EXPECT_TRUE(sum.ok()) << sum.status();
        return sum.value_or(0);
      };
      const double one = dot(GetParam().backend, 1), expected = dot("reference", 1);
      EXPECT_NEAR(one, expected, 1e-12 * expected);
      EXPECT_EQ(dot(GetParam().backend, 2), one);
      EXPECT_EQ(dot(GetParam().backend, 3), one);
    }
  }
}

TEST_P(ArithmeticTest, DotOfRows) {
  const auto session = OpenSession(GetParam().backend), reference = OpenSession("reference");
  const Array x = Noise({3, 29, 35}, 81), y = Noise({3, 29, 35}, 82);
  for (const Kind kind : {Kind::kProjections, Kind::kLineIntegrals}) {
    const Buffer in_x(*session, kind, x), in_y(*session, kind, y);
    const Buffer expected_x(*reference, kind, x), expected_y(*reference, kind, y);
    for (const RowRange rows :
         {RowRange{0, 29}, RowRange{0, 1}, RowRange{28, 1}, RowRange{7, 13}, RowRange{5, 0}}) {
      const auto got = On(*session)->Dot(*in_x.stack, *in_y.stack, rows);
      const auto expected = On(*reference)->Dot(*expected_x.stack, *expected_y.stack, rows);
      ASSERT_TRUE(got.ok() && expected.ok()) << got.status() << expected.status();
      EXPECT_NEAR(*got, *expected, 1e-10);
    }
    for (const RowRange rows : {RowRange{-1, 3}, RowRange{27, 3}}) {
      EXPECT_EQ(On(*session)->Dot(*in_x.stack, *in_y.stack, rows).status().code(),
                absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST_P(ArithmeticTest, AddRowsBetweenSessions) {
  const auto session = OpenSession(GetParam().backend);
  const auto other = *session->device().NewSession();
  const Array x = Noise({3, 12, 35}, 83), y = Noise({3, 29, 35}, 84);
  const Buffer from(*other, Kind::kProjections, x), to(*session, Kind::kProjections, y);
  ASSERT_TRUE(On(*session)->AddRows(*from.stack, {2, 7}, 20, *to.stack).ok());
  // What `from` held at the time of the call counts.
  ASSERT_TRUE(On(*other)->Fill(0, *from).ok());
  Array expected = y;
  for (int64_t view = 0; view < 3; ++view) {
    for (int64_t r = 0; r < 7; ++r) {
      for (int64_t u = 0; u < 35; ++u) {
        expected.view()(view, 20 + r, u) += x.view()(view, 2 + r, u);
      }
    }
  }
  EXPECT_EQ(to.array().values, expected.values);
}

TEST_P(ArithmeticTest, CopySlicesBetweenSessions) {
  const auto session = OpenSession(GetParam().backend);
  const auto other = *session->device().NewSession();
  const Array x = Noise({4, 12, 35}, 85), y = Noise({6, 12, 35}, 86);
  const Buffer from(*other, Kind::kVolume, x), to(*session, Kind::kVolume, y);
  ASSERT_TRUE(On(*session)->CopySlices(*from.volume, 1, 3, *to.volume, 2).ok());
  ASSERT_TRUE(On(*other)->Fill(0, *from).ok());
  Array expected = y;
  std::copy_n(x.view().row(1, 0), 3 * 12 * 35, expected.view().row(2, 0));
  EXPECT_EQ(to.array().values, expected.values);
}

// Another device of the backend, where the machine has one.
TEST_P(ArithmeticTest, AddRowsAndCopySlicesBetweenDevices) {
  const auto session = OpenSession(GetParam().backend);
  const auto opened =
      isocenter::OpenSession(AllMethods(), GetParam().backend, {.threads = 1, .ordinal = 1});
  if (!opened.ok()) GTEST_SKIP() << opened.status();
  ops::Session& other = **opened;
  const Array x = Noise({5, 120, 350}, 87), y = Noise({5, 290, 350}, 88);
  const Buffer from(other, Kind::kProjections, x), to(*session, Kind::kProjections, y);
  const Array slices = Noise({6, 170, 190}, 89), other_slices = Noise({4, 170, 190}, 90);
  const Buffer source(other, Kind::kVolume, slices), target(*session, Kind::kVolume, other_slices);
  ASSERT_TRUE(On(*session)->AddRows(*from.stack, {20, 70}, 200, *to.stack).ok());
  ASSERT_TRUE(On(*session)->CopySlices(*source.volume, 5, 1, *target.volume, 2).ok());
  // What they held at the time of the call counts.
  ASSERT_TRUE(On(other)->Fill(0, *from).ok());
  ASSERT_TRUE(On(other)->Fill(0, *source).ok());
  Array expected = y;
  for (int64_t view = 0; view < 5; ++view) {
    for (int64_t i = 0; i < 70 * 350; ++i) {
      expected.view().row(view, 200)[i] += x.view().row(view, 20)[i];
    }
  }
  EXPECT_EQ(to.array().values, expected.values);
  Array copied = other_slices;
  std::copy_n(slices.view().row(5, 0), 170 * 190, copied.view().row(2, 0));
  EXPECT_EQ(target.array().values, copied.values);
}

TEST_P(ArithmeticTest, RefusesWrongArguments) {
  const auto session = OpenSession(GetParam().backend), reference = OpenSession("reference");
  const auto a = On(*session);
  const Shape3 shape{3, 5, 7};
  const Buffer volume(*session, Kind::kVolume, shape), stack(*session, Kind::kProjections, shape),
      lines(*session, Kind::kLineIntegrals, shape), large(*session, Kind::kVolume, Shape3{4, 5, 7}),
      narrow(*session, Kind::kProjections, Shape3{3, 5, 6}),
      flat(*session, Kind::kVolume, Shape3{3, 4, 7}), foreign(*reference, Kind::kVolume, shape),
      foreign_stack(*reference, Kind::kProjections, shape);
  for (const absl::Status& status : {a->Fill(1, *foreign),
                                     a->Copy(*foreign, *volume),
                                     a->Copy(*volume, *large),
                                     a->Copy(*volume, *stack),
                                     a->Axpby(1, *volume, 1, *stack),
                                     a->Axpby(1, *lines, 1, *stack),
                                     a->Axpby(1, *narrow, 1, *stack),
                                     a->Axpby(1, *foreign, 1, *volume),
                                     a->Multiply(*volume, *large),
                                     a->Multiply(*foreign_stack, *stack),
                                     a->MultiplyAdd(1, *large, *volume, *volume),
                                     a->MultiplyAdd(1, *volume, *large, *volume),
                                     a->MultiplyAdd(1, *volume, *foreign, *volume),
                                     a->MultiplyAddAbove(0, 1, *large, *volume, *volume),
                                     a->MultiplyAddAbove(0, 1, *volume, *foreign, *volume),
                                     a->Invert(-1, *volume),
                                     a->Invert(0, *foreign),
                                     a->Exponential(1, *foreign),
                                     a->ClampBelow(0, *foreign),
                                     a->Dot(*volume, *large).status(),
                                     a->Dot(*stack, *lines).status(),
                                     a->Dot(*foreign, *volume).status(),
                                     a->Dot(*narrow.stack, *stack.stack, RowRange{0, 2}).status(),
                                     a->AddRows(*lines.stack, {0, 2}, 0, *stack.stack),
                                     a->AddRows(*narrow.stack, {0, 2}, 0, *stack.stack),
                                     a->AddRows(*foreign_stack.stack, {0, 2}, 0, *stack.stack),
                                     a->AddRows(*stack.stack, {4, 2}, 0, *stack.stack),
                                     a->AddRows(*stack.stack, {0, 2}, 4, *stack.stack),
                                     a->Bend({}, *foreign),
                                     a->CopySlices(*volume.volume, 2, 2, *large.volume, 0),
                                     a->CopySlices(*volume.volume, 0, 2, *large.volume, 3),
                                     a->CopySlices(*volume.volume, -1, 1, *large.volume, 0),
                                     a->CopySlices(*flat.volume, 0, 1, *large.volume, 0),
                                     a->CopySlices(*foreign.volume, 0, 1, *large.volume, 0)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, ArithmeticTest,
                         testing::ValuesIn(MethodsUnderTest(AllMethods().arithmetic)),
                         [](const auto& info) { return MethodName(info.param); });

}  // namespace
}  // namespace isocenter::conformance
