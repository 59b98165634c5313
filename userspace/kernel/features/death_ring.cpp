#include "kernel/features/death_ring.h"

#include <cerrno>
#include <span>

#include "kernel/features/decode.h"
#include "kernel/features/feature.h"

namespace memscope {

struct DeathRing::State {
    Ring ring{};
    const std::function<void(LastWords)>* visit = nullptr;
    std::uint64_t malformed = 0;

    static int receive(void* self, void* data, std::size_t size) {
        auto& state = *static_cast<State*>(self);
        auto words = decode_death({static_cast<const std::byte*>(data), size}, page_bytes());
        if (!words)
            ++state.malformed;
        else if (state.visit)
            (*state.visit)(std::move(*words));
        return 0;
    }
};

void DeathRing::Free::operator()(State* state) const { delete state; }

Result<DeathRing> DeathRing::open(int deaths_map) {
    std::unique_ptr<State, Free> state(new State);
    state->ring.reset(ring_buffer__new(deaths_map, State::receive, state.get(), nullptr));
    if (!state->ring) return system_error(errno, "open the ring of deaths");
    return DeathRing(std::move(state));
}

int DeathRing::fd() const { return ring_buffer__epoll_fd(state_->ring.get()); }
std::uint64_t DeathRing::malformed() const { return state_->malformed; }

void DeathRing::drain(const std::function<void(LastWords)>& visit) {
    state_->visit = &visit;
    ring_buffer__consume(state_->ring.get());
    state_->visit = nullptr;
}

}  // namespace memscope
