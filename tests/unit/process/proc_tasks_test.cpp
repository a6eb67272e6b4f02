// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <memory>
#include <thread>

#include "process/task_table.h"
#include "support/catch.h"
#include "support/temp_tree.h"

using namespace stackmap;

namespace {

// A process with one more thread, in a made-up /proc. `flags` is field 9 of stat.
void add_process(const TempTree& tree, uint32_t pid, const std::string& comm, uint32_t parent,
                 const std::string& flags = "4194560") {
  const std::string base = std::to_string(pid);
  const std::string stat = base + " (" + comm + ") S " + std::to_string(parent) + " 7 7 0 -1 " + flags + " 12 0\n";
  std::string escaped = comm;
  std::replace(escaped.begin(), escaped.end(), '\n', '~');
  tree.write(base + "/stat", stat);
  tree.write(base + "/comm", comm + "\n");
  tree.write(base + "/status",
             "Name:\t" + escaped + "\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t" + base + "\nPid:\t1\n");
  tree.write(base + "/task/" + base + "/comm", comm + "\n");
}

TaskRecord only(const std::vector<TaskRecord>& records) {
  REQUIRE(records.size() == 1);
  return records.front();
}

// A thread of this process that keeps the name it gave itself until it is released.
class NamedThread {
 public:
  explicit NamedThread(const std::string& name) {
    std::promise<uint32_t> ready;
    auto tid = ready.get_future();
    thread_ = std::thread([this, name, &ready] {
      prctl(PR_SET_NAME, name.c_str());
      ready.set_value(static_cast<uint32_t>(gettid()));
      release_.get_future().wait();
    });
    tid_ = tid.get();
  }
  NamedThread(const NamedThread&) = delete;
  NamedThread& operator=(const NamedThread&) = delete;
  ~NamedThread() {
    release_.set_value();
    thread_.join();
  }
  uint32_t tid() const { return tid_; }

 private:
  std::promise<void> release_;
  std::thread thread_;
  uint32_t tid_ = 0;
};

}  // namespace

TEST_CASE("every thread of a made-up /proc is read") {
  const TempTree tree;
  add_process(tree, 40, "sh", 1);
  tree.write("40/task/41/comm", "helper\n");
  add_process(tree, 7, "init", 0);
  tree.write("sys/kernel/x", "");
  tree.write("4x/comm", "not a process\n");
  tree.write("99999999999/comm", "not a number of a process\n");
  const auto records = read_proc_tasks(123, tree.root());
  REQUIRE(records.ok());
  const std::vector<TaskRecord> expected = {{123, TaskChange::kSeen, 7, 7, 0, "init"},
                                            {123, TaskChange::kSeen, 40, 40, 1, "sh"},
                                            {123, TaskChange::kSeen, 41, 40, 1, "helper"}};
  CHECK(*records == expected);
}

TEST_CASE("names that look like the fields around them") {
  const std::string comm = GENERATE(std::string("a) S 99 ("), std::string("x y;z)"), std::string("\n)\n"),
                                    std::string("\xff\xfe) R 5"), std::string("Tgid:\t5"), std::string(") "));
  const TempTree tree;
  add_process(tree, 40, comm, 33);
  const TaskRecord expected{5, TaskChange::kSeen, 40, 40, 33, comm};
  CHECK(only(*read_proc_tasks(5, tree.root())) == expected);
  CHECK(*read_proc_task(40, 5, tree.root()) == expected);
}

TEST_CASE("only the newline that the file adds is taken off") {
  const TempTree tree;
  add_process(tree, 40, "two\n\n", 1);
  CHECK(only(*read_proc_tasks(5, tree.root())).comm == "two\n\n");
}

TEST_CASE("kernel threads get the name that events carry") {
  struct Case {
    const char* shown;
    const char* comm;
  };
  const auto [shown, comm] =
      GENERATE(Case{"kworker/0:1-virtio_vsock", "kworker/0:1"}, Case{"kworker/u8:0+flush-253:0", "kworker/u8:0"},
               Case{"kworker/u8:3", "kworker/u8:3"}, Case{"kworker/R-mm_percpu_wq", "kworker/R-mm_pe"},
               Case{"rcu_exp_par_gp_kthread_worker/0", "rcu_exp_par_gp_"}, Case{"ksoftirqd/0", "ksoftirqd/0"});
  const TempTree tree;
  add_process(tree, 40, shown, 2, "69238880");  // 0x4208060: PF_KTHREAD | PF_WQ_WORKER and others
  CHECK(only(*read_proc_tasks(5, tree.root())).comm == comm);
  CHECK(read_proc_task(40, 5, tree.root())->comm == comm);
}

TEST_CASE("a user's thread may call itself a kworker") {
  const TempTree tree;
  add_process(tree, 40, "kworker/0:1-x", 2);
  CHECK(only(*read_proc_tasks(5, tree.root())).comm == "kworker/0:1-x");
}

TEST_CASE("what goes away while it is read is left out") {
  const TempTree tree;
  add_process(tree, 40, "stays", 1);
  std::filesystem::create_directories(tree.path("40/task/41"));  // the thread's files are gone
  std::filesystem::create_directories(tree.path("50/task/50"));  // the process's are
  std::filesystem::create_directories(tree.path("60"));
  CHECK(only(*read_proc_tasks(5, tree.root())).comm == "stays");
  CHECK(read_proc_task(50, 5, tree.root()).error().kind == ErrorKind::kNotFound);
  CHECK(read_proc_threads(60, tree.root()).error().kind == ErrorKind::kNotFound);
  CHECK(read_proc_tasks(5, tree.path("none")).error().kind == ErrorKind::kNotFound);
}

TEST_CASE("a stat file that is damaged leaves the parent unknown") {
  const std::string stat =
      GENERATE(std::string(""), std::string("40 (sh"), std::string("40 (sh)"), std::string("40 (sh) S"),
               std::string("40 (sh) S x"), std::string("40 (sh) S -1 3"));
  const TempTree tree;
  add_process(tree, 40, "sh", 1);
  tree.write("40/stat", stat);
  const TaskRecord expected{5, TaskChange::kSeen, 40, 40, 0, "sh"};
  CHECK(only(*read_proc_tasks(5, tree.root())) == expected);
}

TEST_CASE("the kernel's own /proc gives the names that threads gave themselves") {
  const std::vector<std::string> names = {"a b;c)", "x) R 1 (",        "new\nline\n",  "\xff\xfe\x80",
                                          "",       "exactly15bytes!", "kworker/9:9-x"};
  std::vector<std::unique_ptr<NamedThread>> threads;
  for (const std::string& name : names) {
    threads.push_back(std::make_unique<NamedThread>(name));
  }
  const auto self = static_cast<uint32_t>(getpid());
  const auto all = read_proc_tasks(77);
  const auto tids = read_proc_threads(self);
  REQUIRE(all.ok());
  REQUIRE(tids.ok());
  for (size_t i = 0; i < names.size(); ++i) {
    const uint32_t tid = threads[i]->tid();
    const TaskRecord expected{77, TaskChange::kSeen, tid, self, static_cast<uint32_t>(getppid()), names[i]};
    CHECK(*read_proc_task(tid, 77) == expected);
    CHECK(std::count(all->begin(), all->end(), expected) == 1);
    CHECK(std::count(tids->begin(), tids->end(), tid) == 1);
  }
}

TEST_CASE("a process that is gone is not found") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    _exit(0);
  }
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(read_proc_task(static_cast<uint32_t>(child), 1).error().kind == ErrorKind::kNotFound);
}
