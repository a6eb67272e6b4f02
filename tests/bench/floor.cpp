// SPDX-License-Identifier: Apache-2.0
// stackmap_floor [--count|--time] CATEGORY:NAME: walks the stack at every hit of a tracepoint, and with --time reads
// the clock, or only counts, and keeps nothing. Writes "ready" once it is attached, runs until its stdin closes, and
// writes "hits N". Needs root.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "floor.skel.h"

namespace {

constexpr const char* kDepthLimit = "/proc/sys/kernel/perf_event_max_stack";

// The kernel's limit on a stack's depth; 0 if it cannot be read.
uint32_t depth_limit() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(kDepthLimit, "re"), &std::fclose);
  uint32_t frames = 0;
  return file && std::fscanf(file.get(), "%" SCNu32, &frames) == 1 ? frames : 0;
}

int fail(const char* what) {
  (void)std::fprintf(stderr, "stackmap_floor: cannot %s: %s\n", what, std::strerror(errno));
  return 1;
}

// All CPUs' hits; false, with errno, if the map cannot be read.
bool read_hits(const bpf_map* map, uint64_t& hits) {
  const int cpus = libbpf_num_possible_cpus();
  if (cpus < 1) {
    return false;
  }
  const size_t words = (bpf_map__value_size(map) + 7) / 8;
  std::vector<uint64_t> values(words * static_cast<size_t>(cpus));
  const uint32_t zero = 0;
  if (bpf_map__lookup_elem(map, &zero, sizeof(zero), values.data(), values.size() * 8, 0) != 0) {
    return false;
  }
  for (size_t at = 0; at < values.size(); at += words) {
    hits += values[at];
  }
  return true;
}

void wait_for_end_of_stdin() {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) == 1) {
  }
}

int run(const std::string& category, const char* name, const std::string& what) {
  const std::unique_ptr<floor_bpf, void (*)(floor_bpf*)> skeleton(floor_bpf::open(), &floor_bpf::destroy);
  if (!skeleton) {
    return fail("open the program");
  }
  const uint32_t frames = depth_limit();
  if (frames == 0) {
    return fail("read kernel.perf_event_max_stack");
  }
  skeleton->rodata->stack_bytes = frames * 8;
  bpf_program* const walk = skeleton->progs.walk;
  bpf_program* program = what == "--count"  ? skeleton->progs.count
                         : what == "--time" ? skeleton->progs.walk_and_time
                                            : walk;
  for (bpf_program* other : {walk, skeleton->progs.walk_and_time, skeleton->progs.count}) {
    (void)bpf_program__set_autoload(other, other == program);
  }
  if (bpf_map__set_value_size(skeleton->maps.state, 8 + frames * 8) != 0 || floor_bpf::load(skeleton.get()) != 0) {
    return fail("load the program");
  }
  bpf_link* link = bpf_program__attach_tracepoint(program, category.c_str(), name);
  if (link == nullptr) {
    return fail("attach to the tracepoint");
  }
  std::printf("ready\n");
  (void)std::fflush(stdout);
  wait_for_end_of_stdin();
  (void)bpf_link__destroy(link);
  uint64_t hits = 0;
  if (!read_hits(skeleton->maps.state, hits)) {
    return fail("read the hits");
  }
  std::printf("hits %" PRIu64 "\n", hits);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  const bool known = argc == 2 || what == "--count" || what == "--time";
  const char* event = known && argc >= 2 ? argv[argc - 1] : "";
  const char* colon = std::strchr(event, ':');
  if (colon == nullptr) {
    (void)std::fprintf(stderr, "usage: stackmap_floor [--count|--time] CATEGORY:NAME\n");
    return 2;
  }
  return run(std::string(event, colon), colon + 1, what);
}
