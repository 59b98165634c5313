#pragma once
#include <functional>
#include <memory>

#include "base/result.h"
#include "model/deaths/last_words.h"

namespace memscope {

// The ring that processes leave their last words in.
class DeathRing {
  public:
    static Result<DeathRing> open(int deaths_map);

    int fd() const;  // readable when somebody has died
    void drain(const std::function<void(LastWords)>& visit);
    std::uint64_t malformed() const;

  private:
    struct State;
    struct Free {
        void operator()(State* state) const;
    };
    explicit DeathRing(std::unique_ptr<State, Free> state) : state_(std::move(state)) {}
    std::unique_ptr<State, Free> state_;  // stable address: the ring's callback holds it
};

}  // namespace memscope
