// SPDX-License-Identifier: Apache-2.0
#include "render/flame_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"
#include "profile/frame_tree.h"
#include "render/clean_text.h"

namespace stackmap {

namespace {

// Pixels. A column is the widest of the usual fixed-width fonts at 12 px: 0.602 em.
constexpr double kMargin = 12;
constexpr double kRow = 18;
constexpr double kBar = 17;
constexpr double kLine = 17;
constexpr double kColumn = 7.3;
constexpr double kTitleColumn = 10.3;
constexpr size_t kMinColumns = 3;
constexpr size_t kShades = 4;

// Hues apart for the common kinds of colour blindness (after Okabe and Ito), all light enough for black text at more
// than 7:1. Frames keep their colours on a dark background; only the page changes.
constexpr std::string_view kStyle = R"(
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace; fill: #111; }
.page { fill: #fff; }
.title { font-size: 17px; }
.title, .line { fill: #222; }
.frame:hover rect { stroke: #000; stroke-width: 1.5; }
.all rect { fill: #dcdcdc; }
.task rect { fill: #8cc8ee; }
.kernel0 rect { fill: #f5bb5c; }
.kernel1 rect { fill: #f8c878; }
.kernel2 rect { fill: #f2b04a; }
.kernel3 rect { fill: #fad492; }
.user0 rect { fill: #e0a8cb; }
.user1 rect { fill: #e6b8d5; }
.user2 rect { fill: #d99bc1; }
.user3 rect { fill: #ecc8df; }
.bucket rect { fill: #c2c2c2; }
@media (prefers-color-scheme: dark) {
.page { fill: #1b1b1d; }
.title, .line { fill: #e6e6e6; }
.frame:hover rect { stroke: #fff; }
}
)";

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// A length in hundredths of a pixel, without noughts at its end.
std::string px(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') {
    text.pop_back();
  }
  if (text.back() == '.') {
    text.pop_back();
  }
  return text;
}

uint32_t shade(std::string_view name) {
  uint32_t hash = 2166136261U;  // FNV-1a, the same everywhere, unlike std::hash
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return (hash ^ hash >> 16) % kShades;
}

std::string css_class(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kTask:
      return "task";
    case FrameKind::kKernel:
      return fmt::format("kernel{}", shade(frame.name));
    case FrameKind::kUser:
      return fmt::format("user{}", shade(frame.name));
    case FrameKind::kBucket:
      break;
  }
  return "bucket";
}

class FlameSvg {
 public:
  FlameSvg(const Profile& profile, const FlameOptions& options, TextWriter& out)
      : profile_(profile), options_(options), out_(out), tree_(build_tree(profile)) {
    width_ = std::clamp(options.width, 200.0, 100000.0);
    inner_ = width_ - 2 * kMargin;
    scale_ = tree_.total == 0 ? 0 : inner_ / static_cast<double>(tree_.total);
    columns_ = static_cast<size_t>(inner_ / kColumn);
  }

  FlameSummary write() {
    choose();
    make_text();
    top_ = kMargin + 20 + kLine * static_cast<double>(header_.size()) + 8;
    const double frames_end = top_ + kRow * levels_;
    height_ = frames_end + 8 + kLine * static_cast<double>(footer_.size() + 1) + kMargin;
    head();
    frame(0, 0, inner_, "all", "all", tree_.total, profile_.total_count());
    for (const uint32_t index : drawn_) {
      const TreeNode& node = tree_.nodes[index];
      const Frame& name = profile_.frame(node.frame);
      frame(node.depth + 1, x_of(node), width_of(node), css_class(name), display_name(name.name), node.total,
            node.count);
    }
    foot(frames_end + 8);
    return std::move(summary_);
  }

 private:
  double x_of(const TreeNode& node) const { return static_cast<double>(node.start) * scale_; }
  double width_of(const TreeNode& node) const { return static_cast<double>(node.total) * scale_; }

  // Which nodes are wide enough. Nothing above a narrow frame is wider than it is.
  void choose() {
    const auto& nodes = tree_.nodes;
    for (uint32_t i = 0; i < nodes.size();) {
      if (width_of(nodes[i]) >= options_.min_width) {
        levels_ = std::max(levels_, nodes[i].depth + 2.0);
        const FrameKind kind = profile_.frame(nodes[i].frame).kind;
        has_kind_[static_cast<size_t>(kind)] = true;
        drawn_.push_back(i++);
        continue;
      }
      summary_.pruned_weight += nodes[i].total;
      const uint32_t depth = nodes[i].depth;
      do {
        ++summary_.pruned;
        ++i;
      } while (i < nodes.size() && nodes[i].depth > depth);
    }
    summary_.drawn = drawn_.size() + 1;
    if (summary_.drawn > kManySvgFrames) {
      summary_.warnings.push_back(fmt::format(
          "the picture has {} frames: a browser will take seconds to open it; a larger minimum width, or HTML, "
          "opens faster",
          human_count(summary_.drawn)));
    }
  }

  void add_lines(std::vector<std::string>& lines, std::string_view text) {
    for (std::string& line : wrap_text(clean_text(text), columns_)) {
      lines.push_back(std::move(line));
    }
  }

  void make_text() {
    std::string subtitle = value_text_with_unit(profile_.unit, profile_.total_value());
    if (profile_.unit != Unit::kEvents) {
      subtitle += " in " + value_text_with_unit(Unit::kEvents, profile_.total_count());
    }
    subtitle += fmt::format(", {} distinct stack{}", human_count(profile_.size()), profile_.size() == 1 ? "" : "s");
    if (!profile_.losses.empty()) {
      subtitle += "; " + profile_.losses;
    }
    add_lines(header_, subtitle);
    if (summary_.pruned != 0) {
      add_lines(footer_,
                fmt::format("{} frame{} narrower than {} px not drawn; their weight is {} ({})",
                            human_count(summary_.pruned), summary_.pruned == 1 ? "" : "s", px(options_.min_width),
                            value_text_with_unit(profile_.unit, summary_.pruned_weight),
                            percent_text(summary_.pruned_weight, tree_.total)));
    }
    for (const std::string& note : profile_.notes) {
      add_lines(footer_, note);
    }
  }

  void head() {
    const std::string title = clean_text(profile_.title.empty() ? "flame graph" : profile_.title);
    out_.write(fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n"
        "<svg version=\"1.1\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\">\n"
        "<title>{2}</title>\n<style type=\"text/css\"><![CDATA[{3}]]></style>\n"
        "<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n",
        px(width_), px(height_), xml(title), kStyle));
    text_line(kMargin + 16, "title", cut_to_columns(title, static_cast<size_t>(inner_ / kTitleColumn)));
    for (size_t i = 0; i < header_.size(); ++i) {
      text_line(kMargin + 37 + kLine * static_cast<double>(i), "line", header_[i]);
    }
  }

  void text_line(double y, std::string_view css, std::string_view text) {
    out_.write(fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", css, px(kMargin), px(y), xml(text)));
  }

  void frame(uint32_t level, double x, double width, std::string_view css, std::string_view name, uint64_t value,
             uint64_t count) {
    const double y = top_ + kRow * (options_.icicle ? level : levels_ - 1 - level);
    std::string hint = fmt::format("{}, {}, {} of total", name, value_text_with_unit(profile_.unit, value),
                                   percent_text(value, tree_.total));
    if (profile_.unit != Unit::kEvents) {
      hint += ", " + value_text_with_unit(Unit::kEvents, count);
    }
    // A gap of half a pixel keeps neighbours of one shade apart.
    const double bar = width > 3 ? width - 0.5 : width;
    std::string line =
        fmt::format("<g class=\"frame {}\"><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", css,
                    xml(hint), px(kMargin + x), px(y), px(bar), px(kBar));
    const double room = (width - 6) / kColumn;
    const std::string label = room >= kMinColumns ? cut_to_columns(name, static_cast<size_t>(room)) : std::string();
    if (!label.empty()) {
      fmt::format_to(std::back_inserter(line), "<text x=\"{}\" y=\"{}\">{}</text>", px(kMargin + x + 3), px(y + 12.5),
                     xml(label));
    }
    line += "</g>\n";
    out_.write(line);
  }

  void foot(double y) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLegend = {
        {{"task", "task"}, {"kernel0", "kernel"}, {"user0", "user"}, {"bucket", "no stack"}}};
    double x = kMargin;
    for (size_t i = 0; i < kLegend.size(); ++i) {
      if (has_kind_[i]) {
        out_.write(
            fmt::format("<g class=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/></g>"
                        "<text class=\"line\" x=\"{}\" y=\"{}\">{}</text>\n",
                        kLegend[i].first, px(x), px(y + 3), px(x + 17), px(y + 13.5), kLegend[i].second));
        x += 17 + kColumn * static_cast<double>(kLegend[i].second.size()) + 20;
      }
    }
    for (size_t i = 0; i < footer_.size(); ++i) {
      text_line(y + 13.5 + kLine * static_cast<double>(i + 1), "line", footer_[i]);
    }
    out_.write("</svg>\n");
  }

  const Profile& profile_;
  const FlameOptions& options_;
  TextWriter& out_;
  const FrameTree tree_;
  double width_ = 0;
  double inner_ = 0;    // without the margins
  double scale_ = 0;    // px a unit of weight
  size_t columns_ = 0;  // of text in a line
  double levels_ = 1;   // rows of frames, "all" included
  double top_ = 0;
  double height_ = 0;
  std::vector<uint32_t> drawn_;
  std::array<bool, 4> has_kind_{};
  std::vector<std::string> header_;
  std::vector<std::string> footer_;
  FlameSummary summary_;
};

}  // namespace

FlameSummary write_flame_svg(const Profile& profile, const FlameOptions& options, TextWriter& out) {
  return FlameSvg(profile, options, out).write();
}

}  // namespace stackmap
