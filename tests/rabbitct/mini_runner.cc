#include "tests/rabbitct/mini_runner.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"

namespace isocenter::rabbitct_test {
namespace {

using Function = bool (*)(GlobalData*);

// The runner's own clean-up after success and failure alike; the images it frees without looking,
// unless it saw after RCTLoadAlgorithm that they are the module's.
void CleanUp(GlobalData& data, bool images_of_module, Function unload) {
  if (!images_of_module) {
    for (unsigned i = 1; i < data.adv_numProjBuffers; ++i) data.adv_pProjBuffers[i] = nullptr;
    delete[] data.adv_pProjBuffers[0];
    delete[] data.adv_pProjBuffers;
    data.adv_pProjBuffers = nullptr;
  }
  unload(&data);
}

}  // namespace

absl::StatusOr<DataSet> ReadDataSet(const std::filesystem::path& path, int version) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](void* to, size_t bytes) {
    return static_cast<bool>(
        file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)));
  };
  uint32_t number = 2;
  if (version == 2 && (!read(&number, sizeof number) || number != 2)) {
    return absl::DataLossError("no data set of version 2");
  }
  uint32_t size[3];
  DataSet data;
  if (!read(size, sizeof size) || !read(data.hu_scaling.data(), sizeof data.hu_scaling)) {
    return absl::DataLossError("no header");
  }
  data.columns = size[0];
  data.rows = size[1];
  data.matrices.resize(size[2]);
  const size_t pixels = size_t{size[0]} * size[1];
  data.images.resize(size[2] * pixels);
  for (size_t i = 0; i < data.matrices.size(); ++i) {
    if (!read(data.matrices[i].data(), sizeof data.matrices[i]) ||
        !read(data.images.data() + i * pixels, pixels * sizeof(float))) {
      return absl::DataLossError(absl::StrCat("no projection ", i));
    }
  }
  for (size_t edge = 128; file.peek() != std::ifstream::traits_type::eof(); edge *= 2) {
    std::vector<uint16_t> reference(edge * edge * edge);
    if (!read(reference.data(), reference.size() * sizeof(uint16_t))) {
      return absl::DataLossError(absl::StrCat("no reference of ", edge));
    }
    data.references.push_back(std::move(reference));
  }
  return data;
}

absl::StatusOr<Outcome> RunModule(const std::string& module, const DataSet& set,
                                  const RunOptions& options) {
  void* const library = dlopen(module.c_str(), RTLD_LAZY);
  if (library == nullptr) return absl::NotFoundError(dlerror());
  Function functions[5];
  const char* const names[] = {"RCTPrepareAlgorithm", "RCTLoadAlgorithm",
                               "RCTAlgorithmBackprojection", "RCTFinishAlgorithm",
                               "RCTUnloadAlgorithm"};
  for (int i = 0; i < 5; ++i) {
    functions[i] = reinterpret_cast<Function>(dlsym(library, names[i]));
    if (functions[i] == nullptr) return absl::NotFoundError(names[i]);
  }
  const auto [prepare, load, backproject, finish, unload] = functions;

  const unsigned edge = options.voxels_per_edge;
  const size_t voxels = size_t{edge} * edge * edge, pixels = size_t{set.columns} * set.rows;
  std::vector<float> own_volume(options.own_volume ? voxels : 0);
  GlobalData data;
  std::memset(&data, 0, sizeof data);
  data.L = edge;
  data.S_x = set.columns;
  data.S_y = set.rows;
  data.R_L = options.voxel_mm;
  data.O_L = -0.5f * data.R_L * (static_cast<float>(edge) - 1.0f);
  data.f_L = options.own_volume ? own_volume.data() : nullptr;
  data.adv_numProjBuffers = options.image_buffers;
  data.adv_N = static_cast<unsigned>(set.matrices.size());

  bool images_of_module = false;
  const auto failed = [&](const char* function) {
    CleanUp(data, images_of_module, unload);
    return Outcome{.failed = function};
  };
  if (options.prepare && !prepare(&data)) return failed("RCTPrepareAlgorithm");
  if (!load(&data)) return failed("RCTLoadAlgorithm");
  const bool volume_of_module = data.f_L != nullptr;
  std::unique_ptr<float[]> volume_of_runner;
  if (!volume_of_module) {
    volume_of_runner = std::make_unique<float[]>(voxels);
    data.f_L = volume_of_runner.get();
  }
  images_of_module = options.takes_buffers && data.adv_pProjBuffers != nullptr;
  if (!images_of_module) {
    data.adv_pProjBuffers = new float*[options.image_buffers];
    data.adv_pProjBuffers[0] = new float[options.image_buffers * pixels];
    for (unsigned i = 1; i < options.image_buffers; ++i) {
      data.adv_pProjBuffers[i] = data.adv_pProjBuffers[0] + i * pixels;
    }
  }
  // Images and matrices in subsets; the buffers of one are overwritten by the next.
  for (size_t first = 0; first < set.matrices.size(); first += options.image_buffers) {
    const size_t count = std::min<size_t>(options.image_buffers, set.matrices.size() - first);
    for (size_t i = 0; i < count; ++i) {
      std::copy_n(set.images.begin() + static_cast<std::ptrdiff_t>((first + i) * pixels), pixels,
                  data.adv_pProjBuffers[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      std::array<double, 12> matrix = set.matrices[first + i];
      data.A_n = matrix.data();
      data.I_n = data.adv_pProjBuffers[i];
      data.adv_projNumber = static_cast<unsigned>(first + i);
      if (!backproject(&data)) return failed("RCTAlgorithmBackprojection");
    }
  }
  if (!finish(&data)) return failed("RCTFinishAlgorithm");
  Outcome outcome{.images_of_module = images_of_module};
  outcome.volume.assign(data.f_L, data.f_L + voxels);
  CleanUp(data, images_of_module, unload);
  if (volume_of_module && !options.own_volume && data.f_L != nullptr) {
    outcome.failed = "RCTUnloadAlgorithm left f_L";
  }
  dlclose(library);
  return outcome;
}

double RunnerError(const DataSet& data, const std::vector<float>& volume,
                   const std::vector<uint16_t>& reference) {
  double sum = 0;
  for (size_t i = 0; i < volume.size(); ++i) {
    const float scaled = data.hu_scaling[0] * volume[i] + data.hu_scaling[1];
    const float hu = volume[i] > 0 ? std::min(std::floor(scaled + 0.5f), 4095.0f) : 0.0f;
    sum += (hu - reference[i]) * (hu - reference[i]);
  }
  return std::sqrt(sum / static_cast<double>(volume.size()));
}

}  // namespace isocenter::rabbitct_test
