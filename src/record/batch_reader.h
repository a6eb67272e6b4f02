// SPDX-License-Identifier: Apache-2.0
// A batch (bpf/stackmap_cache.h): a record that holds many events, each as the id of its template and what the template
// does not have. The bytes are not trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "record/reject.h"
#include "record/sample_template.h"

namespace stackmap {

// Whether a record is a batch.
bool is_batch(std::span<const std::byte> record);

// Reads a batch entry by entry: next() until it says no, then rest(). `record` must outlive the reader.
class BatchReader {
 public:
  BatchReader(std::span<const std::byte> record, uint32_t cpu);

  bool next();
  // Of the entry that next() went to.
  uint32_t id() const { return id_; }
  const BatchEvent& event() const { return event_; }
  // Whether it has as many words as an event of this kind.
  bool fits(const RecordLayout& layout) const { return layout.is_cached() && layout.dynamic_words() == words_; }

  // The events that cannot be read, if there are any: the batch is cut or garbled from there on.
  struct Rest {
    Reject reason = Reject::kBadSize;
    uint64_t events = 0;
  };
  const std::optional<Rest>& rest() const { return rest_; }

 private:
  void end();

  std::span<const std::byte> bytes_;
  uint64_t left_ = 0;  // events that are to come
  uint64_t begun_ns_ = 0;
  BatchEvent event_;
  uint32_t id_ = 0;
  size_t words_ = 0;
  std::optional<Rest> rest_;
};

// Tells of each event of a batch, in order, once: as an event or as rejected. One that cannot be understood costs no
// other, unless the batch is cut or garbled: then all that follow are rejected, as many as it says that it has.
//
//   find(id)                               a pointer to the template that was published under this id; null if none was
//   sink.on_event(event, template)         what find() gave for it
//   sink.on_reject(Reject, uint64_t events)
template <typename Find, typename Sink>
void decode_batch(std::span<const std::byte> record, uint32_t cpu, const Find& find, Sink& sink) {
  BatchReader batch(record, cpu);
  while (batch.next()) {
    const auto* from = find(batch.id());
    if (from == nullptr) {
      sink.on_reject(Reject::kUnknownTemplate, uint64_t{1});
    } else if (!batch.fits(record_layout(from->kind()))) {
      sink.on_reject(Reject::kBadSize, uint64_t{1});
    } else {
      sink.on_event(batch.event(), *from);
    }
  }
  if (batch.rest()) {
    sink.on_reject(batch.rest()->reason, batch.rest()->events);
  }
}

}  // namespace stackmap
