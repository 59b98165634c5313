#include "analysis/roles/roles.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace memscope {
namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

// For each subject, the position of its parent among the subjects. If a pid was reused within a tick, it occurs twice;
// a parent is never younger than its child.
std::vector<std::size_t> parents_of(std::span<const RoleDecider::Subject> subjects) {
    std::vector<std::size_t> by_id(subjects.size());
    std::iota(by_id.begin(), by_id.end(), std::size_t{0});
    const auto id_of = [&](std::size_t i) { return subjects[i].id; };
    if (!std::ranges::is_sorted(by_id, {}, id_of)) std::ranges::sort(by_id, {}, id_of);

    std::vector<std::size_t> parents(subjects.size(), kNobody);
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        const auto after =
            std::ranges::upper_bound(by_id, ProcessId{subjects[i].parent, subjects[i].id.start_ns}, {}, id_of);
        if (after == by_id.begin()) continue;
        const std::size_t candidate = *std::prev(after);
        if (candidate != i && subjects[candidate].id.pid == subjects[i].parent) parents[i] = candidate;
    }
    return parents;
}

const std::vector<std::string>& argv_of(const RoleDecider::Subject& subject, const RoleDecider::Subject* parent) {
    static const std::vector<std::string> none;
    if (subject.argv && !subject.argv->empty()) return *subject.argv;
    // A fork keeps the argv of its parent.
    if (subject.forked_without_exec && parent && parent->argv) return *parent->argv;
    return none;
}

}  // namespace

std::size_t RoleDecider::HashId::operator()(const ProcessId& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.start_ns * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(id.pid));
}

RoleDecider::RoleDecider(std::vector<RoleRule> user_rules) : rules_(std::move(user_rules)) {
    const auto& builtin = builtin_role_rules();
    rules_.insert(rules_.end(), builtin.begin(), builtin.end());
}

std::vector<RoleKey> RoleDecider::decide(std::span<const Subject> subjects) {
    enum class State : std::uint8_t { fresh, waiting, done };
    ++round_;
    const auto parents = parents_of(subjects);
    std::vector<RoleKey> keys(subjects.size());
    std::vector<State> states(subjects.size(), State::fresh);
    std::vector<std::size_t> line;  // a process and its undecided ancestors; on the heap, because the chain can be long
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        for (std::size_t at = i; at != kNobody && states[at] == State::fresh; at = parents[at]) {
            states[at] = State::waiting;
            line.push_back(at);
        }
        for (; !line.empty(); line.pop_back()) {
            const std::size_t at = line.back();
            const std::size_t parent = parents[at];
            std::optional<Known> known;
            if (parent != kNobody && states[parent] == State::done) known = {&subjects[parent], keys[parent]};
            keys[at] = decide_one(subjects[at], known);
            states[at] = State::done;
        }
    }
    std::erase_if(entries_, [&](const auto& entry) { return entry.second.seen != round_; });
    return keys;
}

// Caches answers, because checking all rules costs about 15 us and a job that starts thousands of processes starts
// similar ones.
Role RoleDecider::decide_cached(const RoleFacts& facts) {
    constexpr std::size_t kMostAnswers = 1024;
    constexpr std::size_t kLongestQuestion = 1024;
    std::string question(facts.comm);
    question += facts.forked_without_exec ? "\1f" : "\1e";
    question += facts.own_memory ? 'm' : 'v';
    question += facts.gpu_context ? 'g' : 'c';
    question += facts.parent_role ? name_of(*facts.parent_role) : "";
    for (const std::string& argument : facts.argv) {
        question += '\0';
        question += argument;
        if (question.size() > kLongestQuestion) return decide_role(facts, rules_);
    }
    if (answers_.size() >= kMostAnswers) answers_.clear();
    const auto [answer, is_new] = answers_.try_emplace(std::move(question), Role::other);
    if (is_new) answer->second = decide_role(facts, rules_);
    return answer->second;
}

RoleKey RoleDecider::decide_one(const Subject& subject, const std::optional<Known>& parent) {
    Entry& entry = entries_[subject.id];
    entry.seen = round_;
    // An orphan keeps the role that follows from its real parent, because the init or launcher that adopts it did not
    // fork it.
    if (parent && (!entry.parent || entry.parent_pid == subject.parent)) {
        entry.parent = parent->key;
        entry.parent_pid = subject.parent;
    }
    const auto& argv = argv_of(subject, parent ? parent->subject : nullptr);
    // An exiting process frees its memory before it is gone, which does not make it a vfork child.
    if (entry.evidence.exec_count != subject.exec_count) entry.had_memory = false;
    if (subject.own_memory == true) entry.had_memory = true;
    Evidence evidence{
        .comm = std::string(subject.comm),
        .arguments = argv.size(),
        .argument_bytes = std::accumulate(argv.begin(), argv.end(), std::size_t{0},
                                          [](std::size_t sum, const std::string& a) { return sum + a.size(); }),
        .exec_count = subject.exec_count,
        .forked_without_exec = subject.forked_without_exec,
        // True if it had memory of its own, or if that is not known yet.
        .own_memory = entry.had_memory || !subject.own_memory,
        .gpu_context = subject.gpu_context,
        .parent = entry.parent ? std::optional(entry.parent->role) : std::nullopt,
    };
    if (!entry.decided || evidence != entry.evidence) {
        entry.role = decide_cached({.comm = evidence.comm,
                                    .argv = argv,
                                    .forked_without_exec = evidence.forked_without_exec,
                                    .own_memory = evidence.own_memory,
                                    .gpu_context = evidence.gpu_context,
                                    .parent_role = evidence.parent});
        entry.evidence = std::move(evidence);
        entry.decided = true;
    }
    std::optional<int> rank = subject.rank;
    if (!rank && entry.role == Role::trainer) rank = subject.gpu_index;
    if (!rank && entry.parent) rank = entry.parent->rank;
    return {entry.role, rank};
}

}  // namespace memscope
