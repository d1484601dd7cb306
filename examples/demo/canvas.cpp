#include "canvas.h"

#include <algorithm>
#include <cmath>

#include "table.h"

namespace demo {

namespace {

constexpr double width = 960;
constexpr double height = 496;

constexpr auto style = R"(<style>
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #333; }
.title { font-weight: 600; font-size: 13px; }
.page { fill: #fff; }
.frame { fill: none; stroke: #888; }
.grid { stroke: #e4e4e4; }
.contour { fill: none; stroke: #d3d3d3; }
.kink { stroke: #999; stroke-dasharray: 2 4; }
.mark { fill: none; stroke: #333; stroke-width: 1.5; }
.dot { fill: #333; }
.halo { stroke: #fff; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }
.line { fill: none; stroke-width: 1.7; stroke-linejoin: round; }
.line.adamw { stroke-width: 4; opacity: .6; }
.line.prox { stroke-width: 1; }
.line.thin { stroke-width: 1.3; opacity: 1; }
.control { stroke: #333; stroke-dasharray: 5 3; }
.dots { fill: none; stroke-width: 2.2; stroke-linecap: round; opacity: .4; }
.adamw { stroke: #d1495b; } .prox { stroke: #8a7a00; } .sadam { stroke: #1f6fd6; }
.residual { stroke: #0c8a58; } .step { stroke: #8b4fc6; }
@media (prefers-color-scheme: dark) {
text { fill: #d8dee4; }
.page { fill: #0d1117; }
.frame { stroke: #768390; }
.grid { stroke: #252b33; }
.contour { stroke: #353d47; }
.kink { stroke: #768390; }
.mark { stroke: #d8dee4; }
.dot { fill: #d8dee4; }
.halo { stroke: #0d1117; }
.control { stroke: #d8dee4; }
.adamw { stroke: #ff7b8a; } .prox { stroke: #d6c13b; } .sadam { stroke: #6cb0ff; }
.residual { stroke: #4ccf95; } .step { stroke: #c79bff; }
}
</style>
)";

std::string fixed_label(double value) {
  const auto digits = value == std::floor(value) ? 0 : 1;
  return (value < 0 ? "−" : "") + fixed(std::abs(value), digits);
}

std::string power_label(double value) {
  const double exponent = std::round(std::log10(value));
  if (exponent == 0) return "1";
  return "10<tspan dy=\"-4\" font-size=\"9\">" + fixed_label(exponent) + "</tspan>";
}

}  // namespace

double Panel::x(double value) const { return left + (right - left) * (value - x0) / (x1 - x0); }

double Panel::y(double value) const {
  const auto scale = [this](double v) { return log_y ? std::log10(std::max(v, 1e-30)) : v; };
  const double from_bottom = (scale(value) - scale(y0)) / (scale(y1) - scale(y0));
  // Far outside is as good as just outside, and keeps the numbers short.
  return bottom - (bottom - top) * std::clamp(from_bottom, -1.0, 2.0);
}

Canvas::Canvas() {
  out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << ' ' << height
       << "\" role=\"img\" aria-label=\"Paths of the optimizers on a function with two kinks\">\n"
       << style << "<rect class=\"page\" width=\"" << width << "\" height=\"" << height << "\" rx=\"6\"/>\n";
}

std::string Canvas::finish() {
  out_ << "</svg>\n";
  return out_.str();
}

void Canvas::text(double x, double y, const std::string& words, const std::string& css,
                  const std::string& anchor, const std::string& more) {
  out_ << "<text x=\"" << fixed(x, 1) << "\" y=\"" << fixed(y, 1) << "\" class=\"" << css
       << "\" text-anchor=\"" << anchor << "\"" << more << '>' << words << "</text>\n";
}

void Canvas::line(double x0, double y0, double x1, double y1, const std::string& css) {
  out_ << "<path class=\"" << css << "\" d=\"M" << fixed(x0, 1) << ' ' << fixed(y0, 1) << 'L' << fixed(x1, 1)
       << ' ' << fixed(y1, 1) << "\"/>\n";
}

void Canvas::circle(double x, double y, double radius, const std::string& css) {
  out_ << "<circle class=\"" << css << "\" cx=\"" << fixed(x, 1) << "\" cy=\"" << fixed(y, 1) << "\" r=\""
       << radius << "\"/>\n";
}

void Canvas::curve(const Panel& panel, const std::vector<Point>& points, const std::string& css,
                   bool closed) {
  out_ << "<path clip-path=\"url(#" << panel.name << ")\" class=\"" << css << "\" d=\"";
  for (std::size_t i = 0; i < points.size(); ++i)
    out_ << (i == 0 ? "M" : "L") << fixed(panel.x(points[i][0]), 1) << ' ' << fixed(panel.y(points[i][1]), 1);
  out_ << (closed ? "Z" : "") << "\"/>\n";
}

void Canvas::dots(const Panel& panel, const std::vector<Point>& points, const std::string& css) {
  out_ << "<path class=\"dots " << css << "\" d=\"";
  for (const auto& [x, y] : points)
    out_ << 'M' << fixed(panel.x(x), 1) << ' ' << fixed(panel.y(y), 1) << "h0";
  out_ << "\"/>\n";
}

void Canvas::axes(const Panel& panel, const std::string& title, const std::vector<double>& x_ticks,
                  const std::vector<double>& y_ticks, const std::string& x_name, const std::string& y_name) {
  clip(panel);
  text(panel.left, panel.top - 12, title, "title");
  for (const double tick : x_ticks) {
    line(panel.x(tick), panel.top, panel.x(tick), panel.bottom, "grid");
    text(panel.x(tick), panel.bottom + 17, fixed_label(tick), "", "middle");
  }
  for (const double tick : y_ticks) {
    line(panel.left, panel.y(tick), panel.right, panel.y(tick), "grid");
    text(panel.left - 7, panel.y(tick) + 4, panel.log_y ? power_label(tick) : fixed_label(tick), "", "end");
  }
  if (!x_name.empty()) text((panel.left + panel.right) / 2, panel.bottom + 34, x_name, "", "middle");
  const double x = panel.left - 42;
  const double y = (panel.top + panel.bottom) / 2;
  text(x, y, y_name, "", "middle", " transform=\"rotate(-90 " + fixed(x, 1) + ' ' + fixed(y, 1) + ")\"");
}

void Canvas::background(const Panel& panel) {
  clip(panel);
  rectangle(panel, "page");
}

void Canvas::frame(const Panel& panel) { rectangle(panel, "frame"); }

void Canvas::clip(const Panel& panel) {
  out_ << "<clipPath id=\"" << panel.name << "\">";
  rectangle(panel, "");
  out_ << "</clipPath>\n";
}

void Canvas::rectangle(const Panel& panel, const std::string& css) {
  out_ << "<rect class=\"" << css << "\" x=\"" << panel.left << "\" y=\"" << panel.top << "\" width=\""
       << panel.right - panel.left << "\" height=\"" << panel.bottom - panel.top << "\"/>\n";
}

}  // namespace demo
