#include "client/formats/scatter_file.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/formats/file.h"
#include "isocenter/v1/physics.pb.h"
#include "kernels/base/crc32c.h"
#include "kernels/base/regular_file.h"
#include "kernels/base/status_macros.h"

namespace isocenter::formats {
namespace {

constexpr uint64_t kMostBytes = 40 << 20;  // kMostScatterReadings take 32 MiB

using Numbers = google::protobuf::RepeatedField<float>;

uint32_t Checksum(const Numbers& signal, const Numbers& variance) {
  const auto bytes = [](const Numbers& numbers) {
    return std::as_bytes(std::span(numbers.data(), static_cast<size_t>(numbers.size())));
  };
  return ExtendCrc32c(Crc32c(bytes(signal)), bytes(variance));
}

int Saturated(uint64_t value) {
  return static_cast<int>(std::min<uint64_t>(value, std::numeric_limits<int>::max()));
}

absl::Status CheckNumbers(absl::string_view name, const Numbers& numbers, int64_t count) {
  if (numbers.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("the file has ", numbers.size(), " numbers of ",
                                                   name, "; its sizes say ", count));
  }
  for (int i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= 0 && std::isfinite(numbers[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " ", i, " is ", numbers[i], "; legal is a finite number from 0"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoredScatter> ParseScatter(absl::string_view bytes) {
  v1::StoredScatter file;
  if (bytes.size() > kMostBytes ||
      !file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("this is no stored scatter");
  }
  physics::ScatterSettings settings;
  settings.photons_per_view = static_cast<int64_t>(
      std::min<uint64_t>(file.photons_per_view(), std::numeric_limits<int64_t>::max()));
  settings.views = Saturated(file.views());
  settings.columns = Saturated(file.columns());
  settings.rows = Saturated(file.rows());
  ISO_RETURN_IF_ERROR(physics::ValidateScatterSettings(settings));
  const int64_t count = int64_t{settings.views} * settings.columns * settings.rows;
  ISO_RETURN_IF_ERROR(CheckNumbers("signal", file.signal(), count));
  ISO_RETURN_IF_ERROR(CheckNumbers("variance", file.variance(), count));
  if (!(file.relative_error() >= 0 && std::isfinite(file.relative_error()))) {
    return absl::InvalidArgumentError(absl::StrCat("relative_error is ", file.relative_error(),
                                                   "; legal is a finite number from 0"));
  }
  if (Checksum(file.signal(), file.variance()) != file.readings_crc32c()) {
    return absl::DataLossError("the numbers are damaged: their checksum is another");
  }
  StoredScatter scatter{.key = {file.object_crc32c(), file.beam_crc32c(), file.geometry_crc32c()},
                        .photons_per_view = settings.photons_per_view,
                        .relative_error = file.relative_error(),
                        .views = {settings.views, settings.columns, settings.rows, {}}};
  scatter.views.readings.reserve(count);
  for (int i = 0; i < count; ++i) {
    scatter.views.readings.push_back({file.signal(i), file.variance(i)});
  }
  return scatter;
}

absl::StatusOr<StoredScatter> ReadScatter(const std::string& path) {
  ISO_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile("scatter.file", path, kMostBytes));
  absl::StatusOr<StoredScatter> scatter = ParseScatter(bytes);
  if (scatter.ok()) return scatter;
  return absl::Status(scatter.status().code(),
                      absl::StrCat(path, ": ", scatter.status().message()));
}

absl::Status WriteScatter(const std::string& path, const StoredScatter& scatter) {
  v1::StoredScatter file;
  file.set_object_crc32c(scatter.key.object);
  file.set_beam_crc32c(scatter.key.beam);
  file.set_geometry_crc32c(scatter.key.geometry);
  file.set_photons_per_view(static_cast<uint64_t>(scatter.photons_per_view));
  file.set_views(static_cast<uint32_t>(scatter.views.views));
  file.set_columns(static_cast<uint32_t>(scatter.views.columns));
  file.set_rows(static_cast<uint32_t>(scatter.views.rows));
  file.set_relative_error(scatter.relative_error);
  for (const physics::Reading& reading : scatter.views.readings) {
    file.add_signal(static_cast<float>(reading.signal));
    file.add_variance(static_cast<float>(reading.variance));
  }
  file.set_readings_crc32c(Checksum(file.signal(), file.variance()));
  ISO_ASSIGN_OR_RETURN(OutputFile out, OutputFile::Create(path));
  const std::string bytes = file.SerializeAsString();
  ISO_RETURN_IF_ERROR(out.Write(std::as_bytes(std::span(bytes))));
  return out.Commit();
}

}  // namespace isocenter::formats
