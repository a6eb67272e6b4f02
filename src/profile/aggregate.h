// SPDX-License-Identifier: Apache-2.0
// Events -> profile. An event costs one probe of a flat table; names are looked up once a distinct stack. One that
// stands for several (event_repeats.h) counts that often.
//
// No weight is dropped for want of a stack: an event whose stack is missing goes to a bucket frame that says why.
#pragma once

#include "base/result.h"
#include "profile/event_source.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "profile/weights/weight.h"

namespace stackmap {

struct AggregateOptions {
  const WeightInfo* weight = weights().front();
  bool merge_tasks = false;    // no root frame for the task
  bool module_suffix = false;  // "name [module]"
};

// The first column is the weight. If that is not in events, the second one is how often there was a value. Fails only
// if the source does.
Result<Profile> aggregate(const EventSource& source, const Filter& filter, const AggregateOptions& options);

// The same of a capture, with names for what it does not name itself, or null. Fails only if it cannot be read.
Result<Profile> make_profile(const Capture& capture, const Filter& filter, const AggregateOptions& options,
                             const LentNames* names);

}  // namespace stackmap
