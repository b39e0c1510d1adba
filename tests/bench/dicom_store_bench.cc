// isocenter-dicom-bench: how long a volume takes to be encoded and stored in each form, beside the
// floor: as many bytes in as many files, written plainly by one thread to memory and to the disk in
// the same round. The processor time of both, kernel included, says what a busy machine hides.
// Measures; asserts nothing.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "server/archive/archive.h"
#include "server/dicom/objects/result_store.h"
#include "server/storage/files.h"

namespace isocenter::bench {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path directory;
  int size = 512;
  int rounds = 5;
};

/// A volume like a head: values that differ from voxel to voxel, within the range of tissue.
std::vector<float> MakeVolume(const VolumeGrid& grid) {
  std::vector<float> volume(grid.voxels());
  uint32_t random = 1;
  for (float& value : volume) {
    random = random * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(random >> 22) - 512) + 0.25f;
  }
  return volume;
}

/// Of all threads of this process.
absl::Duration ProcessorTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return absl::DurationFromTimespec(time);
}

struct Times {
  absl::Duration memory, disk;  // until all is written, and until the disk has it
  absl::Duration processor;
};

/// Writes what a result has besides its headers, in as many files, and waits for the disk.
absl::StatusOr<Times> WritePlainly(const fs::path& directory, const VolumeGrid& grid,
                                   const std::vector<float>& volume,
                                   const jobs::DicomForms& forms) {
  fs::create_directories(directory);
  const auto bytes = std::as_bytes(std::span(volume));
  const size_t half = bytes.size() / 2, slice = half / grid.nz;
  const auto write = [&](const std::string& name, std::span<const std::byte> data) -> absl::Status {
    ISO_ASSIGN_OR_RETURN(storage::OutputFile file, storage::OutputFile::Create(directory / name));
    return file.WriteAt(0, data);
  };
  const absl::Duration processor = ProcessorTime();
  const absl::Time start = absl::Now();
  ISO_RETURN_IF_ERROR(write("raw", bytes));
  if (forms.xray_3d) ISO_RETURN_IF_ERROR(write("volume", bytes.first(half)));
  for (int k = 0; forms.ct_series && k < grid.nz; ++k) {
    ISO_RETURN_IF_ERROR(write(absl::StrCat(k), bytes.subspan(k * slice, slice)));
  }
  const absl::Duration memory = absl::Now() - start;
  ISO_RETURN_IF_ERROR(storage::SyncFileSystem(directory));
  const absl::Duration disk = absl::Now() - start;
  const Times times{memory, disk, ProcessorTime() - processor};
  fs::remove_all(directory);
  return times;
}

absl::StatusOr<Times> Store(const fs::path& directory, const VolumeGrid& grid,
                            const std::vector<float>& volume, const jobs::DicomForms& forms) {
  Times times;
  {
    ISO_ASSIGN_OR_RETURN(const auto archive, archive::Archive::Open(directory));
    ISO_ASSIGN_OR_RETURN(const auto store, dicom::DicomResultStore::Create(*archive));
    jobs::Job job;
    job.id = "bench";
    job.grid = grid;
    job.dicom_forms = forms;
    job.create_time = absl::Now();
    const absl::Duration processor = ProcessorTime();
    const absl::Time start = absl::Now();
    ISO_RETURN_IF_ERROR(
        store->Store(job, HostView3<const float>(volume.data(), grid.shape()), nullptr, nullptr)
            .status());
    times.disk = absl::Now() - start;
    times.processor = ProcessorTime() - processor;
  }
  fs::remove_all(directory);
  return times;
}

/// Median and range in seconds.
std::string Spread(std::vector<absl::Duration> times) {
  std::sort(times.begin(), times.end());
  return absl::StrFormat("%.2f (%.2f-%.2f)", absl::ToDoubleSeconds(times[times.size() / 2]),
                         absl::ToDoubleSeconds(times.front()), absl::ToDoubleSeconds(times.back()));
}

absl::Duration Median(std::vector<absl::Duration> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

absl::Status Measure(const Options& options, const char* name, const jobs::DicomForms& forms,
                     const VolumeGrid& grid, const std::vector<float>& volume) {
  std::vector<absl::Duration> stored, memory, disk, stored_processor, plain_processor;
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    ISO_ASSIGN_OR_RETURN(const Times store,
                         Store(options.directory / "dicom-bench-archive", grid, volume, forms));
    ISO_ASSIGN_OR_RETURN(const Times plain, WritePlainly(options.directory / "dicom-bench-plain",
                                                         grid, volume, forms));
    stored.push_back(store.disk);
    stored_processor.push_back(store.processor);
    memory.push_back(plain.memory);
    disk.push_back(plain.disk);
    plain_processor.push_back(plain.processor);
    ratios.push_back(absl::FDivDuration(store.disk, plain.disk));
  }
  std::sort(ratios.begin(), ratios.end());
  const int64_t bytes = grid.voxels() * (4 + (forms.ct_series ? 2 : 0) + (forms.xray_3d ? 2 : 0));
  absl::PrintF("%-10s %6d %18s %18s %18s %7.2f %9.2f %9.2f\n", name, bytes >> 20, Spread(stored),
               Spread(memory), Spread(disk), ratios[ratios.size() / 2],
               absl::ToDoubleSeconds(Median(stored_processor)),
               absl::ToDoubleSeconds(Median(plain_processor)));
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  const VolumeGrid grid = CenteredGrid(options.size, options.size, options.size, {0.5, 0.5, 0.5});
  const std::vector<float> volume = MakeVolume(grid);
  absl::PrintF("%d^3 voxels, median (range) of %d rounds in s, on the disk of %s\n", options.size,
               options.rounds, options.directory.string());
  absl::PrintF("%-10s %6s %18s %18s %18s %7s %9s %9s\n", "form", "MiB", "stored", "plain, memory",
               "plain, disk", "ratio", "cpu", "plain cpu");
  ISO_RETURN_IF_ERROR(
      Measure(options, "CT series", {.ct_series = true, .xray_3d = false}, grid, volume));
  ISO_RETURN_IF_ERROR(
      Measure(options, "X-Ray 3D", {.ct_series = false, .xray_3d = true}, grid, volume));
  return Measure(options, "both", {.ct_series = true, .xray_3d = true}, grid, volume);
}

}  // namespace
}  // namespace isocenter::bench

int main(int argc, char** argv) {
  CLI::App app("Measures how long a volume takes to be stored as DICOM objects.");
  isocenter::bench::Options options;
  app.add_option("directory", options.directory, "Where to write")->required();
  app.add_option("--size", options.size, "Voxels per axis")
      ->check(CLI::Range(16, 2048))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Times that each form is stored, and written plainly")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = isocenter::bench::Run(options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
