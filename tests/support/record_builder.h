// SPDX-License-Identifier: Apache-2.0
// Ring records as the BPF programs make them, for tests without a kernel.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "bpf/stackmap_cache.h"

namespace stackmap_test {

class RecordBuilder {
 public:
  explicit RecordBuilder(uint8_t kind) { header.kind = kind; }

  template <typename Fields>
  RecordBuilder& fields(const Fields& fields) {
    fields_.assign(reinterpret_cast<const char*>(&fields), sizeof(fields));
    return *this;
  }
  RecordBuilder& at(uint64_t time_ns, uint32_t tid, uint32_t tgid) {
    header.time_ns = time_ns;
    header.tid = tid;
    header.tgid = tgid;
    return *this;
  }
  RecordBuilder& string(std::string_view text) {
    string_ = std::string(text) + '\0';
    string_.resize((string_.size() + 7) / 8 * 8, '#');  // what follows the NUL is undefined
    return *this;
  }
  RecordBuilder& stack(std::vector<uint64_t> frames) {
    frames_ = std::move(frames);
    header.kernel_stack = static_cast<int16_t>(frames_.size() * 8);
    return *this;
  }
  RecordBuilder& user_stack(std::vector<uint64_t> frames) {
    user_frames_ = std::move(frames);
    header.user_stack = static_cast<int16_t>(user_frames_.size() * 8);
    return *this;
  }

  std::string bytes() {
    header.string_size = static_cast<uint8_t>(string_.size());
    std::string body = fields_;
    for (const auto* frames : {&frames_, &user_frames_}) {
      body.append(reinterpret_cast<const char*>(frames->data()), frames->size() * 8);
    }
    body += string_;
    header.size = static_cast<uint16_t>(sizeof(header) + body.size());
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + body;
  }

  stackmap_record_header header{};

 private:
  std::string fields_;
  std::string string_;
  std::vector<uint64_t> frames_;
  std::vector<uint64_t> user_frames_;
};

// A batch as the programs grow it: the first event's time and thread, then events and changes of the thread.
class BatchBuilder {
 public:
  BatchBuilder(uint64_t time_ns, uint32_t tid, uint32_t tgid) {
    header.kind = STACKMAP_BATCH;
    header.time_ns = time_ns;
    header.tid = tid;
    header.tgid = tgid;
  }
  BatchBuilder& event(uint32_t id, uint32_t delta_ns, const std::vector<uint64_t>& words) {
    ++header.kernel_stack;
    return entry(id, delta_ns, words);
  }
  BatchBuilder& thread(uint32_t tid, uint32_t tgid) { return entry(STACKMAP_BATCH_THREAD + tgid, tid, {}); }
  BatchBuilder& entry(uint32_t id, uint32_t delta_ns, const std::vector<uint64_t>& words) {
    const uint32_t head[2] = {delta_ns | static_cast<uint32_t>(words.size()) << STACKMAP_BATCH_TIME_BITS, id};
    entries_.append(reinterpret_cast<const char*>(head), sizeof(head));
    entries_.append(reinterpret_cast<const char*>(words.data()), words.size() * 8);
    return *this;
  }

  std::string bytes() {
    header.size = static_cast<uint16_t>(sizeof(header) + entries_.size());
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + entries_;
  }

  stackmap_record_header header{};

 private:
  std::string entries_;
};

}  // namespace stackmap_test
