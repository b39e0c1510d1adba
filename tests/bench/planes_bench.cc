// isocenter-planes-bench: how long the operator page waits for a plane of a large volume, and what
// it costs in memory.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/http/transport/answers.h"
#include "server/viewer/brick_file.h"
#include "server/viewer/raw_volume.h"

namespace isocenter::bench {
namespace {

using viewer::Axis;

/// A head's values: noise of 20 HU in a cylinder of water, air around it.
bool WriteVolume(const std::filesystem::path& path, int n) {
  std::ofstream file(path, std::ios::binary);
  std::minstd_rand random(1);
  std::normal_distribution<float> noise(40, 20);
  std::vector<float> table(size_t{1} << 16), slice(size_t{1} * n * n);
  for (float& value : table) value = noise(random);
  for (int z = 0; z < n; ++z) {
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        const int64_t dx = 2 * x - n, dy = 2 * y - n;
        const bool inside = dx * dx + dy * dy < int64_t{n} * n * 4 / 5;
        slice[size_t{1} * y * n + x] = inside ? table[random() % table.size()] : -1000.0f;
      }
    }
    file.write(reinterpret_cast<const char*>(slice.data()),
               static_cast<std::streamsize>(slice.size() * sizeof(float)));
  }
  return file.good();
}

/// What the disk has to be asked for again. Pages that are dirty would stay.
void Forget(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  fdatasync(file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

double Milliseconds(absl::Time begin) { return absl::ToDoubleMilliseconds(absl::Now() - begin); }

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Files {
  std::filesystem::path raw, bricks;
};

int Measure(const Files& files, int n, int planes) {
  const absl::Time writing = absl::Now();
  if (!WriteVolume(files.raw, n)) {
    std::fprintf(stderr, "cannot write %s\n", files.raw.c_str());
    return 1;
  }
  std::printf("%d^3 voxels; writing the volume took %.1f s\n", n, Milliseconds(writing) / 1000);
  const auto raw = viewer::RawVolume::Open(files.raw, {n, n, n});
  const absl::Time begin = absl::Now();
  const auto bricks = viewer::BrickFile::Build(*raw, files.bricks, [] { return true; });
  if (!bricks.ok()) {
    std::fprintf(stderr, "%s\n", bricks.status().ToString().c_str());
    return 1;
  }
  std::printf("prepared in %.1f s, %.2f bytes per voxel, peak %.0f MiB\n",
              Milliseconds(begin) / 1000,
              static_cast<double>(std::filesystem::file_size(files.bricks)) / (1.0 * n * n * n),
              PeakMebibytes());
  std::printf("%-9s %5s %9s %9s %9s %9s %9s\n", "axis", "level", "voxels", "cold ms", "warm ms",
              "gzip ms", "gzip KiB");
  const std::pair<const char*, Axis> axes[] = {
      {"axial", Axis::kAxial}, {"coronal", Axis::kCoronal}, {"sagittal", Axis::kSagittal}};
  for (const auto& [name, axis] : axes) {
    for (int level = 0; level < static_cast<int>(bricks->levels().size()); ++level) {
      const int extent = bricks->levels()[level].nx;
      // As the web interface chooses.
      const auto read = [&](int index) {
        return level == 0 && axis != Axis::kSagittal ? raw->ReadPlane(axis, index)
                                                     : bricks->ReadPlane(level, axis, index);
      };
      std::vector<double> cold, warm, packing;
      double packed_bytes = 0;
      for (int i = 0; i < planes; ++i) {
        const int index = static_cast<int>((int64_t{2} * i + 1) * extent / (2 * planes));
        Forget(files.raw);
        Forget(files.bricks);
        for (std::vector<double>* times : {&cold, &warm}) {
          const absl::Time asked = absl::Now();
          const auto plane = read(index);
          times->push_back(Milliseconds(asked));
          if (!plane.ok()) return 1;
          if (times == &cold) continue;
          http::Response response;
          response.body.assign(reinterpret_cast<const char*>(plane->hounsfield.data()),
                               plane->hounsfield.size() * sizeof(int16_t));
          const absl::Time packs = absl::Now();
          http::Compress(response);
          packing.push_back(Milliseconds(packs));
          packed_bytes = static_cast<double>(response.body.size());
        }
      }
      const auto median = [](std::vector<double> values) {
        std::ranges::nth_element(values, values.begin() + values.size() / 2);
        return values[values.size() / 2];
      };
      std::printf("%-9s %5d %4dx%-4d %9.2f %9.2f %9.2f %9.0f\n", name, level, extent, extent,
                  median(cold), median(warm), median(packing), packed_bytes / 1024);
    }
  }
  std::printf("peak %.0f MiB\n", PeakMebibytes());
  return 0;
}

}  // namespace
}  // namespace isocenter::bench

int main(int argc, char** argv) {
  CLI::App app("Measures how long planes of a stored volume take.", "isocenter-planes-bench");
  int size = 1024, planes = 9;
  std::string directory = ".";
  app.add_option("--size", size, "Voxels per axis")
      ->check(CLI::Range(64, 2048))
      ->capture_default_str();
  app.add_option("--planes", planes, "Planes of each axis and level")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--directory", directory,
                 "Where two files of up to 7 bytes per voxel are written, and removed")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const std::filesystem::path folder(directory);
  const isocenter::bench::Files files{folder / "isocenter-planes.raw",
                                      folder / "isocenter-planes.bricks"};
  const int result = isocenter::bench::Measure(files, size, planes);
  std::error_code ignored;
  std::filesystem::remove(files.raw, ignored);
  std::filesystem::remove(files.bricks, ignored);
  return result;
}
