#pragma once
#include <algorithm>
#include <bpf/bpf.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/result.h"
#include "kernel/bpf/handles.h"
#include <memscope/shared/wire.h>

namespace memscope {

// Maximum number of events that a ring buffer can hold, if none is smaller than `smallest` bytes. A drain that stops
// after this number has read every event that was there when it began. Without a limit, programs that write faster
// than memscope reads would keep the drain running for ever. The other events stay in the ring buffer, whose descriptor
// stays readable.
inline std::size_t most_events(int map, std::size_t smallest) {
    bpf_map_info info{};
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(map, &info, &size) != 0) return 1;
    return std::max<std::size_t>(info.max_entries / (smallest + BPF_RINGBUF_HDR_SZ), 1);
}

// Reads a BPF ring buffer whose events are values of one type. The object must keep its address, because the callback
// of libbpf has a pointer to it.
template <class Event>
class EventRing {
  public:
    using Decode = Result<Event> (*)(std::span<const std::byte>);

    // `smallest`: size of the smallest event.
    explicit EventRing(Decode decode, std::size_t smallest = sizeof(ms_header))
        : decode_(decode), smallest_(smallest) {}
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;

    Status open(int map, const char* purpose) {
        ring_.reset(ring_buffer__new(map, receive, this, nullptr));
        if (!ring_) return system_error(errno, purpose);
        most_at_once_ = most_events(map, smallest_);
        return Done{};
    }
    bool is_open() const { return ring_ != nullptr; }
    int fd() const { return ring_buffer__epoll_fd(ring_.get()); }
    std::uint64_t malformed() const { return malformed_; }

    // Visits all events that are there at the beginning, and some of those that are added meanwhile. Does nothing if
    // the ring buffer is not open.
    void drain(const std::function<void(const Event&)>& visit) {
        if (!ring_) return;
        visit_ = &visit;
        left_ = most_at_once_;
        ring_buffer__consume(ring_.get());
        visit_ = nullptr;
    }

  private:
    static int receive(void* self, void* data, std::size_t size) {
        auto& ring = *static_cast<EventRing*>(self);
        const auto event = ring.decode_({static_cast<const std::byte*>(data), size});
        if (!event)
            ++ring.malformed_;
        else if (ring.visit_)
            (*ring.visit_)(*event);
        return --ring.left_ == 0 ? -ECANCELED : 0;
    }

    Decode decode_;
    std::size_t smallest_;
    std::size_t most_at_once_ = 1;
    Ring ring_{};
    const std::function<void(const Event&)>* visit_ = nullptr;
    std::uint64_t malformed_ = 0;
    std::size_t left_ = 0;
};

}  // namespace memscope
