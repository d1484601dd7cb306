#include "report/picture_file.h"

#include <fmt/format.h>

#include <string>

#include "base/file.h"
#include "base/text.h"
#include "base/usage_error.h"

#ifdef SADAM_HAVE_RSVG
#include <cairo-pdf.h>
#include <librsvg/rsvg.h>

#include <memory>
#endif

namespace sadam::report {

bool draws_pdf() {
#ifdef SADAM_HAVE_RSVG
  return true;
#else
  return false;
#endif
}

void check_picture_file(const std::filesystem::path& path) {
  const auto end = path.extension();
  if (end != ".svg" && end != ".png" && end != ".pdf")
    throw UsageError(fmt::format("{} is no name of a picture: let it end in .svg, .png or .pdf.",
                                 base::in_quotes(path.string())));
#ifndef SADAM_HAVE_RSVG
  if (end != ".svg")
    throw UsageError(
        "this program was built without librsvg, which makes PNG and PDF: write an .svg, or install Debian's "
        "librsvg2-dev and build again.");
#endif
}

#ifdef SADAM_HAVE_RSVG
namespace {

cairo_status_t append(void* out, const unsigned char* bytes, unsigned int count) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

void draw_on(cairo_surface_t* surface, RsvgHandle* handle, double width, double height) {
  const Owned<cairo_t> context(cairo_create(surface), cairo_destroy);
  const RsvgRectangle viewport{0, 0, width, height};
  GError* error = nullptr;
  if (rsvg_handle_render_document(handle, context.get(), &viewport, &error) == 0) {
    const std::string why = error != nullptr ? error->message : "unknown";
    g_clear_error(&error);
    throw Error(fmt::format("librsvg could not draw the picture: {}.", why));
  }
  cairo_show_page(context.get());
}

/// The bytes of a PNG or a PDF.
std::string rendered(const std::string& svg, bool pdf) {
  GError* error = nullptr;
  const Owned<RsvgHandle> handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error),
      [](RsvgHandle* each) { g_object_unref(each); });
  if (handle == nullptr) {
    const std::string why = error != nullptr ? error->message : "unknown";
    g_clear_error(&error);
    throw Error(fmt::format("librsvg could not read the picture: {}.", why));
  }
  gboolean has_width = 0;
  gboolean has_height = 0;
  gboolean has_box = 0;
  RsvgLength ignored{};
  RsvgRectangle box{};
  rsvg_handle_get_intrinsic_dimensions(handle.get(), &has_width, &ignored, &has_height, &ignored, &has_box,
                                       &box);
  const double scale = pdf ? 0.75 : 2;  // points, and pixels
  const double width = scale * box.width;
  const double height = scale * box.height;
  std::string bytes;
  const Owned<cairo_surface_t> surface(
      pdf ? cairo_pdf_surface_create_for_stream(append, &bytes, width, height)
          : cairo_image_surface_create(CAIRO_FORMAT_ARGB32, static_cast<int>(width),
                                       static_cast<int>(height)),
      cairo_surface_destroy);
  draw_on(surface.get(), handle.get(), width, height);
  if (!pdf) cairo_surface_write_to_png_stream(surface.get(), append, &bytes);
  cairo_surface_finish(surface.get());
  if (const auto status = cairo_surface_status(surface.get()); bytes.empty())
    throw Error(fmt::format("cairo could not write the picture: {}.", cairo_status_to_string(status)));
  return bytes;
}

}  // namespace
#endif

void write_picture(const std::filesystem::path& path, const Picture& picture, bool dark) {
  check_picture_file(path);
  const bool as_svg = path.extension() == ".svg";
  auto bytes = to_svg(picture, dark     ? PageColours::dark
                               : as_svg ? PageColours::as_reader
                                        : PageColours::light);
#ifdef SADAM_HAVE_RSVG
  if (!as_svg) bytes = rendered(bytes, path.extension() == ".pdf");
#endif
  base::write_file_atomically(base::writable_target(path), bytes);
}

}  // namespace sadam::report
