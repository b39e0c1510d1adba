#include "client/flags/completion/line.h"

#include <CLI/CLI.hpp>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/flags/choices.h"
#include "client/flags/exit_code.h"

namespace isocenter::flags {
namespace {

/// Which jobs a command is for: not one for a job that it would refuse.
absl::string_view JobKindOf(absl::string_view command) {
  static const auto& kinds = *new std::map<absl::string_view, absl::string_view>{
      {"fetch", "completed"}, {"send", "completed"}, {"refine", "completed"},
      {"trace", "completed"}, {"qa", "completed"},   {"cancel", "active"}};
  const auto found = kinds.find(command);
  return found == kinds.end() ? "job" : found->second;
}

/// What kind of names a flag has a value of that only the service knows; nothing of others.
absl::string_view KindOf(absl::string_view flag, absl::string_view command) {
  if (flag == "to") return "destination";
  for (const absl::string_view kind : {"protocol", "station", "calibration"}) {
    if (flag == kind) return kind;
  }
  return flag == "job" || flag == "reference" ? JobKindOf(command) : "";
}

Offer OfferOf(const CLI::Option& option) {
  Offer offer{.words = ChoicesOf(option), .takes_list = option.get_delimiter() == ','};
  if (!offer.words.empty()) return offer;
  offer.words = WordsOf(option);
  offer.or_file = absl::StrContains(option.get_type_name(), "FILE");
  return offer;
}

void AddArgument(const CLI::Option& option, absl::string_view command, CommandOnLine& line) {
  line.takes_argument = true;
  Offer offer = OfferOf(option);
  const absl::string_view kind = KindOf(option.get_name(), command);
  if (kind == JobKindOf(command)) offer.kind = std::string(kind);
  if (!offer.empty()) line.argument = std::move(offer);
}

void AddFlag(const CLI::Option& option, absl::string_view command, CommandOnLine& line) {
  for (const std::string& name : option.get_lnames()) {
    FlagOnLine flag{.name = name,
                    .help = option.get_description(),
                    .takes_value = option.get_items_expected_max() > 0,
                    .value = OfferOf(option)};
    // A set on disk is not the service's.
    if (option.get_type_name() != "FILE") flag.value.kind = std::string(KindOf(name, command));
    line.flags.push_back(std::move(flag));
  }
}

void AddOptions(const CLI::App& app, CommandOnLine& line) {
  const absl::string_view command = absl::string_view(line.path).substr(line.path.rfind(' ') + 1);
  for (const CLI::Option* option : app.get_options()) {
    option->get_lnames().empty() ? AddArgument(*option, command, line)
                                 : AddFlag(*option, command, line);
  }
}

void Append(const CLI::App& app, const std::string& path, std::vector<CommandOnLine>& lines) {
  CommandOnLine line{.path = path, .help = app.get_description()};
  AddOptions(app, line);
  std::vector<CommandOnLine> below;
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (part->get_name().empty()) {  // a group of flags
      AddOptions(*part, line);
      continue;
    }
    line.commands.push_back(part->get_name());
    Append(*part, absl::StrCat(path, " ", part->get_name()), below);
  }
  lines.push_back(std::move(line));
  lines.insert(lines.end(), below.begin(), below.end());
}

}  // namespace

std::vector<CommandOnLine> CommandsOf(const CLI::App& root) {
  std::vector<CommandOnLine> lines;
  Append(root, root.get_name(), lines);
  CommandOnLine help{.path = absl::StrCat(root.get_name(), " help"),
                     .help = "Explain a command",
                     .takes_argument = true,
                     .argument = {.words = {kExitCodesTopic}}};
  std::vector<std::string>& topics = help.argument.words;
  topics.insert(topics.end(), lines.front().commands.begin(), lines.front().commands.end());
  lines.front().commands.emplace_back("help");
  lines.push_back(std::move(help));
  return lines;
}

}  // namespace isocenter::flags
