#include "kernel/features/range_ring.h"

#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "kernel/features/decode.h"
#include <memscope/shared/ranges.h>

namespace memscope {

namespace {

// Somewhat more than the ring holds. Programs that map faster than we read would keep us here for ever.
constexpr std::size_t kMostAtOnce = 65'536;

}  // namespace

struct RangeRing::State {
    Ring ring{};
    const std::function<void(const RangeEvent&)>* visit = nullptr;
    std::uint64_t malformed = 0;
    std::size_t left = 0;

    static int receive(void* self, void* data, std::size_t size) {
        auto& state = *static_cast<State*>(self);
        const auto event = decode_range_event({static_cast<const std::byte*>(data), size});
        if (!event)
            ++state.malformed;
        else if (state.visit)
            (*state.visit)(*event);
        return --state.left == 0 ? -ECANCELED : 0;
    }
};

void RangeRing::Free::operator()(State* state) const { delete state; }

Result<RangeRing> RangeRing::open(int ranges_map) {
    std::unique_ptr<State, Free> state(new State);
    state->ring.reset(ring_buffer__new(ranges_map, State::receive, state.get(), nullptr));
    if (!state->ring) return system_error(errno, "open the ring of ranges");
    return RangeRing(std::move(state));
}

int RangeRing::fd() const { return ring_buffer__epoll_fd(state_->ring.get()); }
std::uint64_t RangeRing::malformed() const { return state_->malformed; }

void RangeRing::drain(const std::function<void(const RangeEvent&)>& visit) {
    state_->visit = &visit;
    state_->left = kMostAtOnce;
    ring_buffer__consume(state_->ring.get());
    state_->visit = nullptr;
}

std::optional<std::uint64_t> read_lost_ranges(int mappings_map, pid_t process) {
    bpf_map_info info{};
    __u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(mappings_map, &info, &size) != 0 || info.value_size < sizeof(ms_range_state))
        return std::nullopt;
    std::vector<std::byte> entry(info.value_size);
    if (bpf_map_lookup_elem(mappings_map, &process, entry.data()) != 0) return std::nullopt;
    ms_range_state state;
    std::memcpy(&state, entry.data(), sizeof state);
    return state.lost;
}

}  // namespace memscope
