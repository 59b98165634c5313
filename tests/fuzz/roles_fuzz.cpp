// Rules for the roles of processes. The processes choose their comm, their argv and the shape of the process tree.
#include <vector>

#include "analysis/roles/roles.h"
#include "fuzz.h"
#include "sources/proc/procfs.h"

namespace memscope::fuzz {

void one(std::string_view bytes) {
    Input input(bytes);
    // The option -timeout checks a property here, too: globs of users must not hang on hostile words.
    std::vector<RoleRule> rules{{.role = Role::helper, .comm = input.text()},
                                {.role = Role::launcher, .argument = input.text(), .parent = Role::trainer}};
    for (RoleRule& rule : rules) {  // the config file refuses them
        std::erase(rule.comm, '\0');
        std::erase(rule.argument, '\0');
    }
    RoleDecider decider(rules);
    std::vector<std::vector<std::string>> arguments(1 + input.number() % 8);
    for (auto& argv : arguments) argv = parse_argv(input.text());
    const std::size_t rounds = 1 + input.number() % 3;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<std::string> comms(input.number() % 16);
        for (std::string& comm : comms) comm = input.take(15);
        std::vector<RoleDecider::Subject> subjects;
        for (const std::string& comm : comms)  // few pids, so that they are reused and form rings
            subjects.push_back({.id = {input.number() % 8, std::uint64_t{input.number()} % 4},
                                .parent = input.number() % 8,
                                .comm = comm,
                                .argv = input.flag() ? &arguments[input.number() % arguments.size()] : nullptr,
                                .rank = parse_rank(input.take(8)),
                                .forked_without_exec = input.flag(),
                                .own_memory = input.flag(),
                                .exec_count = input.number()});
        const auto roles = decider.decide(subjects);
        require(roles.size() == subjects.size(), "every process gets a role");
        require(decider.remembered() <= subjects.size(), "roles of ended processes are forgotten");
    }
}

}  // namespace memscope::fuzz
