// SPDX-License-Identifier: Apache-2.0
#include "collector/ring_readers.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/text.h"

namespace stackmap {

namespace {

constexpr const char* kOnline = "/sys/devices/system/cpu/online";

void signal(const Fd& eventfd) {
  const uint64_t one = 1;
  (void)!::write(eventfd.get(), &one, sizeof(one));
}

}  // namespace

size_t RingReaders::count_for(size_t asked, size_t cpus) {
  const size_t wanted = asked != 0 ? asked : (cpus + kCpusPerReader - 1) / kCpusPerReader;
  return std::clamp<size_t>(wanted, 1, std::clamp<size_t>(cpus, 1, kMaxReaders));
}

Result<std::vector<uint32_t>> RingReaders::online_cpus() {
  STACKMAP_TRY_VALUE(text, read_text_file(kOnline));
  STACKMAP_TRY_VALUE(cpus, parse_number_list(text));
  if (cpus.empty()) {
    return make_error(ErrorKind::kFailed, std::string(kOnline) + " names no CPU");
  }
  return cpus;
}

Result<std::unique_ptr<RingReaders>> RingReaders::create(int map_fd, uint64_t ring_bytes,
                                                         const std::vector<uint32_t>& cpus,
                                                         const std::vector<RecordCallbacks>& callbacks) {
  const size_t readers = callbacks.size();
  allow_open_files(2 * cpus.size());  // libbpf makes an epoll for each
  std::unique_ptr<RingReaders> all(new RingReaders(map_fd, ring_bytes));
  all->attention_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  all->ending_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!all->attention_.valid() || !all->ending_.valid()) {
    return errno_error("cannot open an eventfd");
  }
  for (size_t i = 0; i < readers; ++i) {
    auto reader = std::make_unique<Reader>();
    reader->callbacks = callbacks[i];
    reader->epoll = Fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!reader->epoll.valid()) {
      return errno_error("cannot wait for the perf rings");
    }
    for (size_t n = cpus.size() * i / readers; n < cpus.size() * (i + 1) / readers; ++n) {
      // One that went offline meanwhile gets its ring when it is back.
      if (auto opened = all->open(*reader, cpus[n]); !opened && opened.error().errnum != ENODEV) {
        return std::move(opened).error();
      }
    }
    all->readers_.push_back(std::move(reader));
  }
  return all;
}

RingReaders::~RingReaders() {
  stop();
}

Result<void> RingReaders::open(Reader& reader, uint32_t cpu) {
  STACKMAP_TRY_VALUE(ring, PerfRing::create(map_fd_, ring_bytes_, cpu, reader.callbacks));
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(reader.epoll.get(), EPOLL_CTL_ADD, ring->epoll_fd(), &event) != 0) {
    return errno_error(fmt::format("cannot wait for the perf ring of CPU {}", cpu));
  }
  reader.rings[cpu] = std::move(ring);
  return {};
}

Result<void> RingReaders::reopen(uint32_t cpu) {
  Reader& reader = *readers_[reader_of(cpu)];
  if (const auto old = reader.rings.find(cpu); old != reader.rings.end()) {
    STACKMAP_TRY(old->second->drain());
    reader.rings.erase(old);  // before the new one is there: it takes its entry of the map with it
  }
  return open(reader, cpu);
}

Result<void> RingReaders::Reader::drain() {
  for (const auto& [cpu, ring] : rings) {
    STACKMAP_TRY(ring->drain());
  }
  return {};
}

size_t RingReaders::reader_of(uint32_t cpu) const {
  for (size_t i = 0; i < readers_.size(); ++i) {
    if (readers_[i]->rings.contains(cpu)) {
      return i;
    }
  }
  return 0;
}

int RingReaders::fd() const {
  return alone() ? readers_.front()->epoll.get() : attention_.get();
}

Result<void> RingReaders::start(std::function<bool(size_t)> after_drain) {
  after_drain_ = std::move(after_drain);
  if (alone()) {
    return {};
  }
  try {
    for (size_t i = 0; i < readers_.size(); ++i) {
      readers_[i]->thread = std::thread([this, i] { run(i); });
    }
  } catch (const std::system_error& error) {
    stop();
    return errno_error_of(error.code().value(), "cannot start a thread to read the rings", "ask for fewer: --threads");
  }
  return {};
}

void RingReaders::stop() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  signal(ending_);
  changed_.notify_all();
  for (const auto& reader : readers_) {
    if (reader->thread.joinable()) {
      reader->thread.join();
    }
  }
}

Result<void> RingReaders::take_attention() {
  uint64_t count = 0;
  (void)!::read(attention_.get(), &count, sizeof(count));
  const std::lock_guard lock(mutex_);
  return error_ ? Result<void>(*error_) : Result<void>();
}

void RingReaders::run(size_t number) {
  std::array<pollfd, 2> fds = {pollfd{readers_[number]->epoll.get(), POLLIN, 0}, pollfd{ending_.get(), POLLIN, 0}};
  for (;;) {
    const int n = ::poll(fds.data(), fds.size(), -1);
    if ((n < 0 && errno != EINTR) || fds[1].revents != 0 || !drain_one(number)) {
      return;
    }
  }
}

bool RingReaders::drain_one(size_t number) {
  Reader& reader = *readers_[number];
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return pauses_ == 0 || ended_; });
    if (ended_) {
      return false;
    }
    reader.busy = true;
  }
  auto drained = reader.drain();
  const bool asks = after_drain_(number) || !drained;
  {
    const std::lock_guard lock(mutex_);
    reader.busy = false;
    if (!drained && !error_) {
      error_ = drained.error();
    }
  }
  changed_.notify_all();
  if (asks) {
    signal(attention_);
  }
  return drained.ok();
}

void RingReaders::pause() {
  if (alone()) {
    return;
  }
  std::unique_lock lock(mutex_);
  ++pauses_;
  changed_.wait(lock, [&] { return std::ranges::none_of(readers_, [](const auto& reader) { return reader->busy; }); });
}

void RingReaders::resume() {
  if (alone()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    --pauses_;
  }
  changed_.notify_all();
}

Result<void> RingReaders::drain() {
  for (const auto& reader : readers_) {
    STACKMAP_TRY(reader->drain());
  }
  return {};
}

}  // namespace stackmap
