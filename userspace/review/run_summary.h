#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/growth/growth.h"
#include "recording/recording.h"

namespace memscope {

// A recorded run in figures. Sizes are judged memory, unless they say otherwise.
struct RunSummary {
    struct Top {
        Bytes bytes{};
        double time = 0;  // seconds since 1970
    };
    struct Part {
        Bytes peak{};
        std::uint64_t most_processes = 0;
    };

    std::string target{};
    std::string version{};  // of the memscope that recorded it
    double began = 0;       // seconds since 1970
    Seconds length{};
    std::uint64_t ticks = 0;
    Top peak{};
    std::optional<Bytes> kernel_peak{};  // the kernel's high-water mark, page cache included
    std::optional<Bytes> limit{};        // the nearest limit at the last tick with processes
    std::string limit_owner{};
    // At the last tick at which the target had processes: after their exit the series begins anew.
    std::optional<Judgement> judgement{};
    std::string explanation{};
    std::vector<ProcessHeap> heap{};  // censuses at that tick
    std::uint64_t most_processes = 0;
    std::map<std::string, Part> roles{};  // "trainer 0"
    std::map<std::string, Bytes> gpus{};  // highest use by UUID
    std::vector<RecordedEvent> events{};
    std::optional<Growth> growth{};

    std::vector<const RecordedEvent*> events_of(std::string_view kind) const;
};

Result<RunSummary> summarize(Recording& recording, const RecordedTarget& target, const RecordedSpan& span = {});

}  // namespace memscope
