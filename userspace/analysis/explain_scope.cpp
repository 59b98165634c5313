#include "analysis/explain_scope.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/explain.h"
#include "analysis/limit_text.h"
#include "analysis/line_history.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr double kBig = 0.1;  // of what the target holds: from here on a flat role is worth a word

std::string rank_text(const RoleKey& key) { return key.rank ? fmt::format(" of rank {}", *key.rank) : ""; }

// "the trainer's anonymous memory (pid 141495, two levels below `uv`)"
std::string grower_text(const Grower& grower) {
    std::string role(name_of(grower.role.role));
    std::ranges::replace(role, '_', ' ');
    std::string place = fmt::format("pid {}, {}", grower.pid, printable(grower.comm));
    if (grower.levels > 0)
        place +=
            fmt::format(", {} level{} below {}", grower.levels, grower.levels == 1 ? "" : "s", printable(grower.top));
    return fmt::format("Most of it is the {}{}: it grew by {} in {} ({}).", role, rank_text(grower.role),
                       human_size(grower.grown), human_duration(grower.over), place);
}

// "It grows at the same lines again and again, most of it lately (92 %) at validate (train.py:35)."
std::string lines_text(const GrowingLines& lines) {
    const std::string where =
        fmt::format("{} lately ({:.0f} %) at {}.", lines.share >= 0.5 ? "most of it" : "the largest part",
                    100 * lines.share, printable(lines.most));
    if (at_same_lines(lines)) return "It grows at the same lines again and again, " + where;
    if (at_new_lines(lines)) return "It grows at new lines each time, " + where;
    return "It grows at some lines again, at others for the first time, " + where;
}

// What the sentence of the curve does not say: a limit of an ancestor or of the host, and what the last minute alone
// foretells.
std::string limit_text(const Forecast& forecast) {
    if (!forecast.limit) return {};
    const EffectiveLimit& limit = *forecast.limit;
    const std::string whose = fmt::format("{} ({})", limit_name(limit.owner), human_size(limit.limit));
    if (forecast.basis == Forecast::Basis::trend)
        return fmt::format("What is held below {} has lately risen by {}: at this rate it is full in {}.", whose,
                           human_rate(forecast.rate), human_duration(forecast.eta));
    if (limit.owner == "own") return {};
    if (forecast.basis == Forecast::Basis::spike)
        return fmt::format("With what others hold there, the next spike would cross {} in {}.", whose,
                           human_duration(forecast.eta));
    return fmt::format("With what others hold there, {} is reached in {}.", whose, human_duration(forecast.eta));
}

// Which kind of memory it is, where that is not anonymous memory.
std::string kind_text(const MemoryState& memory) {
    if (memory.by_kind.shmem > memory.by_kind.anon)
        return "Most of it is shared memory: files in /dev/shm and other tmpfs, or segments that processes share.";
    return {};
}

std::string overhead_text(const ScopeVerdict& verdict, std::uint64_t processes, const TargetSnapshot& target) {
    const Bytes held = target.memory.unreclaimable + target.memory.swap;
    const Judgement& judgement = verdict.judgement;
    if (judgement.verdict != Verdict::stable || processes < 2) return {};
    if (static_cast<double>(judgement.floor.n) < kBig * static_cast<double>(held.n)) return {};
    return fmt::format("{} hold {}, flat: constant overhead, no leak.", role_text(*verdict.role, processes),
                       human_size(judgement.floor));
}

}  // namespace

std::string role_text(const RoleKey& key, std::uint64_t processes) {
    std::string role(name_of(key.role));
    std::ranges::replace(role, '_', ' ');
    if (processes == 1) return "The " + role + rank_text(key);
    return fmt::format("{} {}{}{}", processes, role, key.role == Role::other ? " processes" : "s", rank_text(key));
}

std::string explain_scope(const TargetSnapshot& target, const ScopeVerdict& verdict) {
    const auto present = verdict.role ? target.roles.find(*verdict.role) : target.roles.end();
    const std::uint64_t processes = present == target.roles.end() ? 0 : present->second.processes;
    if (verdict.role) {
        std::string overhead = overhead_text(verdict, processes, target);
        if (!overhead.empty()) return overhead;
    }
    const auto& expected = verdict.forecast;
    const bool own =
        expected && expected->limit && expected->limit->owner == "own" && expected->basis != Forecast::Basis::trend;
    std::string text =
        explain(verdict.judgement, verdict.began,
                own ? Circumstances{.limit = expected->limit->limit, .expected = expected} : Circumstances{});
    const auto append = [&text](const std::string& sentence) {
        if (!sentence.empty()) text += " " + sentence;
    };
    if (verdict.grower) append(grower_text(*verdict.grower));
    if (verdict.lines) append(lines_text(*verdict.lines));
    if (verdict.role) return role_text(*verdict.role, processes) + ": " + text;
    if (verdict.judgement.verdict == Verdict::leaking) append(kind_text(target.memory));
    if (verdict.forecast) append(limit_text(*verdict.forecast));
    return text;
}

bool adds_to(const TargetSnapshot& target, const ScopeVerdict& verdict) {
    if (verdict.scope == VerdictScope::target || verdict.judgement.verdict != Verdict::leaking) return false;
    if (!verdict.role) return true;
    const ScopeVerdict* whole = target.verdict();
    return !whole || !whole->grower || whole->grower->role != *verdict.role;
}

}  // namespace memscope
