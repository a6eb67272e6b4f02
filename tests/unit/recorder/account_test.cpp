// SPDX-License-Identifier: Apache-2.0
// The account of a ledger that the recorder made.
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "capture/losses.h"
#include "support/catch.h"
#include "support/faulty_file.h"
#include "support/lossy_recording.h"

using namespace stackmap;
using stackmap_test::Disk;
using stackmap_test::FaultyFile;
using stackmap_test::LossyRecording;

namespace {

LossyRecording played() {
  LossyRecording recording(std::make_unique<FaultyFile>(std::make_shared<Disk>()));
  recording.play();
  return recording;
}

}  // namespace

TEST_CASE("every counter that a recorder writes has a meaning") {
  const Ledger ledger = played().ledger();
  for (const auto& [name, value] : ledger.entries()) {
    INFO(name);
    CHECK(find_counter(name));
  }
}

TEST_CASE("what was played is what the ledger says") {
  const Ledger ledger = played().ledger();
  for (const char* reason : {"too_short", "unknown_kind", "bad_size", "bad_string", "unknown_template"}) {
    CHECK(ledger.get(std::string("reject.") + reason) == 1);
  }
  CHECK(ledger.get("event.kmem:kfree.recorded") + ledger.get("event.kmem:kmem_cache_free.recorded") ==
        LossyRecording::kRecorded);
  CHECK(ledger.get("event.task:task_rename.task_records") == 1);
  CHECK(ledger.get("stack.error.EFAULT") == 1);
  CHECK(ledger.get("stack.truncated") == 2);
  CHECK(ledger.get("string.truncated") == 1);
  CHECK(ledger.get("fallback.full") == 2);  // {9, 10}, and the one as deep as was asked for
  CHECK(ledger.get("fallback.too_deep") == 1);
  CHECK(ledger.get("fallback.empty") == 1);
  CHECK(ledger.get("fallback.off") == 1);
  CHECK(ledger.get("cache.hits") == 2);
  CHECK(ledger.get("ring.lost.cpu3") == 17);
  CHECK(ledger.get("limit.cpu") == 18);
  CHECK(ledger.get("limit.memory") == 19);
}

TEST_CASE("every way to lose an event is in the sum, once") {
  const Account account = account_of(played().ledger());
  CHECK(account.known);
  CHECK(account.recorded == LossyRecording::kRecorded);
  CHECK(account.filtered == LossyRecording::kFiltered);
  CHECK(account.lost == LossyRecording::kLost);
  CHECK(account.wanted == account.recorded + account.lost);
  CHECK(account.hits == account.wanted + account.filtered + LossyRecording::kTaskRecords);
  uint64_t sum = 0;
  std::set<std::string_view> reasons;
  for (const Account::Reason& reason : account.reasons) {
    sum += reason.events;
    CHECK(reasons.insert(reason.words).second);
  }
  CHECK(sum == account.lost);
  CHECK(reasons.size() == 6);
}

TEST_CASE("an event that could not be written is lost, and a flush that failed is not an event") {
  const auto disk = std::make_shared<Disk>();
  LossyRecording recording(std::make_unique<FaultyFile>(disk));
  recording.play();
  disk->fail_at = disk->appends;
  disk->keep_failing = true;
  CHECK_FALSE(recording.recorder().flush(recording.kernel()));
  Ledger ledger = recording.ledger();
  CHECK(ledger.get("write.failures") == 1);
  CHECK(account_of(ledger).lost == LossyRecording::kLost);
  // A block that fills up is written at once.
  uint64_t tried = 0;
  while (recording.ledger().get("write.lost_events") == 0 && ++tried < 10'000'000) {
    recording.kfree({1, 2});
  }
  ledger = recording.ledger();
  REQUIRE(ledger.get("write.lost_events") == 1);
  CHECK(ledger.get("write.failures") == 2);
  CHECK(account_of(ledger).lost == LossyRecording::kLost + 1);
}

TEST_CASE("nothing is claimed of a ledger without counters, and contradictions do not make it negative") {
  CHECK_FALSE(account_of(Ledger()).known);
  CHECK(account_of(Ledger()).lost_share() == 0.0);
  Ledger torn;
  torn.set("event.a:b.filtered", 10);
  torn.set("event.a:b.ring_full", 3);
  CHECK(account_of(torn).wanted == 3);
  CHECK(account_of(torn).lost_share() == 1.0);
  torn.set("event.a:b.ring_full", UINT64_MAX);
  torn.set("event.a:c.ring_full", 3);
  CHECK(account_of(torn).lost == UINT64_MAX);
}

TEST_CASE("a name is of a kind as a whole, and what the star stands for is not empty") {
  const auto variable = [](std::string_view name) {
    const auto found = find_counter(name);
    return found ? std::string(found->variable) : "-";
  };
  CHECK(variable("event.kmem:kfree.ring_full") == "kmem:kfree");
  CHECK(variable("event.a.b.ring_full") == "a.b");
  CHECK(variable("event.hits") == "-");
  CHECK(variable("event..hits") == "-");
  CHECK(variable("event.any.new_counter") == "-");
  CHECK(variable("stack.truncated") == "");
  CHECK(variable("stack.truncated.more") == "-");
  CHECK(variable("ring.lost.cpu12") == "12");
  CHECK(variable("ring.lost.cpu") == "-");
  CHECK(variable("future.thing") == "-");
}

// FORMAT.md is what readers in other languages are written from.
TEST_CASE("the page and the table say the same of every counter") {
  const std::pair<CounterMeaning, const char*> words[] = {
      {CounterMeaning::kHit, "hit"},   {CounterMeaning::kFiltered, "filtered"}, {CounterMeaning::kRecorded, "recorded"},
      {CounterMeaning::kTask, "task"}, {CounterMeaning::kLost, "lost"},         {CounterMeaning::kNote, "note"}};
  std::set<std::pair<std::string, std::string>> table;
  for (const CounterKind& kind : counter_kinds()) {
    for (const auto& [meaning, word] : words) {
      if (meaning == kind.meaning) {
        table.emplace(kind.name, word);
      }
    }
  }
  CHECK(table.size() == counter_kinds().size());
  std::ifstream page(STACKMAP_FORMAT_PAGE);
  REQUIRE(page);
  std::set<std::pair<std::string, std::string>> said;
  const std::regex row(R"(^\| (`.*`) \| (\w+) \| .*\|$)");
  const std::regex name("`([a-z_.*A-Z:]+)`");
  bool ledger = false;
  for (std::string line; std::getline(page, line);) {
    ledger = line.starts_with("## ") ? line == "## 5. The ledger" : ledger;
    std::smatch match;
    if (!ledger || !std::regex_match(line, match, row)) {
      continue;
    }
    const std::string names = match[1];
    for (std::sregex_iterator it(names.begin(), names.end(), name), end; it != end; ++it) {
      said.emplace((*it)[1], match[2]);
    }
  }
  CHECK(said == table);
}
