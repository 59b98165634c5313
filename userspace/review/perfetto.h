#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

// Writes a trace in the format of Perfetto: https://perfetto.dev/docs/reference/trace-packet-proto
namespace memscope::perfetto {

// Field numbers of the messages in trace_packet.proto, track_descriptor.proto, track_event.proto and the files that
// they include.
namespace trace {
enum : std::uint32_t { packet = 1 };
}
namespace packet {
enum : std::uint32_t {
    clock_snapshot = 6,
    timestamp = 8,
    sequence = 10,
    track_event = 11,
    sequence_flags = 13,
    track_descriptor = 60
};
}
namespace clocks {
enum : std::uint32_t { clock = 1 };
}
namespace clock_field {
enum : std::uint32_t { id = 1, timestamp = 2 };
}
namespace descriptor {
enum : std::uint32_t { uuid = 1, name = 2, process = 3, parent = 5, counter = 8 };
}
namespace process_field {
enum : std::uint32_t { pid = 1, command = 2, name = 6, start_ns = 7 };
}
namespace counter_field {
enum : std::uint32_t { unit = 3 };
}
namespace event {
enum : std::uint32_t { annotation = 4, type = 9, track = 11, name = 23, counter_value = 30 };
}
namespace annotation {
enum : std::uint32_t { text = 6, name = 10 };
}

enum class Unit : std::int32_t { count = 2, bytes = 3 };
enum class Type : std::int32_t { begin = 1, end = 2, instant = 3, counter = 4 };
using Track = std::uint64_t;  // its UUID; 0: none

// A process as the trace shows it. Texts can contain any bytes.
struct TraceProcess {
    std::int32_t pid = 0;
    std::string_view name{};
    std::string_view command{};
    std::int64_t start_ns = 0;
};

// Makes packets. Times are nanoseconds. Each call appends whole packets, so take() can be called between any two calls.
class TraceWriter {
  public:
    // Begins the trace and declares that its clock is the time since 1970.
    void add_clock(std::int64_t at);
    Track add_track(std::string_view name, Track parent);
    Track add_counter(std::string_view name, Unit unit, Track parent);
    Track add_process(const TraceProcess& process);

    void add_value(Track counter, std::int64_t at, std::int64_t value);
    // A slice ends with the next end() on its track. `details` is shown when the slice is selected.
    void begin(Track track, std::int64_t at, std::string_view name, std::string_view details = {});
    void end(Track track, std::int64_t at);
    void add_instant(Track track, std::int64_t at, std::string_view name, std::string_view details = {});

    std::string take();  // the bytes since the last call

  private:
    template <class More>
    Track describe(More more);
    void add_event(Track track, std::int64_t at, Type type, std::string_view name, std::string_view details);

    std::string bytes_{};
    Track last_track_ = 0;
};

}  // namespace memscope::perfetto
