#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "data/data_set.h"
#include "data/fetch/fetch.h"
#include "data/fetch/meter.h"
#include "report/text_table.h"

namespace sadam::cli {
namespace {

constexpr const char* kDataHelp = R"(Gets the data sets of the experiments, and checks them.

  sadam data list
  sadam data fetch cifar100 resnet18
  sadam data check cifar100

A folder of your own images needs no command: give it to a run as
data.name=folder:PATH, with JPEG or PNG files in train/CLASS/ and val/CLASS/.)";

constexpr const char* kListHelp = R"(Lists what can be fetched, and what is here.

  sadam data list
  sadam data list --root /big/disk/data)";

constexpr const char* kFetchHelp = R"(Downloads from the official address, verifies the checksum and unpacks.

  sadam data fetch cifar10 cifar100
  sadam data fetch imagewoof --root /big/disk/data

What is there already is left alone. What was interrupted goes on where it was.
Without a network, put the file into the folder by hand, under the name it has
at its address: the same command then verifies and unpacks it.)";

constexpr const char* kCheckHelp =
    R"(Reads every image, counts the classes and names every damaged file. Of weights
it computes the checksum.

  sadam data check
      everything that is here
  sadam data check cifar100 resnet18
  sadam data check folder:my/images
      a folder of your own, laid out as ImageNet's)";

struct DataArguments {
  std::vector<std::string> names;
  std::filesystem::path root = "data";
  bool keep_archive = false;
};

bool stop_wanted() { return StopSignal::flag(); }

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

bool is_here(const data::CatalogueEntry& entry, const std::filesystem::path& root) {
  std::error_code ignored;
  return std::filesystem::exists(entry.path_below(root), ignored);
}

void fetch_one(const data::CatalogueEntry& entry, const DataArguments& arguments) {
  data::Meter meter(std::cerr, isatty(STDERR_FILENO) == 1);
  data::FetchOptions options{
      .root = arguments.root, .keep_archive = arguments.keep_archive, .stop = stop_wanted};
  options.progress = [&](data::FetchStage stage, std::uint64_t done, std::uint64_t all) {
    const char* verb = stage == data::FetchStage::download ? "downloading"
                       : stage == data::FetchStage::verify ? "verifying"
                                                           : "unpacking";
    meter.show(fmt::format("{}: {}", entry.name, verb), done, all);
  };
  options.note = [&](const std::string& sentence) {
    meter.clear();
    std::cerr << fmt::format("{}: {}\n", entry.name, sentence);
  };
  const auto result = data::fetch(entry, options);
  meter.clear();
  const std::string path = result.path.string();
  if (result.already_there)
    std::cout << fmt::format("{}: already there, {}\n", entry.name, path);
  else
    std::cout << fmt::format("{}: {}, verified ({})\n", entry.name, path, result.digest);
  std::cout.flush();
}

void fetch_data(const DataArguments& arguments) {
  // A misspelt name is refused before anything is downloaded.
  std::vector<data::CatalogueEntry> entries;
  for (const auto& name : arguments.names) entries.push_back(data::catalogue_entry(name));
  const StopSignal stop;
  for (const auto& entry : entries) fetch_one(entry, arguments);
}

data::CheckReport check_one(const std::string& name, const std::filesystem::path& root) {
  data::Meter meter(std::cerr, isatty(STDERR_FILENO) == 1);
  const auto label = fmt::format("{}: checking", name);
  const auto& entries = data::catalogue();
  const auto file =
      std::ranges::find_if(entries, [&](const auto& entry) { return entry.name == name && !entry.archive; });
  if (file != entries.end()) {
    const auto digest = data::check_file(
        *file, root,
        {.progress = [&](std::uint64_t done, std::uint64_t all) { meter.show(label, done, all); },
         .stop = stop_wanted});
    return {fmt::format("{}, verified ({})", file->path_below(root).string(), digest), {}};
  }
  const data::Watch watch{
      .progress = [&](std::uint64_t done,
                      std::uint64_t all) { meter.show(label, done, all, data::Meter::Unit::items); },
      .stop = stop_wanted};
  return data::check_data_set(name, root,
                              [&](std::size_t done, std::size_t all) { watch.report(done, all); });
}

void check_data(const DataArguments& arguments) {
  std::vector<std::string> names = arguments.names;
  if (names.empty())
    for (const auto& entry : data::catalogue())
      if (is_here(entry, arguments.root)) names.push_back(entry.name);
  if (names.empty())
    throw Error(fmt::format("there is nothing to check in {}; 'sadam data list' says what there is.",
                            arguments.root.string()));

  const StopSignal stop;
  constexpr std::size_t kMostProblems = 20;
  std::vector<std::string> own;      // folders of the user's
  std::vector<std::string> fetched;  // what can be had again
  for (const auto& name : names) {
    const auto report = check_one(name, arguments.root);
    const bool names_itself = report.summary.starts_with(name + ":");
    std::cout << (names_itself ? "" : name + ": ") << report.summary << '\n';
    for (std::size_t i = 0; i < std::min(report.problems.size(), kMostProblems); ++i)
      std::cout << fmt::format("  {}\n", report.problems[i]);
    if (report.problems.size() > kMostProblems)
      std::cout << fmt::format("  and {} more\n", report.problems.size() - kMostProblems);
    std::cout.flush();
    if (report.problems.empty()) continue;
    (data::path_in_name(name) ? own : fetched).push_back(name);
  }
  std::vector<std::string> sentences;
  const auto are = [](const std::vector<std::string>& list) {
    return fmt::format("{} {} damaged, as listed", fmt::join(list, ", "), list.size() == 1 ? "is" : "are");
  };
  if (!own.empty()) sentences.push_back(fmt::format("{}: put the images right, or remove them.", are(own)));
  if (!fetched.empty())
    sentences.push_back(
        fmt::format("{}: remove it from {} and fetch it again.", are(fetched), arguments.root.string()));
  if (!sentences.empty()) throw Error(fmt::format("{}", fmt::join(sentences, " ")));
}

void list_data(const DataArguments& arguments) {
  report::TextTable table{
      {{"name", "name"}, {"size", "download", report::Align::right}, {"here", "here"}, {"what", "what"}}, {}};
  for (const auto& entry : data::catalogue())
    table.add({entry.name, megabytes(entry.bytes),
               is_here(entry, arguments.root) ? entry.path_below(arguments.root).string() : "no",
               entry.title});
  for (const auto& set : data::known_sets())
    if (!set.source)
      table.add({set.name,
                 {},
                 "built in",
                 fmt::format("{} classes, {} pixels, made as needed", set.classes, set.pixels)});
  std::cout << to_text(table, output_width());
}

}  // namespace

void add_data(CLI::App& app) {
  auto& data = add_command(app, "data", kDataHelp);
  data.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, void (*run)(const DataArguments&)) {
    return add_command<DataArguments>(data, name, help, run);
  };
  const auto add_root = [](const Command<DataArguments>& command) {
    add_root_option(command.app, command.arguments.root, "Folder of the data sets");
  };
  add_root(add("list", kListHelp, list_data));

  const auto fetch = add("fetch", kFetchHelp, fetch_data);
  fetch.app.add_option("names", fetch.arguments.names, "What to get; see 'sadam data list'")
      ->required()
      ->type_name("NAME");
  add_root(fetch);
  fetch.app.add_flag("--keep-archive", fetch.arguments.keep_archive,
                     "Keeps the archive after it has been unpacked");

  const auto check = add("check", kCheckHelp, check_data);
  check.app
      .add_option("names", check.arguments.names, "What to check; without a name, everything that is here")
      ->type_name("NAME");
  add_root(check);
}

}  // namespace sadam::cli
