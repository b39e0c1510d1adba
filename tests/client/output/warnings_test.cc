// Warnings that differ in their numbers only are one, with how many there were.
#include "client/cli/output/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/output/warning_printer.h"

namespace isocenter::cli {
namespace {

v1::JobWarning Saturated(int frame, double percent) {
  v1::JobWarning warning;
  warning.set_kind(v1::WARNING_KIND_SATURATED_DETECTOR);
  warning.set_frame_index(frame);
  warning.set_text(
      absl::StrCat(percent, " % of the detector's pixels are saturated at 65535 counts"));
  return warning;
}

TEST(Warnings, OfAJobAreTheFirstAndHowManyMore) {
  testing::internal::CaptureStderr();
  {
    WarningPrinter printer;
    for (int frame = 10; frame < 80; frame += 10) printer.Print(Saturated(frame, 5 + 0.1 * frame));
    printer.Print(Saturated(10, 6));  // as a watcher is told again and again
    printer.Print(Saturated(20, 7).text());
    printer.Print("the stream was ended");
  }
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "isocenter: warning: 6 % of the detector's pixels are saturated at 65535 counts (frame 10)\n"
      "isocenter: warning: the stream was ended\n"
      "isocenter: warning: 6 more, at frames 20, 30, 40, 50, 60, .., like: 6 % of the detector's "
      "pixels are saturated at 65535 counts (frame 10)\n");
}

TEST(Warnings, ThatSayTheirFrameAreNotToldItTwice) {
  v1::JobWarning warning;
  warning.set_frame_index(20);
  warning.set_text("frame 20 is missing");
  testing::internal::CaptureStderr();
  WarningPrinter().Print(warning);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "isocenter: warning: frame 20 is missing\n");
}

TEST(Warnings, OfACommandWithoutAJobAreTheFirstTwoAndHowManyMore) {
  const std::vector<std::string> warnings{"gate 0 has 3 frames", "no air", "gate 1 has 4 frames",
                                          "gate 2 has 2.5 frames", "gate 3 has 1 frames"};
  testing::internal::CaptureStderr();
  PrintWarnings(warnings);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: gate 0 has 3 frames\nwarning: no air\nwarning: gate 1 has 4 frames\n"
            "warning: 2 more like: gate 0 has 3 frames\n");
}

TEST(Warnings, OfTwoPartsOfACommandAreToldOnce) {
  const std::vector<std::string> by_the_header{"the arc is short"},
      by_the_frames{"the arc is short", "the lamp is dim"};
  testing::internal::CaptureStderr();
  PrintWarnings(by_the_header);
  PrintWarnings(by_the_frames);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "warning: the arc is short\nwarning: the lamp is dim\n");
}

}  // namespace
}  // namespace isocenter::cli
