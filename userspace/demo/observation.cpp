#include "demo/observation.h"

#include <algorithm>
#include <map>

#include "outputs/text/process_rows.h"

namespace memscope {
namespace {

template <class Size>
Line line_of(const Observation& seen, Size size) {
    Line line;
    for (const Moment& moment : seen) line.push_back({moment.at, size(moment)});
    return line;
}

template <class Counts>
Line members_line(const Observation& seen, Counts counts) {
    return line_of(seen, [&](const Moment& moment) {
        Bytes sum;
        for (const Member& member : moment.members)
            if (counts(member)) sum += member.anon;
        return sum;
    });
}

const Member* find_member(const Moment& moment, pid_t pid) {
    const auto found = std::ranges::find(moment.members, pid, &Member::pid);
    return found == moment.members.end() ? nullptr : &*found;
}

}  // namespace

void observe(Observation& seen, const Snapshot& snapshot, double began) {
    if (snapshot.targets.empty()) return;
    const TargetSnapshot& target = snapshot.targets.front();
    Moment moment{.at = Seconds{snapshot.time - began},
                  .cgroup_anon = target.memory.by_kind.anon,
                  .held = target.memory.held(),
                  .unsharing = target.sharing.explanation};
    if (const ScopeVerdict* verdict = target.verdict()) {
        moment.verdict = verdict->judgement.verdict;
        if (verdict->cause) moment.cause = verdict->cause->kind;
        moment.holders = verdict->holders;
        moment.lines = verdict->lines;
        moment.grower = verdict->grower;
        moment.loop = verdict->judgement.loop;
        if (const auto& since = verdict->judgement.leak_started) moment.leaks_since = *since - verdict->began;
        if (verdict->forecast) moment.full_in = verdict->forecast->eta;
    }
    for (const Death& death : target.deaths)
        if (death.cause == DeathCause::oom_kill)
            moment.kills.push_back({.at = Seconds{death.time - began},
                                    .role = death.role,
                                    .comm = death.comm,
                                    .explanation = death.explanation});
    if (!target.heap.empty()) moment.heap = target.heap.front().census;
    for (const auto& [key, unshared] : target.sharing.unshared) moment.unshared += unshared.bytes;
    for (const Process& process : target.processes)
        moment.members.push_back({.pid = process.task.id.pid,
                                  .parent = process.task.parent,
                                  .comm = process.task.comm,
                                  .title = title_of(process),
                                  .role = process.role,
                                  .anon = process.task.memory ? process.task.memory->anon : Bytes{}});
    seen.push_back(std::move(moment));
}

Line cgroup_line(const Observation& seen) {
    return line_of(seen, [](const Moment& moment) { return moment.cgroup_anon; });
}

Line held_line(const Observation& seen) {
    return line_of(seen, [](const Moment& moment) { return moment.held; });
}

Line summed_line(const Observation& seen) {
    return members_line(seen, [](const Member&) { return true; });
}

Line role_line(const Observation& seen, Role role) {
    return members_line(seen, [role](const Member& member) { return member.role == role; });
}

Line process_line(const Observation& seen, pid_t pid) {
    return members_line(seen, [pid](const Member& member) { return member.pid == pid; });
}

std::vector<SeenKill> kills_of(const Observation& seen) {
    std::vector<SeenKill> all;
    for (const Moment& moment : seen) all.insert(all.end(), moment.kills.begin(), moment.kills.end());
    return all;
}

std::optional<GrowingLines> leaking_lines(const Observation& seen) {
    const auto names_line = [](const Moment& moment) {
        return moment.verdict == Verdict::leaking && moment.lines && moment.lines->keeps;
    };
    std::map<std::string, std::size_t> named;
    for (const Moment& moment : seen)
        if (names_line(moment)) ++named[moment.lines->most];
    const Moment* chosen = nullptr;
    for (const Moment& moment : seen)
        if (names_line(moment) && (!chosen || named[moment.lines->most] >= named[chosen->lines->most]))
            chosen = &moment;
    return chosen ? chosen->lines : std::nullopt;
}

std::string last_holders(const Observation& seen) {
    for (auto moment = seen.rbegin(); moment != seen.rend(); ++moment)
        if (!moment->holders.empty()) return moment->holders;
    return {};
}

std::optional<GrowthCause::Kind> last_cause(const Observation& seen) {
    for (auto moment = seen.rbegin(); moment != seen.rend(); ++moment)
        if (moment->cause) return moment->cause;
    return std::nullopt;
}

const Moment* judged_moment(const Observation& seen) {
    if (seen.empty()) return nullptr;
    const auto kills = kills_of(seen);
    if (kills.empty()) return &seen.back();
    const Moment* before = nullptr;
    for (const Moment& moment : seen)
        if (moment.at < kills.back().at) before = &moment;
    return before;
}

std::optional<Member> most_grown(const Observation& seen) {
    if (seen.empty()) return std::nullopt;
    std::optional<Member> most;
    Bytes most_growth;
    for (const Member& now : seen.back().members) {
        const Member* before = find_member(seen.front(), now.pid);
        if (!before || (most && now.anon - before->anon <= most_growth)) continue;
        most = now;
        most_growth = now.anon - before->anon;
    }
    return most;
}

std::vector<Member> ancestors(const Observation& seen, const Member& of) {
    std::vector<Member> line;
    if (seen.empty()) return line;
    const std::vector<Member>& members = seen.back().members;
    pid_t parent = of.parent;
    while (line.size() < members.size()) {  // bounded: parents are read while they change, so they could form a cycle
        const Member* next = find_member(seen.back(), parent);
        if (!next) break;
        line.push_back(*next);
        parent = next->parent;
    }
    return line;
}

}  // namespace memscope
