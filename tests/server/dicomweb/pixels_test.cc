// Lists of frames, windows, and how many long answers there may be.
#include <filesystem>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/dicomweb/file_answer.h"
#include "server/dicomweb/frame_list.h"
#include "server/dicomweb/window.h"

namespace isocenter::dicomweb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FrameListTest, NumbersFromOne) {
  EXPECT_THAT(*ParseFrames("1", 1), ElementsAre(1));
  EXPECT_THAT(*ParseFrames("3,1,2", 3), ElementsAre(3, 1, 2));
  for (const char* text : {"", ",", "1,", "x", "-1", "+1", "1.0", " 1", "1,1", "2,3,2"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseFrames(text, 3).status())) << text;
  }
  for (const char* text : {"0", "4", "1,4", "4294967297", "99999999999999999999"}) {
    const auto frames = ParseFrames(text, 3);
    EXPECT_TRUE(absl::IsNotFound(frames.status())) << text;
    EXPECT_THAT(frames.status().message(), HasSubstr("legal are 1 to 3"));
  }
}

TEST(WindowTest, WhatIsLegal) {
  const auto window = ParseWindow("40,400,linear");
  ASSERT_TRUE(window.ok()) << window.status();
  EXPECT_EQ(window->center, 40);
  EXPECT_EQ(window->width, 400);
  EXPECT_TRUE(ParseWindow("-1.5e2,0.5,linear-exact").ok());
  EXPECT_TRUE(ParseWindow("0,0.5,sigmoid").ok());
  for (const char* text :
       {"", "40,400", "40,400,log", "40,0.5,linear", "40,0,sigmoid", "40,-1,linear", "nan,1,linear",
        "40,inf,linear", "1e7,1,linear", "40,400,linear,1", "a,b,linear"}) {
    const auto refused = ParseWindow(text);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << text;
    EXPECT_THAT(refused.status().message(), HasSubstr("sigmoid"));
  }
}

TEST(WindowTest, ShadesAreThoseOfTheStandard) {
  // C.11.2.1.2.1: center 2048, width 4096 leaves 12 bits as they are.
  const Window linear{.center = 2048, .width = 4096};
  EXPECT_EQ(ShadeOf(linear, -1), 0);
  EXPECT_EQ(ShadeOf(linear, 0), 0);
  EXPECT_EQ(ShadeOf(linear, 4095), 255);
  EXPECT_EQ(ShadeOf(linear, 5000), 255);
  EXPECT_EQ(ShadeOf(linear, 2047.5), 128);
  const Window step{.center = 2048, .width = 1};
  EXPECT_EQ(ShadeOf(step, 2047), 0);
  EXPECT_EQ(ShadeOf(step, 2048), 255);
  const Window exact{.center = 0, .width = 100, .function = WindowFunction::kLinearExact};
  EXPECT_EQ(ShadeOf(exact, -50), 0);
  EXPECT_EQ(ShadeOf(exact, 50), 255);
  EXPECT_EQ(ShadeOf(exact, 0), 128);
  const Window sigmoid{.center = 0, .width = 100, .function = WindowFunction::kSigmoid};
  EXPECT_EQ(ShadeOf(sigmoid, 0), 128);
  EXPECT_EQ(ShadeOf(sigmoid, 50), 225);  // 255 / (1 + exp(-2)) = 224.6
  EXPECT_EQ(ShadeOf(sigmoid, -1e6), 0);
}

TEST(FileAnswersTest, LongOnesAreBoundedAndGiveTheirPlaceBack) {
  FileAnswers answers;
  const Form form{.type = "application/octet-stream"};
  const std::vector<FilePart> is_long = {
      {.file = "/nowhere", .bytes = FileAnswers::kLongBytes + 1}};
  const std::vector<FilePart> is_short = {{.file = "/nowhere", .bytes = FileAnswers::kLongBytes}};
  std::vector<http::Response> held;
  for (int i = 0; i < FileAnswers::kMostLong; ++i) {
    auto answer = answers.Make(form, is_long);
    ASSERT_TRUE(answer.ok()) << answer.status();
    held.push_back(*std::move(answer));
  }
  EXPECT_TRUE(absl::IsUnavailable(answers.Make(form, is_long).status()));
  EXPECT_TRUE(answers.Make(form, is_short).ok());
  held.pop_back();
  EXPECT_TRUE(answers.Make(form, is_long).ok());
}

}  // namespace
}  // namespace isocenter::dicomweb
