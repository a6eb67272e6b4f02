// SPDX-License-Identifier: Apache-2.0
#include "collector/cache_map.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "record/cache_entries.h"

namespace stackmap {

namespace {

// A program is in the middle of its batch for less than a microsecond, so the next try nearly always succeeds.
constexpr int kTries = 100;

}  // namespace

Result<MappedArray> MappedArray::map(int map_fd, size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
  if (at == MAP_FAILED) {
    return errno_error("cannot map the cookie cache");
  }
  return MappedArray(std::span(static_cast<std::byte*>(at), bytes));
}

MappedArray::MappedArray(MappedArray&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedArray::~MappedArray() {
  if (!bytes_.empty()) {
    (void)::munmap(bytes_.data(), bytes_.size());
  }
}

Result<std::unique_ptr<CacheMap>> CacheMap::open(Handles handles) {
  STACKMAP_TRY_VALUE(cache, MappedArray::map(handles.cache_map, handles.entries * CacheEntries::kEntryBytes));
  STACKMAP_TRY_VALUE(batches, MappedArray::map(handles.batches_map, handles.cpus * BatchMemory::kBatchBytes));
  return std::unique_ptr<CacheMap>(new CacheMap(std::move(handles), std::move(cache), std::move(batches)));
}

CacheMap::CacheMap(Handles handles, MappedArray cache, MappedArray batches)
    : handles_(std::move(handles)),
      cache_(std::move(cache)),
      mapped_batches_(std::move(batches)),
      batches_(mapped_batches_.bytes()) {}

void CacheMap::set_generation(uint32_t generation) {
  std::atomic_ref<uint32_t>(*handles_.generation).store(generation, std::memory_order_release);
}

CacheMap::Answer CacheMap::flush_cpu(uint32_t cpu) const {
  for (int i = 0; i < kTries; ++i) {
    bpf_test_run_opts options{};
    options.sz = sizeof(options);
    options.flags = BPF_F_TEST_RUN_ON_CPU;
    options.cpu = cpu;
    if (const int error = bpf_prog_test_run_opts(handles_.flush_program, &options); error != 0) {
      return error == -ENXIO ? Answer::kOffline : Answer::kBusy;
    }
    if (options.retval == 0) {
      return Answer::kDone;
    }
  }
  return Answer::kBusy;
}

bool CacheMap::flush(Flush who) {
  bool all = true;
  offline_.clear();
  for (uint32_t cpu = 0; cpu < batches_.cpus(); ++cpu) {
    if (who == Flush::kWithEvents && batches_.is_empty(cpu)) {
      continue;
    }
    const Answer answer = flush_cpu(cpu);
    all = all && answer != Answer::kBusy;
    // On a CPU that is offline no program runs.
    if (answer == Answer::kOffline && !batches_.is_empty(cpu)) {
      offline_.push_back(cpu);
    }
  }
  return all;
}

void CacheMap::take_offline(const std::function<void(uint32_t cpu, std::span<const std::byte> record)>& record) {
  if (offline_.empty()) {
    return;
  }
  for (const uint32_t cpu : offline_) {
    batches_.claim(cpu);
  }
  handles_.wait();
  for (const uint32_t cpu : offline_) {
    if (const auto bytes = batches_.take(cpu); !bytes.empty()) {
      record(cpu, bytes);
    }
    batches_.release(cpu);
  }
  offline_.clear();
}

}  // namespace stackmap
