// SPDX-License-Identifier: Apache-2.0
#include "render/flame_svg.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text.h"
#include "render/clean_text.h"
#include "support/catch.h"
#include "support/report_fixture.h"

namespace stackmap {

namespace {

std::string svg(const Profile& profile, const FlameOptions& options = {}, FlameSummary* summary = nullptr) {
  return test::written([&](TextWriter& out) {
    const FlameSummary result = write_flame_svg(profile, options, out);
    if (summary != nullptr) {
      *summary = result;
    }
  });
}

// What a browser would show of one frame.
struct Drawn {
  std::string css;
  std::string title;
  std::string label;
  double x = 0;
  double y = 0;
  double width = 0;
};

std::string unescape(std::string text) {
  const std::pair<std::string, std::string> entities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, plain] : entities) {
    for (size_t at = text.find(entity); at != std::string::npos; at = text.find(entity, at + plain.size())) {
      text.replace(at, entity.size(), plain);
    }
  }
  return text;
}

std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t from = text.find(before);
  if (from == std::string::npos) {
    return {};
  }
  const size_t begin = from + before.size();
  return text.substr(begin, text.find(after, begin) - begin);
}

std::vector<Drawn> frames_of(const std::string& text) {
  std::vector<Drawn> frames;
  for (size_t at = text.find("<g class=\"frame "); at != std::string::npos;
       at = text.find("<g class=\"frame ", at + 1)) {
    const std::string group = text.substr(at, text.find("</g>", at) - at);
    const std::string rect = between(group, "<rect", "/>");
    Drawn drawn;
    drawn.css = between(group, "frame ", "\"");
    drawn.title = unescape(between(group, "<title>", "</title>"));
    const std::string label = between(group, "<text", "</text>");
    drawn.label = unescape(label.substr(label.find('>') + 1));
    drawn.x = std::strtod(between(rect, " x=\"", "\"").c_str(), nullptr);
    drawn.y = std::strtod(between(rect, " y=\"", "\"").c_str(), nullptr);
    drawn.width = std::strtod(between(rect, " width=\"", "\"").c_str(), nullptr);
    frames.push_back(drawn);
  }
  return frames;
}

const Drawn& find_frame(const std::vector<Drawn>& frames, const std::string& start) {
  const auto it = std::ranges::find_if(frames, [&](const Drawn& d) { return d.title.starts_with(start); });
  REQUIRE(it != frames.end());
  return *it;
}

// A small check of XML: elements nest and close, attributes are quoted, '&' only begins an entity, no '<' in text, no
// byte that XML 1.0 forbids. Returns where it fails, or an empty string.
std::string xml_fault(const std::string& text) {
  const auto fault = [&](const std::string& what, size_t at) {
    return what + " near '" + text.substr(at > 30 ? at - 30 : 0, 60) + "'";
  };
  if (!is_utf8(text)) {
    return "not UTF-8";
  }
  std::vector<std::string> open;
  size_t at = 0;
  while (at < text.size()) {
    if (text.compare(at, 2, "<?") == 0 || text.compare(at, 2, "<!") == 0) {
      const bool cdata = text.compare(at, 9, "<![CDATA[") == 0;
      const size_t end = text.find(cdata ? "]]>" : ">", at);
      if (end == std::string::npos) {
        return fault("unclosed declaration", at);
      }
      at = end + (cdata ? 3 : 1);
      continue;
    }
    if (text[at] != '<') {
      const auto c = static_cast<unsigned char>(text[at]);
      if (c < 0x20 && c != '\n' && c != '\t') {
        return fault("control byte", at);
      }
      if (c == '&') {
        const std::string entity = text.substr(at, text.find(';', at) + 1 - at);
        if (unescape(entity).size() != 1) {
          return fault("bad entity", at);
        }
      }
      if (text.compare(at, 3, "]]>") == 0) {
        return fault("]]> in text", at);
      }
      ++at;
      continue;
    }
    const size_t end = text.find('>', at);
    const std::string tag = text.substr(at + 1, end - at - 1);
    if (end == std::string::npos || tag.empty() || tag.find('<') != std::string::npos) {
      return fault("bad tag", at);
    }
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) {
      return fault("bad quotes", at);
    }
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != name) {
        return fault("wrong end tag", at);
      }
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() ? "" : "unclosed " + open.back();
}

}  // namespace

TEST_CASE("the check of XML finds faults", "[flame_svg]") {
  CHECK(xml_fault("<a b=\"c\"><d/>x &amp; y</a>").empty());
  CHECK_FALSE(xml_fault("<a>x & y</a>").empty());
  CHECK_FALSE(xml_fault("<a>x < y</a>").empty());
  CHECK_FALSE(xml_fault("<a><b></a></b>").empty());
  CHECK_FALSE(xml_fault("<a>\x01</a>").empty());
  CHECK_FALSE(xml_fault("<a>\xff</a>").empty());
  CHECK_FALSE(xml_fault("<a>").empty());
  CHECK_FALSE(xml_fault("<a>&nbsp;</a>").empty());
}

TEST_CASE("widths follow weights, the root is at the bottom", "[flame_svg]") {
  Profile profile;
  test::add_stack(profile, {"bash", "entry", "kmalloc"}, 30);
  test::add_stack(profile, {"make", "entry"}, 10);
  FlameOptions options;
  options.width = 424;  // 400 px for frames and 12 px at either side: 10 px a unit
  const auto frames = frames_of(svg(profile, options));
  REQUIRE(frames.size() == 6);
  const Drawn& all = find_frame(frames, "all,");
  const Drawn& bash = find_frame(frames, "bash,");
  const Drawn& make = find_frame(frames, "make,");
  const Drawn& leaf = find_frame(frames, "kmalloc,");
  CHECK(all.x == 12);
  CHECK(std::abs(all.width - 400) < 0.6);
  CHECK(std::abs(bash.width - 300) < 0.6);
  CHECK(make.x == 312);
  CHECK(std::abs(make.width - 100) < 0.6);
  CHECK(leaf.width == bash.width);
  CHECK(all.y > bash.y);
  CHECK(bash.y > leaf.y);
  CHECK(bash.y == make.y);
  CHECK(bash.title == "bash, 30 events, 75.0% of total");
  CHECK(all.title == "all, 40 events, 100.0% of total");

  options.root = FlameRoot::kTop;
  const auto icicle = frames_of(svg(profile, options));
  CHECK(find_frame(icicle, "all,").y < find_frame(icicle, "bash,").y);
  CHECK(find_frame(icicle, "bash,").y < find_frame(icicle, "kmalloc,").y);
}

TEST_CASE("a frame of bytes says bytes and events", "[flame_svg]") {
  Profile profile = test::bytes_profile();
  test::add_stack(profile, {"bash", "kmalloc"}, (uint64_t{1} << 40) + 4096, 7);
  const std::string text = svg(profile);
  CHECK(find_frame(frames_of(text), "kmalloc,").title ==
        "kmalloc, 1.0 TiB (1,099,511,631,872 bytes), 100.0% of total, 7 events");
  CHECK(text.find("1.0 TiB (1,099,511,631,872 bytes) in 7 events, 1 distinct stack<") != std::string::npos);
}

TEST_CASE("whatever the names hold, the file is XML and no frame is dropped", "[flame_svg]") {
  Profile profile;
  profile.title = "T & <t> ' \" ]]> \x01 \xff";
  profile.losses = "lost <1> & 2";
  profile.notes = {"note & <b>\x1b"};
  const auto& names = test::nasty_names();
  for (const std::string& name : names) {
    test::add_stack(profile, {name, name + "x", "<&>"}, 1000);
  }
  test::add_stack(profile, {"tiny"}, 1);  // its share reads "<0.1%"
  for (const double width : {200.0, 1200.0, 9000.0}) {
    for (const FlameRoot root : {FlameRoot::kBottom, FlameRoot::kTop}) {
      FlameOptions options;
      options.width = width;
      options.root = root;
      options.min_width = 0;
      const std::string text = svg(profile, options);
      CHECK(xml_fault(text) == "");
      const auto frames = frames_of(text);
      CHECK(frames.size() == 2 + 3 * names.size());
      for (const std::string& name : names) {
        find_frame(frames, display_name(name) + ", 1,000 events");
      }
      find_frame(frames, "tiny, 1 event, <0.1% of total");
    }
  }
}

TEST_CASE("a label is cut to its frame before it is escaped, and left out where it would say nothing", "[flame_svg]") {
  for (double width = 200; width < 420; width += 1) {
    Profile profile;
    test::add_stack(
        profile, {"&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&&", "日本日本日本日本日本日本日本日本"},
        5);
    test::add_stack(profile, {"b"}, 1);
    FlameOptions options;
    options.width = width;
    const std::string text = svg(profile, options);
    REQUIRE(xml_fault(text) == "");
    for (const Drawn& frame : frames_of(text)) {
      REQUIRE(static_cast<double>(text_columns(frame.label)) * 7.2 <= frame.width);
    }
  }
  Profile profile;
  test::add_stack(profile, {"wide", "kmem_cache_alloc"}, 999);
  test::add_stack(profile, {"narrow"}, 1);
  const auto frames = frames_of(svg(profile));
  CHECK(find_frame(frames, "kmem_cache_alloc,").label == "kmem_cache_alloc");
  CHECK(find_frame(frames, "narrow,").label.empty());
  Profile two_columns;
  test::add_stack(two_columns, {"wide"}, 57);
  test::add_stack(two_columns, {"x"}, 1);  // 20 px
  const auto drawn = frames_of(svg(two_columns));
  CHECK(find_frame(drawn, "x,").width > 14);
  CHECK(find_frame(drawn, "x,").label.empty());
}

TEST_CASE("kinds have their own colours, the same every time", "[flame_svg]") {
  Profile profile;
  const std::vector<uint64_t> one = {1};
  const FrameId task = profile.frame("x", FrameKind::kTask);
  profile.add(std::vector<FrameId>{task, profile.frame("k", FrameKind::kKernel)}, one);
  profile.add(std::vector<FrameId>{task, profile.frame("u", FrameKind::kUser)}, one);
  profile.add(std::vector<FrameId>{task, profile.frame("[no stack]", FrameKind::kBucket)}, one);
  const std::string text = svg(profile);
  const auto frames = frames_of(text);
  CHECK(find_frame(frames, "x,").css == "task");
  CHECK(find_frame(frames, "k,").css.starts_with("kernel"));
  CHECK(find_frame(frames, "u,").css.starts_with("user"));
  CHECK(find_frame(frames, "[no stack],").css == "bucket");
  CHECK(text == svg(profile));
  CHECK(text.find("prefers-color-scheme: dark") != std::string::npos);
  CHECK(text.find("<script") == std::string::npos);
}

TEST_CASE("narrow frames are not drawn, and the picture says what they weigh", "[flame_svg]") {
  Profile profile;
  test::add_stack(profile, {"big", "a"}, 1000000);
  test::add_stack(profile, {"big", "a", "s1", "s2", "s4"}, 3);
  test::add_stack(profile, {"small", "s3"}, 4);
  FlameSummary summary;
  const std::string text = svg(profile, {}, &summary);
  CHECK(summary.drawn == 3);  // all, big, a
  CHECK(summary.pruned == 5);
  CHECK(summary.pruned_weight == 7);
  CHECK(frames_of(text).size() == 3);
  CHECK(text.find("5 frames narrower than 0.1 px not drawn; their weight is 7 events (&lt;0.1%)") != std::string::npos);
  FlameOptions everything;
  everything.min_width = 0;
  const std::string whole = svg(profile, everything, &summary);
  CHECK(summary.pruned == 0);
  CHECK(frames_of(whole).size() == 8);
  CHECK(whole.find("not drawn") == std::string::npos);
}

TEST_CASE("too many frames bring a warning", "[flame_svg]") {
  Profile profile;
  for (int i = 0; i < 41000; ++i) {
    test::add_stack(profile, {"t" + std::to_string(i)}, 1);
  }
  FlameOptions options;
  options.min_width = 0;
  FlameSummary summary;
  CHECK(xml_fault(svg(profile, options, &summary)).empty());
  CHECK(summary.drawn == 41001);
  CHECK(summary.warnings.size() == 1);
  CHECK(svg(profile, {}, &summary).size() < 10000);
  CHECK(summary.warnings.empty());
  CHECK(summary.pruned_weight == 41000);
}

TEST_CASE("depth 127, an empty profile, and weights of nought", "[flame_svg]") {
  Profile deep;
  test::add_stack(deep, std::vector<std::string>(128, "f"), 1);
  CHECK(frames_of(svg(deep)).size() == 129);
  const std::string empty = svg(Profile());
  CHECK(xml_fault(empty).empty());
  CHECK(frames_of(empty).size() == 1);
  Profile nought;
  test::add_stack(nought, {"a", "b"}, 0);
  CHECK(xml_fault(svg(nought)).empty());
  Profile no_frames;
  no_frames.add({}, std::vector<uint64_t>{3});
  CHECK(find_frame(frames_of(svg(no_frames)), "all, 3 events, 100.0%").width > 1000);
}

}  // namespace stackmap
