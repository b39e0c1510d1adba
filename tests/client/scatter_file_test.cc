#include "client/formats/scatter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "isocenter/v1/physics.pb.h"
#include "kernels/base/crc32c.h"
#include "tests/client/test_files.h"

namespace isocenter::client_test {
namespace {

using testing::HasSubstr;

formats::StoredScatter Small() {
  formats::StoredScatter scatter{.key = {1, 2, 3},
                                 .photons_per_view = 5000,
                                 .relative_error = 0.1,
                                 .views = {.views = 2, .columns = 3, .rows = 2, .readings = {}}};
  for (int i = 0; i < 12; ++i) scatter.views.readings.push_back({0.5 * i, 0.25 * i});
  return scatter;
}

v1::StoredScatter SmallMessage(const std::filesystem::path& directory) {
  EXPECT_TRUE(formats::WriteScatter(directory / "s", Small()).ok());
  v1::StoredScatter message;
  EXPECT_TRUE(message.ParseFromString(ReadBytes(directory / "s")));
  return message;
}

TEST(ScatterFile, IsReadAsItWasWritten) {
  TemporaryDirectory directory;
  ASSERT_TRUE(formats::WriteScatter(directory / "s", Small()).ok());
  const auto read = formats::ReadScatter(directory / "s");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->key, Small().key);
  EXPECT_EQ(read->photons_per_view, 5000);
  EXPECT_EQ(read->relative_error, 0.1);
  EXPECT_EQ(read->views.views, 2);
  EXPECT_EQ(read->views.columns, 3);
  EXPECT_EQ(read->views.rows, 2);
  ASSERT_EQ(read->views.readings.size(), 12u);
  EXPECT_EQ(read->views.readings[11].signal, 5.5);
  EXPECT_EQ(read->views.readings[11].variance, 2.75);
}

TEST(ScatterFile, RefusesWhatItDoesNotBelieve) {
  TemporaryDirectory directory;
  const v1::StoredScatter good = SmallMessage(directory.path());
  const auto error = [](const v1::StoredScatter& message) {
    return std::string(formats::ParseScatter(message.SerializeAsString()).status().message());
  };
  EXPECT_EQ(error(good), "");
  v1::StoredScatter bad = good;
  bad.set_views(4294967295u);
  EXPECT_THAT(error(bad), HasSubstr("scatter.views is 2147483647; legal is 1 to 360"));
  bad = good;
  bad.set_views(360);
  bad.set_columns(256);
  bad.set_rows(256);
  EXPECT_THAT(error(bad), HasSubstr("legal is 1 to 4194304"));
  bad = good;
  bad.set_columns(4);
  EXPECT_THAT(error(bad), HasSubstr("the file has 12 numbers of signal; its sizes say 16"));
  bad = good;
  bad.add_variance(1);
  EXPECT_THAT(error(bad), HasSubstr("13 numbers of variance"));
  bad = good;
  bad.set_signal(3, NAN);
  EXPECT_THAT(error(bad), HasSubstr("signal 3 is nan"));
  bad = good;
  bad.set_variance(4, -1);
  EXPECT_THAT(error(bad), HasSubstr("variance 4 is -1"));
  bad = good;
  bad.set_relative_error(INFINITY);
  EXPECT_THAT(error(bad), HasSubstr("relative_error is inf"));
  bad = good;
  bad.set_signal(3, 7);
  EXPECT_THAT(error(bad), HasSubstr("checksum"));
  bad = good;
  bad.set_photons_per_view(0);
  EXPECT_THAT(error(bad), HasSubstr("photons_per_view is 0"));
}

TEST(ScatterFile, RefusesWhatIsNone) {
  TemporaryDirectory directory;
  EXPECT_THAT(formats::ParseScatter("\xff\xff").status().message(), HasSubstr("no stored scatter"));
  EXPECT_THAT(formats::ParseScatter("").status().message(), HasSubstr("photons_per_view is 0"));
  EXPECT_EQ(formats::ReadScatter(directory / "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(formats::ReadScatter(directory.path()).status().message(), HasSubstr("directory"));
}

}  // namespace
}  // namespace isocenter::client_test
