#include "page/attachments.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/quantities.h"
#include "report/runs_csv.h"
#include "train/record/run_folder.h"

namespace sadam::page {
namespace {

namespace fs = std::filesystem;

// A page of ten long runs has to stay below 10 MB.
constexpr std::uintmax_t kLargestPicture = 1 << 20;
constexpr std::uintmax_t kLargestSheet = 512 << 10;
constexpr std::uintmax_t kLargestTogether = 4 << 20;
constexpr std::size_t kMostFiles = 100;
constexpr std::size_t kMostRows = 2000;

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto part = bytes.substr(at, 3);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i)
      word = word << 8U | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= part.size() ? kLetters[word >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code problem;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, problem);
  for (; !problem && entries != fs::recursive_directory_iterator(); entries.increment(problem)) {
    std::error_code gone;
    const auto status = entries->symlink_status(gone);
    if (gone) continue;
    if (fs::is_directory(status) && fs::exists(train::RunPaths{entries->path()}.recipe(), gone))
      entries.disable_recursion_pending();
    const auto end = entries->path().extension();
    if (fs::is_regular_file(status) && (end == ".svg" || end == ".png" || end == ".csv"))
      files.push_back(entries->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class Collector {
 public:
  void add(const fs::path& file, const std::string& id) {
    std::error_code gone;
    const auto size = fs::file_size(file, gone);
    if (gone) return;
    const bool is_sheet = file.extension() == ".csv";
    if (size > (is_sheet ? kLargestSheet : kLargestPicture) || together_ + size > kLargestTogether ||
        count_ >= kMostFiles) {
      leave_out(is_sheet, id, fmt::format("left out: {}", base::memory(static_cast<std::int64_t>(size))));
      return;
    }
    std::string text;
    try {
      text = base::read_text(file);
    } catch (const Error& error) {
      leave_out(is_sheet, id, error.what());
      return;
    }
    together_ += size;
    ++count_;
    if (is_sheet)
      add_sheet(id, text);
    else
      found_.pictures.push_back({{"id", id},
                                 {"title", file.stem().string()},
                                 {"svg", file.extension() == ".svg" ? Json(text) : Json()},
                                 {"png", file.extension() == ".png" ? Json(base64(text)) : Json()}});
  }

  Attachments found_{Json::array(), Json::array()};

 private:
  void leave_out(bool is_sheet, const std::string& id, const std::string& why) {
    const auto title = fmt::format("{} ({})", id, why);
    if (is_sheet)
      found_.sheets.push_back(
          {{"id", id}, {"title", title}, {"header", Json::array()}, {"rows", Json::array()}});
    else
      found_.pictures.push_back({{"id", id}, {"title", title}, {"svg", nullptr}, {"png", nullptr}});
  }

  void add_sheet(const std::string& id, std::string_view text) {
    auto rows = report::csv_records(text, kMostRows + 2);
    if (rows.empty()) return leave_out(true, id, "empty");
    auto title = fs::path(id).stem().string();
    if (rows.size() > kMostRows + 1) {
      rows.resize(kMostRows + 1);
      title += fmt::format(" (the first {} rows)", kMostRows);
    }
    const Json header = rows.front();
    rows.erase(rows.begin());
    found_.sheets.push_back({{"id", id}, {"title", title}, {"header", header}, {"rows", rows}});
  }

  std::uintmax_t together_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

Attachments attachments_in(const std::vector<fs::path>& folders) {
  Collector collector;
  for (const auto& folder : folders)
    for (const auto& file : files_below(folder))
      collector.add(file, file.lexically_relative(folder).string());
  return std::move(collector.found_);
}

}  // namespace sadam::page
