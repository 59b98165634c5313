#include "analysis/targets/scope_sentence.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/growth/line_history.h"
#include "analysis/heap/census_schedule.h"
#include "analysis/heap/heap_sentence.h"
#include "analysis/limits/limit_sentence.h"
#include "analysis/limits/memory_peak.h"
#include "analysis/verdict/verdict_sentence.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr double kBig = 0.1;  // share of the target's memory; a role with constant memory above it is mentioned

std::string rank_text(const RoleKey& key) { return key.rank ? fmt::format(" of rank {}", *key.rank) : ""; }

// "the trainer's anonymous memory (pid 141495, two levels below `uv`)"
std::string grower_text(const Grower& grower) {
    std::string role(name_of(grower.role.role));
    std::ranges::replace(role, '_', ' ');
    std::string place = fmt::format("pid {}, {}", grower.pid, printable(grower.comm));
    if (grower.levels > 0)
        place +=
            fmt::format(", {} level{} below {}", grower.levels, grower.levels == 1 ? "" : "s", printable(grower.top));
    const std::string_view part = grower.share > 0.5 ? "Most of it is" : "The largest part of it is";
    return fmt::format("{} the {}{}: it grew by {} in {} ({}).", part, role, rank_text(grower.role),
                       human_size(grower.grown), human_duration(grower.over), place);
}

// "It grows at the same lines again and again: validate (train.py:35) keeps most of it (92 %)." The line that touched
// memory first is not named, because an allocator may have handed out the memory again since.
std::string lines_text(const GrowingLines& lines, bool holders_known) {
    std::string where = ".";
    if (lines.keeps)
        where = fmt::format(": {} keeps most of it ({:.0f} %).", printable(lines.most), 100 * lines.share);
    else if (!holders_known)
        where = ": which line keeps it is not known, `memscope heap` shows what is live and what is free.";
    if (at_same_lines(lines)) return "It grows at the same lines again and again" + where;
    if (at_new_lines(lines)) return "It grows at new lines each time" + where;
    return "It grows partly at the same lines again, partly at new lines" + where;
}

// Facts that the sentence about the curve does not contain: a limit of an ancestor or of the host, and the forecast
// from the last minute.
std::string forecast_text(const Forecast& forecast) {
    if (!forecast.limit) return {};
    const EffectiveLimit& limit = *forecast.limit;
    const std::string whose = fmt::format("{} ({})", limit_name(limit.owner), human_size(limit.limit));
    if (forecast.basis == Forecast::Basis::trend)
        return fmt::format("Use of {} lately rose by {}: at this rate it is full in {}.", whose,
                           human_rate(forecast.rate), human_duration(forecast.eta));
    if (limit.owner == "own") return {};
    if (forecast.basis == Forecast::Basis::spike)
        return fmt::format("Together with other jobs, the next spike would cross {} in {}.", whose,
                           human_duration(forecast.eta));
    return fmt::format("Together with other jobs, {} is reached in {}.", whose, human_duration(forecast.eta));
}

// "3 dataloader workers made of the trainer's pages"
std::string copiers_text(const Sharing& sharing, const std::optional<RoleKey>& role) {
    Copiers by = sharing.copiers.value_or(Copiers{.confirmed = false});
    if (role) {
        by.role = role->role;
        if (const auto found = sharing.unshared.find(*role); found != sharing.unshared.end())
            by.processes = found->second.processes;
    }
    std::string name = by.role == Role::dataloader_worker ? "dataloader worker"
                       : by.role == Role::compile_worker  ? "compile worker"
                                                          : "forked process";
    const bool one = by.processes == 1;
    if (!one) name += name.ends_with("s") ? "es" : "s";
    const std::string_view whose = by.parent == Role::trainer ? "the trainer's"
                                   : one                      ? "its parent's"
                                                              : "their parent's";
    return fmt::format("{} {} made of {} pages", by.processes, name, whose);
}

// Explains growth that consists of memory which the program does not keep, and what helps against it.
std::string cause_text(const TargetSnapshot& target, const ScopeVerdict& verdict) {
    const GrowthCause& cause = *verdict.cause;
    // Relative to the rise of the floor, which the sentence before has mentioned.
    const double rise = verdict.judgement.rise;
    const std::string size = human_size(rise > 0 ? Bytes{static_cast<std::uint64_t>(cause.share * rise)} : cause.bytes);
    switch (cause.kind) {
        case GrowthCause::Kind::unsharing: {
            const auto& copiers = target.sharing.copiers;
            const bool python = verdict.role ? verdict.role->role == Role::dataloader_worker
                                             : copiers && copiers->role == Role::dataloader_worker;
            return fmt::format("{} of it {} copies that {} (copy-on-write un-sharing); {}", size,
                               copiers && copiers->confirmed ? "are" : "seem to be",
                               copiers_text(target.sharing, verdict.role),
                               python ? "keep the dataset in arrays, not in lists of objects"
                                      : "a page is copied when one of the processes that share it writes to it");
        }
        case GrowthCause::Kind::shared_memory:
            return fmt::format(
                "{} of it are shared memory, which is freed when its files are removed, not when its processes exit; "
                "check "
                "files in /dev/shm and other tmpfs, and tensors that are kept in shared memory",
                size);
        case GrowthCause::Kind::page_tables:
            return fmt::format(
                "{} of it are page tables; to need fewer of them, let fewer processes map the same large memory, or "
                "use "
                "huge pages",
                size);
        case GrowthCause::Kind::kernel:
            return fmt::format(
                "{} of it are kernel memory that cannot be reclaimed; check for open files, sockets and processes "
                "that are left behind",
                size);
        case GrowthCause::Kind::malloc_free:
        case GrowthCause::Kind::python_free: {
            const bool python = cause.kind == GrowthCause::Kind::python_free;
            std::string text =
                free_memory_sentence(target, python ? HeapPart::python_free : HeapPart::malloc_free, verdict.role);
            if (!text.empty()) return text;
            return fmt::format("{} of it are free inside {}", size, python ? "Python's allocator" : "malloc");
        }
    }
    return {};
}

// If heap censuses explain a part of the target, says which processes they do not explain.
std::string unread_text(const TargetSnapshot& target, const ScopeVerdict& verdict) {
    const std::size_t large = count_large(target.processes, verdict.role);
    const auto read = static_cast<std::size_t>(std::ranges::count_if(
        target.heap, [&](const ProcessHeap& heap) { return !verdict.role || heap.role == *verdict.role; }));
    if (target.heap.empty() || read >= large) return {};
    const std::string rule =
        fmt::format("memscope reads the largest of each role and rank, at most {} of a target", kMostCensuses);
    if (read == 0)
        return fmt::format(
            "No heap census was taken here, so memory that an allocator keeps free there is not known: {}.", rule);
    return fmt::format(
        "Heap censuses were taken of {} of {} large processes, so memory that an allocator keeps free in the others is "
        "not known: {}.",
        read, large, rule);
}

std::string overhead_text(const ScopeVerdict& verdict, std::uint64_t processes, const TargetSnapshot& target) {
    const Bytes held = target.memory.held();
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

std::string scope_sentence(const TargetSnapshot& target, const ScopeVerdict& verdict) {
    const auto present = verdict.role ? target.roles.find(*verdict.role) : target.roles.end();
    const std::uint64_t processes = present == target.roles.end() ? 0 : present->second.processes;
    if (verdict.role) {
        std::string overhead = overhead_text(verdict, processes, target);
        if (!overhead.empty()) return overhead;
    }
    const auto& expected = verdict.forecast;
    const bool own =
        expected && expected->limit && expected->limit->owner == "own" && expected->basis != Forecast::Basis::trend;
    Judgement judgement = verdict.judgement;
    if (!verdict.role) judgement.room = room_for(target, judgement.room);
    const std::string cause = verdict.cause ? cause_text(target, verdict) : "";
    const bool leaks = judgement.verdict == Verdict::leaking;
    Circumstances known;
    if (!verdict.role && std::holds_alternative<Bytes>(target.memory.limit))
        known.limit = std::get<Bytes>(target.memory.limit);
    if (own) {
        known.limit = expected->limit->limit;
        known.expected = expected;
    }
    if (leaks && !cause.empty()) known.advice = cause;
    std::string text = verdict_sentence(judgement, verdict.began, known);
    const auto append = [&text](const std::string& sentence) {
        if (!sentence.empty()) text += " " + sentence;
    };
    if (!leaks && !cause.empty()) append(cause + ".");  // for a leak, the text contains it already
    // The grower and the lines are left out if the growth is memory that the program does not keep (`cause`), because a
    // second diagnosis would contradict the first.
    if (verdict.grower && !verdict.cause) append(grower_text(*verdict.grower));
    append(printable(verdict.holders));
    if (verdict.lines && !verdict.cause) append(lines_text(*verdict.lines, !verdict.holders.empty()));
    if (leaks) append(unread_text(target, verdict));
    if (verdict.role) return role_text(*verdict.role, processes) + ": " + text;
    if (verdict.forecast) append(forecast_text(*verdict.forecast));
    return text;
}

bool adds_to(const TargetSnapshot& target, const ScopeVerdict& verdict) {
    if (verdict.scope == VerdictScope::target || verdict.judgement.verdict != Verdict::leaking) return false;
    if (!verdict.role) return true;
    const ScopeVerdict* whole = target.verdict();
    if (whole && whole->cause) return !verdict.cause || verdict.cause->kind != whole->cause->kind;
    return !whole || !whole->grower || whole->grower->role != *verdict.role;
}

bool says_unsharing(const TargetSnapshot& target) {
    const ScopeVerdict* whole = target.verdict();
    return whole && whole->cause && whole->cause->kind == GrowthCause::Kind::unsharing;
}

}  // namespace memscope
