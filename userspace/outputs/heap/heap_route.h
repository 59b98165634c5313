#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "model/snapshot.h"
#include "outputs/http/http_message.h"

namespace memscope {

// Heap censuses that were taken for a request. One of the lists may be empty.
struct HeapAnswer {
    std::vector<ProcessHeap> processes{};  // largest first
    std::vector<Error> failed{};
};
// Takes censuses now, of the process with that pid or of the largest processes of the target, and waits for them. Any
// thread may call it, except the thread of the ticks.
using HeapSource = std::function<HeapAnswer(const TargetSnapshot& target, std::optional<pid_t> pid)>;

// /api/v1/heap: what is in the heaps of a target. Query: `pid`, `format` (json, text), `top` (entries of each list),
// `type` (only holders of this type), and for text `columns`.
HttpResponse answer_heap(const TargetSnapshot& target, const HeapSource& source, const HttpRequest& request);

}  // namespace memscope
