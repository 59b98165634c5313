#pragma once
#include <cerrno>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "base/result.h"
#include "kernel/handles.h"

namespace memscope {

// Reads a BPF ring buffer whose records are values of one type. The object must keep its address, because the callback
// of libbpf has a pointer to it.
template <class Event>
class RecordRing {
  public:
    using Decode = Result<Event> (*)(std::span<const std::byte>);

    // `most_at_once`: maximum number of records per drain(). Without it, programs that write faster than memscope reads
    // would keep drain() running for ever.
    explicit RecordRing(Decode decode, std::size_t most_at_once = std::numeric_limits<std::size_t>::max())
        : decode_(decode), most_at_once_(most_at_once) {}
    RecordRing(const RecordRing&) = delete;
    RecordRing& operator=(const RecordRing&) = delete;

    Status open(int map, const char* purpose) {
        ring_.reset(ring_buffer__new(map, receive, this, nullptr));
        if (!ring_) return system_error(errno, purpose);
        return Done{};
    }
    bool is_open() const { return ring_ != nullptr; }
    int fd() const { return ring_buffer__epoll_fd(ring_.get()); }
    std::uint64_t malformed() const { return malformed_; }

    // Does nothing if the ring buffer is not open.
    void drain(const std::function<void(const Event&)>& visit) {
        if (!ring_) return;
        visit_ = &visit;
        left_ = most_at_once_;
        ring_buffer__consume(ring_.get());
        visit_ = nullptr;
    }

  private:
    static int receive(void* self, void* data, std::size_t size) {
        auto& ring = *static_cast<RecordRing*>(self);
        const auto event = ring.decode_({static_cast<const std::byte*>(data), size});
        if (!event)
            ++ring.malformed_;
        else if (ring.visit_)
            (*ring.visit_)(*event);
        return --ring.left_ == 0 ? -ECANCELED : 0;
    }

    Decode decode_;
    std::size_t most_at_once_;
    Ring ring_{};
    const std::function<void(const Event&)>* visit_ = nullptr;
    std::uint64_t malformed_ = 0;
    std::size_t left_ = 0;
};

}  // namespace memscope
