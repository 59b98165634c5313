#pragma once
#include "model/snapshot.h"
#include "view/keys.h"
#include "view/screen.h"

namespace memscope::view::test {

constexpr Bytes mib(std::uint64_t n) { return {n << 20U}; }
constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }

Process process(pid_t pid, Role role, const char* comm, const char* command, Bytes anon);
// Roles and counters as they follow from the processes.
void count_roles(TargetSnapshot& target);

// A launcher (100), a trainer (101) and three workers (110, 111, 112) that hold 2, 3 and 1 GiB.
TargetSnapshot training(const char* name = "train");
Snapshot example(double time = 1000);

// A view without a terminal.
struct Screen {
    State state{};
    History history{};
    Snapshot snapshot{};
    Look look{};
    std::optional<Growth> growth{};  // nullopt: growth is not recorded
    Scene scene{};

    explicit Screen(Snapshot first = example());
    void tick(Snapshot next);
    Reaction key(Key::Code code);
    Reaction type(const std::string& text);  // one key for each byte
    void draw();
    std::string text() const;
    std::vector<std::string> names() const;  // of the rows: "trainer", "101"
    std::string selected() const;
};

}  // namespace memscope::view::test
