// SPDX-License-Identifier: Apache-2.0
#include "render/flame_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

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
  using Entity = std::pair<char, std::string_view>;
  static constexpr Entity kEntities[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  std::string out;
  for (const char c : text) {
    const auto* const entity = std::ranges::find(kEntities, c, &Entity::first);
    if (entity != std::end(kEntities)) {
      out += entity->second;
    } else {
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

// Which frames are drawn, and how large.
struct Layout {
  double width = 0;                // of the picture
  double inner = 0;                // without the margins
  double scale = 0;                // px a unit of weight
  double levels = 1;               // rows of frames, "all" included
  std::vector<uint32_t> drawn;     // nodes
  std::array<bool, 4> has_kind{};  // by FrameKind
  uint64_t pruned = 0;
  uint64_t pruned_weight = 0;
};

Layout lay_out(const Profile& profile, const FrameTree& tree, const FlameOptions& options) {
  Layout layout;
  layout.width = std::clamp(options.width, 200.0, 100000.0);
  layout.inner = layout.width - 2 * kMargin;
  layout.scale = profile.total() == 0 ? 0 : layout.inner / static_cast<double>(profile.total());
  const auto& nodes = tree.nodes();
  for (uint32_t i = 0; i < nodes.size();) {
    const uint64_t total = tree.totals(i).front();
    if (static_cast<double>(total) * layout.scale >= options.min_width) {
      layout.levels = std::max(layout.levels, nodes[i].depth + 2.0);
      layout.has_kind[static_cast<size_t>(profile.frame(nodes[i].frame).kind)] = true;
      layout.drawn.push_back(i++);
      continue;
    }
    // Nothing above a narrow frame is wider than it is.
    layout.pruned_weight += total;
    const uint32_t depth = nodes[i].depth;
    do {
      ++layout.pruned;
      ++i;
    } while (i < nodes.size() && nodes[i].depth > depth);
  }
  return layout;
}

// Lines above and below the frames.
struct Captions {
  std::vector<std::string> header;
  std::vector<std::string> footer;
};

Captions make_captions(const Profile& profile, const Layout& layout, const FlameOptions& options) {
  Captions captions;
  const auto columns = static_cast<size_t>(layout.inner / kColumn);
  const auto add_lines = [&](std::vector<std::string>& lines, std::string_view text) {
    std::ranges::move(wrap_text(clean_text(text), columns), std::back_inserter(lines));
  };
  std::string subtitle = fmt::format("{}, {} distinct stack{}", total_text(profile), human_count(profile.size()),
                                     profile.size() == 1 ? "" : "s");
  if (!profile.losses.empty()) {
    subtitle += "; " + profile.losses;
  }
  add_lines(captions.header, subtitle);
  if (layout.pruned != 0) {
    add_lines(captions.footer,
              fmt::format("{} frame{} narrower than {} px not drawn; their weight is {} ({})",
                          human_count(layout.pruned), layout.pruned == 1 ? "" : "s", px(options.min_width),
                          value_text_with_unit(profile.unit(), layout.pruned_weight),
                          percent_text(layout.pruned_weight, profile.total())));
  }
  for (const std::string& note : profile.notes) {
    add_lines(captions.footer, note);
  }
  return captions;
}

class FlameSvg {
 public:
  FlameSvg(const Profile& profile, const FlameOptions& options, TextWriter& out)
      : profile_(profile),
        options_(options),
        out_(out),
        tree_(profile),
        layout_(lay_out(profile, tree_, options)),
        captions_(make_captions(profile, layout_, options)),
        top_(kMargin + 20 + kLine * static_cast<double>(captions_.header.size()) + 8) {}

  FlameSummary write() {
    const double frames_end = top_ + kRow * layout_.levels;
    head(frames_end + 8 + kLine * static_cast<double>(captions_.footer.size() + 1) + kMargin);
    frame(0, {0, layout_.inner}, "all", "all", profile_.totals());
    for (const uint32_t index : layout_.drawn) {
      const TreeNode& node = tree_.nodes()[index];
      const auto totals = tree_.totals(index);
      const Frame& name = profile_.frame(node.frame);
      frame(node.depth + 1, {px_of(node.start), px_of(totals.front())}, css_class(name), display_name(name.name),
            totals);
    }
    foot(frames_end + 8);
    return summary();
  }

 private:
  struct Span {
    double x;
    double width;
  };
  double px_of(uint64_t weight) const { return static_cast<double>(weight) * layout_.scale; }

  FlameSummary summary() const {
    FlameSummary summary;
    summary.drawn = layout_.drawn.size() + 1;
    summary.pruned = layout_.pruned;
    summary.pruned_weight = layout_.pruned_weight;
    if (summary.drawn > kManySvgFrames) {
      summary.warnings.push_back(fmt::format(
          "the picture has {} frames: a browser will take seconds to open it; a larger minimum width, or HTML, "
          "opens faster",
          human_count(summary.drawn)));
    }
    return summary;
  }

  void head(double height) {
    const std::string title = clean_text(profile_.title.empty() ? "flame graph" : profile_.title);
    out_.write(fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n"
        "<svg version=\"1.1\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\">\n"
        "<title>{2}</title>\n<style type=\"text/css\"><![CDATA[{3}]]></style>\n"
        "<rect class=\"page\" width=\"{0}\" height=\"{1}\"/>\n",
        px(layout_.width), px(height), xml(title), kStyle));
    text_line(kMargin + 16, "title", cut_to_columns(title, static_cast<size_t>(layout_.inner / kTitleColumn)));
    for (size_t i = 0; i < captions_.header.size(); ++i) {
      text_line(kMargin + 37 + kLine * static_cast<double>(i), "line", captions_.header[i]);
    }
  }

  void text_line(double y, std::string_view css, std::string_view text) {
    out_.write(fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>\n", css, px(kMargin), px(y), xml(text)));
  }

  void frame(uint32_t level, Span span, std::string_view css, std::string_view name, std::span<const uint64_t> values) {
    const double y = top_ + kRow * (options_.root == FlameRoot::kTop ? level : layout_.levels - 1 - level);
    std::string hint = fmt::format("{}, {}, {} of total", name, value_text_with_unit(profile_.unit(), values.front()),
                                   percent_text(values.front(), profile_.total()));
    for (size_t column = 1; column < values.size(); ++column) {
      hint += ", " + value_text_with_unit(profile_.columns()[column].unit, values[column]);
    }
    // A gap of half a pixel keeps neighbours of one shade apart.
    const double bar = span.width > 3 ? span.width - 0.5 : span.width;
    std::string line =
        fmt::format("<g class=\"frame {}\"><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", css,
                    xml(hint), px(kMargin + span.x), px(y), px(bar), px(kBar));
    const double room = (span.width - 6) / kColumn;
    const std::string label = room >= kMinColumns ? cut_to_columns(name, static_cast<size_t>(room)) : std::string();
    if (!label.empty()) {
      fmt::format_to(std::back_inserter(line), "<text x=\"{}\" y=\"{}\">{}</text>", px(kMargin + span.x + 3),
                     px(y + 12.5), xml(label));
    }
    line += "</g>\n";
    out_.write(line);
  }

  void foot(double y) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLegend = {
        {{"task", "task"}, {"kernel0", "kernel"}, {"user0", "user"}, {"bucket", "no stack"}}};
    double x = kMargin;
    for (size_t i = 0; i < kLegend.size(); ++i) {
      if (layout_.has_kind[i]) {
        out_.write(
            fmt::format("<g class=\"{}\"><rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/></g>"
                        "<text class=\"line\" x=\"{}\" y=\"{}\">{}</text>\n",
                        kLegend[i].first, px(x), px(y + 3), px(x + 17), px(y + 13.5), kLegend[i].second));
        x += 17 + kColumn * static_cast<double>(kLegend[i].second.size()) + 20;
      }
    }
    for (size_t i = 0; i < captions_.footer.size(); ++i) {
      text_line(y + 13.5 + kLine * static_cast<double>(i + 1), "line", captions_.footer[i]);
    }
    out_.write("</svg>\n");
  }

  const Profile& profile_;
  const FlameOptions& options_;
  TextWriter& out_;
  const FrameTree tree_;
  const Layout layout_;
  const Captions captions_;
  const double top_;  // of the frames
};

}  // namespace

FlameSummary write_flame_svg(const Profile& profile, const FlameOptions& options, TextWriter& out) {
  return FlameSvg(profile, options, out).write();
}

}  // namespace stackmap
