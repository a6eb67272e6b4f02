// SPDX-License-Identifier: Apache-2.0
#include "symbolize/glue_frames.h"

#include <string>
#include <vector>

#include "support/catch.h"

using namespace stackmap;

namespace {

// Names, innermost first; "?" is an address without one.
std::vector<KernelSymbol> stack(const std::vector<std::string>& names) {
  std::vector<KernelSymbol> symbols;
  for (const std::string& name : names) {
    symbols.push_back(name == "?" ? KernelSymbol{} : KernelSymbol{name, 1, 16, ""});
  }
  return symbols;
}

size_t glue(const std::vector<std::string>& names) {
  return glue_frames(stack(names));
}

}  // namespace

TEST_CASE("one stack behind 0, 3 and 5 glue frames is one stack") {
  const std::vector<std::string> real = {"__kmalloc_noprof", "alloc_pipe_info", "do_pipe2", "do_syscall_64"};
  const std::vector<std::vector<std::string>> fronts = {
      {},
      {"bpf_prog_6deef7357e7b4530_on_kmalloc", "bpf_trace_run4", "__traceiter_kmalloc"},
      {"bpf_get_stack_raw_tp", "bpf_prog_6deef7357e7b4530_on_kmalloc", "bpf_trace_run4", "__bpf_trace_kmalloc",
       "__traceiter_kmalloc"}};
  for (const auto& front : fronts) {
    std::vector<std::string> names = front;
    names.insert(names.end(), real.begin(), real.end());
    const auto symbols = stack(names);
    const size_t n = glue_frames(symbols);
    CHECK(n == front.size());
    CHECK(std::vector<KernelSymbol>(symbols.begin() + static_cast<std::ptrdiff_t>(n), symbols.end()) == stack(real));
  }
}

TEST_CASE("glue is known by its symbol") {
  const char* name =
      GENERATE("bpf_prog_6deef7357e7b4530", "bpf_prog_6deef7357e7b4530_f", "bpf_trace_run1", "bpf_trace_run12",
               "__bpf_trace_sched_switch", "__traceiter_sched_switch", "bpf_trampoline_6442536467", "trace_call_bpf",
               "perf_trace_sched_switch", "perf_trace_run_bpf_submit", "perf_trace_initcall_start",
               "trace_event_raw_event_kfree", "bpf_get_stackid_tp", "__bpf_get_stack", "bpf_get_task_stack",
               "get_perf_callchain", "___bpf_prog_run", "__bpf_prog_run512", "trace_call_bpf.isra.0",
               "bpf_trace_run4.cold", "perf_trace_kmalloc.part.0");
  INFO(name);
  CHECK(is_glue_symbol({name, 0, 1, ""}));
}

TEST_CASE("functions that only look like glue are none") {
  const char* name = GENERATE("bpf_prog_alloc", "bpf_prog_6deef7357e7b453_f", "bpf_prog_6deef7357e7b45300",
                              "bpf_prog_6DEEF7357E7B4530_f", "bpf_trace_run", "bpf_trace_run4x", "bpf_trace_runner",
                              "perf_trace_init", "perf_trace_event_init", "perf_trace_add", "perf_trace_buf_alloc",
                              "perf_trace_event_reg.isra.0", "__bpf_prog_run_save_cb", "trace_call_bpf_x", "kfree",
                              "__bpf_prog_run", "traceiter_x", "perf_tracepoint");
  INFO(name);
  CHECK_FALSE(is_glue_symbol({name, 0, 1, ""}));
}

TEST_CASE("whatever the kernel lists as [bpf] is glue, what is unknown is not") {
  CHECK(is_glue_symbol({"bpf_dispatcher_xdp", 0, 1, "bpf"}));
  CHECK_FALSE(is_glue_symbol({"kfree", 0, 1, "mod"}));
  CHECK_FALSE(is_glue_symbol({"", 0, 0, "bpf"}));
}

TEST_CASE("only the leading run counts") {
  CHECK(glue({}) == 0);
  CHECK(glue({"kfree", "bpf_trace_run1", "bpf_prog_6deef7357e7b4530"}) == 0);
  CHECK(glue({"bpf_trace_run1", "kfree", "bpf_trace_run1"}) == 1);
  CHECK(glue({"bpf_trace_run1", "__traceiter_kfree"}) == 2);
}

TEST_CASE("nameless frames are glue only if glue follows near the leaf") {
  CHECK(glue({"?"}) == 0);
  CHECK(glue({"?", "?", "kfree"}) == 0);
  CHECK(glue({"?", "kfree", "bpf_trace_run1"}) == 0);
  CHECK(glue({"?", "bpf_trace_run4", "__traceiter_kmalloc", "kfree"}) == 3);
  CHECK(glue({"bpf_trace_run4", "?", "kfree"}) == 1);
  CHECK(glue({"bpf_get_stack", "?", "bpf_trace_run4", "?", "kfree"}) == 3);
  // The eighth frame is the last that can make the nameless ones before it glue.
  std::vector<std::string> names(7, "?");
  names.insert(names.end(), {"bpf_trace_run4", "kfree"});
  CHECK(glue(names) == 8);
  names.insert(names.begin(), "?");
  CHECK(glue(names) == 0);
  // Without nameless ones there is no such limit.
  CHECK(glue(std::vector<std::string>(12, "bpf_trace_run4")) == 12);
}
