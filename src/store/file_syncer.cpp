// SPDX-License-Identifier: Apache-2.0
#include "store/file_syncer.h"

#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace stackmap {

struct FileSyncer::Shared {
  std::unique_ptr<WritableFile> file;
  uint64_t id = 0;
};

class FileSyncer::File final : public WritableFile {
 public:
  File(FileSyncer& owner, std::shared_ptr<Shared> shared) : owner_(owner), shared_(std::move(shared)) {}
  Result<void> append(std::span<const std::byte> bytes) override { return shared_->file->append(bytes); }
  Result<void> truncate(uint64_t size) override { return shared_->file->truncate(size); }
  Result<void> sync() override { return owner_.ask(shared_); }
  const std::string& name() const override { return shared_->file->name(); }

 private:
  FileSyncer& owner_;
  std::shared_ptr<Shared> shared_;
};

FileSyncer::FileSyncer() {
  sigset_t all;
  sigset_t before;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);  // a thread begins with the mask of the one that makes it
  worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

FileSyncer::~FileSyncer() {
  (void)wait();  // who wants to know has asked before
}

std::unique_ptr<WritableFile> FileSyncer::wrap(std::unique_ptr<WritableFile> file) {
  const std::lock_guard lock(mutex_);
  return std::make_unique<File>(*this, std::make_shared<Shared>(Shared{std::move(file), ++files_}));
}

Result<void> FileSyncer::ask(const std::shared_ptr<Shared>& file) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(queue_, file) == queue_.end()) {
    queue_.push_back(file);
    changed_.notify_all();
  }
  const auto failed = std::ranges::find(unseen_, file->id, [](const auto& entry) { return entry.first; });
  if (failed == unseen_.end()) {
    return {};
  }
  Error error = std::move(failed->second);
  unseen_.erase(failed);
  return error;
}

Result<void> FileSyncer::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return queue_.empty() && !busy_; });
  if (unseen_.empty()) {
    return {};
  }
  Error error = std::move(unseen_.front().second);
  unseen_.clear();
  return error;
}

void FileSyncer::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !queue_.empty(); })) {
    std::shared_ptr<Shared> file = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    auto done = file->file->sync();
    const uint64_t id = file->id;
    file.reset();  // which closes it if it was given up
    lock.lock();
    if (!done) {
      unseen_.emplace_back(id, std::move(done).error());
    }
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace stackmap
