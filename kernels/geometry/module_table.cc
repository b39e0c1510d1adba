#include "kernels/geometry/module_table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "kernels/base/status_macros.h"

namespace isocenter {
namespace {

using Kind = PhantomModule::Kind;
constexpr const char* kKinds[] = {"uniform", "insert", "low", "wire", "ball"};

absl::Status BadLine(int number, absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrFormat("line %d is '%s'; legal are uniform, insert, low, wire or ball, a name of 1 "
                      "to 32 characters, x, y, z of -500 to 500, "
                      "radius and half height of 0.05 to 500 mm, and -1000 to 30000 HU",
                      number, line.substr(0, 80)));
}

bool Legal(const PhantomModule& module) {
  const Vec3 c = module.center;
  return std::max({std::abs(c.x), std::abs(c.y), std::abs(c.z)}) <= 500 &&
         module.radius_mm >= 0.05 && module.radius_mm <= 500 && module.half_height_mm >= 0.05 &&
         module.half_height_mm <= 500 && module.hounsfield >= -1000 && module.hounsfield <= 30000;
}

absl::StatusOr<PhantomModule> ParseLine(int number, absl::string_view line,
                                        const std::vector<absl::string_view>& words) {
  const auto* kind = std::find(std::begin(kKinds), std::end(kKinds), words[0]);
  if (words.size() != 8 || kind == std::end(kKinds) || words[1].size() > 32)
    return BadLine(number, line);
  double values[6];
  for (int i = 0; i < 6; ++i) {
    if (!absl::SimpleAtod(words[i + 2], &values[i]) || !std::isfinite(values[i]))
      return BadLine(number, line);
  }
  PhantomModule module{static_cast<Kind>(kind - std::begin(kKinds)),
                       std::string(words[1]),
                       {values[0], values[1], values[2]},
                       values[3],
                       values[4],
                       values[5]};
  if (!Legal(module)) return BadLine(number, line);
  return module;
}

}  // namespace

ModuleTable QualityModules(double scale_mm) {
  ModuleTable table = {
      {Kind::kUniform, "water", {0, 0, -32}, 55, 8, 0},
      {Kind::kInsert, "air", {45, 0, 0}, 8, 10, -1000},
      {Kind::kInsert, "fat", {14, 43, 0}, 8, 10, -100},
      {Kind::kInsert, "acrylic", {-36, 26, 0}, 8, 10, 120},
      {Kind::kInsert, "delrin", {-36, -26, 0}, 8, 10, 340},
      {Kind::kInsert, "teflon", {14, -43, 0}, 8, 10, 990},
      {Kind::kWire, "wire", {0, 0, 0}, 0.25, 10, 4000},
      {Kind::kLow, "low-30", {35, 0, 25}, 8, 7, 30},
      {Kind::kLow, "low-20", {-17.5, 30, 25}, 8, 7, 20},
      {Kind::kLow, "low-10", {-17.5, -30, 25}, 8, 7, 10},
  };
  for (int i = 0; i < 8; ++i) {
    const double x = i & 1 ? 42 : -42, y = i & 2 ? 42 : -42, z = i & 4 ? 48 : -48;
    table.push_back({Kind::kBall, absl::StrFormat("ball-%d", i), {x, y, z}, 2, 2, 3000});
  }
  const double factor = scale_mm / 80;
  for (PhantomModule& module : table) {
    module.center = factor * module.center;
    module.radius_mm *= factor;
    module.half_height_mm *= factor;
  }
  return table;
}

absl::StatusOr<ModuleTable> ParseModuleTable(absl::string_view text) {
  ModuleTable table;
  std::set<std::string> names;
  int uniforms = 0, wires = 0, number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words = absl::StrSplit(
        line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r,"), absl::SkipEmpty());
    if (words.empty()) continue;
    ISO_ASSIGN_OR_RETURN(PhantomModule module, ParseLine(number, line, words));
    if (!names.insert(module.name).second) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "line %d has the name '%s' again; legal is a name of its own", number, module.name));
    }
    uniforms += module.kind == Kind::kUniform;
    wires += module.kind == Kind::kWire;
    table.push_back(std::move(module));
  }
  if (table.empty() || table.size() > kMostModules || uniforms > 1 || wires > 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the phantom has %d modules, of which %d are uniform and %d wires; legal "
                        "are 1 to %d modules, one uniform and one wire at most",
                        table.size(), uniforms, wires, kMostModules));
  }
  return table;
}

}  // namespace isocenter
