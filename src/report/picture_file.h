// Pictures as files: SVG always, PNG and PDF where the program was built with librsvg.
#pragma once

#include <filesystem>

#include "report/picture.h"

namespace sadam::report {

/// Whether there is librsvg.
bool draws_pdf();

/// Throws a UsageError for a name that does not end in .svg, .png or .pdf, and for one that asks for a PNG or
/// a PDF where there is no librsvg.
void check_picture_file(const std::filesystem::path& path);

/// As the end of its name says; an earlier file is replaced. A PNG has two pixels for each of the page.
void write_picture(const std::filesystem::path& path, const Picture& picture, bool dark = false);

}  // namespace sadam::report
