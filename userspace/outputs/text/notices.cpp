#include "outputs/text/notices.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <set>

#include "analysis/limits/limit_sentence.h"
#include "base/text.h"

namespace memscope {
namespace {

constexpr std::array kMarks = {50, 75, 90, 95};  // percent of the limit
constexpr int kRelief = 90;                      // falling below this mark again makes a line
constexpr double kClearly = 5;                   // percentage points
constexpr double kLongEnough = 60;               // seconds

double percent(const EffectiveLimit& limit) { return 100 * limit.held_share(); }

// The highest mark that is reached, or missed by less than `margin` percentage points; 0: none.
int highest_mark(double percent, double margin = 0) {
    const auto mark = std::find_if(kMarks.rbegin(), kMarks.rend(), [&](int m) { return percent >= m - margin; });
    return mark == kMarks.rend() ? 0 : *mark;
}

// The current limit of that owner, whether or not it is the effective one.
std::optional<EffectiveLimit> limit_of(const std::string& owner, const MemoryState& memory) {
    if (memory.effective && memory.effective->owner == owner) return memory.effective;
    const auto found = std::ranges::find(memory.candidates, owner, &LimitCandidate::owner);
    return found == memory.candidates.end() ? std::nullopt : std::optional(as_limit(*found));
}

// Memory of other jobs also counts against the limit of an ancestor or of the host, so the share of this job is named.
std::string held_text(const EffectiveLimit& limit, const MemoryState& memory) {
    std::string text = human_size(limit.held()) + " of unreclaimable memory";
    if (limit.owner == "own") return text;
    return text + fmt::format(" ({} of it by this job)", human_size(std::min(limit.held(), memory.held())));
}

}  // namespace

std::optional<std::string> LimitMarks::rise(double time, const EffectiveLimit& limit, const MemoryState& memory,
                                            Marks& marks) {
    const double now = percent(limit);
    if (now < marks.relieved) marks.above_since.reset();
    if (now < marks.relieved - kClearly) marks.relieved = 0;
    const int mark = highest_mark(now);
    if (mark <= marks.reported) return std::nullopt;
    if (mark == marks.relieved) {  // the size did not fall clearly below the mark, so it may vary slowly around it
        if (!marks.above_since) marks.above_since = time;
        if (time - *marks.above_since < kLongEnough) return std::nullopt;
    }
    marks = {.reported = mark};
    return fmt::format("{}, above {} % of {} ({}); {} of headroom", held_text(limit, memory), mark,
                       limit_name(limit.owner), human_size(limit.limit), human_size(limit.headroom));
}

std::optional<std::string> LimitMarks::relief(double time, const EffectiveLimit& limit, Marks& marks) {
    const double now = percent(limit);
    if (now >= marks.reported) {
        marks.below_since.reset();
        return std::nullopt;
    }
    if (!marks.below_since) marks.below_since = time;
    const bool clearly = now < marks.reported - kClearly;
    if (!clearly && time - *marks.below_since < kLongEnough) return std::nullopt;
    const int left = marks.reported;
    // Lower marks that are missed by little still count as reached.
    marks.reported = clearly ? highest_mark(now, kClearly) : highest_mark(now);
    marks.below_since.reset();
    if (!clearly) marks.relieved = left;
    if (left < kRelief || marks.reported >= kRelief) return std::nullopt;
    return fmt::format("{} of unreclaimable memory, fell below {} % of {} ({})", human_size(limit.held()), kRelief,
                       limit_name(limit.owner), human_size(limit.limit));
}

std::vector<std::string> LimitMarks::lines_at(double time, const MemoryState& memory) {
    std::vector<std::string> lines;
    const auto add = [&](std::optional<std::string> line) {
        if (line) lines.push_back(*std::move(line));
    };
    std::erase_if(limits_, [&](const auto& entry) { return !limit_of(entry.first, memory); });
    for (auto& [owner, marks] : limits_)
        if (marks.reported > 0) add(relief(time, *limit_of(owner, memory), marks));
    if (memory.effective) add(rise(time, *memory.effective, memory, limits_[memory.effective->owner]));
    return lines;
}

namespace {

const TargetSnapshot* find(const Snapshot* snapshot, const std::string& name) {
    return snapshot ? find_target(*snapshot, name) : nullptr;
}

std::string counted(std::uint64_t n, std::string noun) {
    std::ranges::replace(noun, '_', ' ');
    const bool countable = noun != name_of(Role::other);
    return fmt::format("{} {}{}", n, noun, n == 1 || !countable ? "" : noun.ends_with("s") ? "es" : "s");
}

// "9 processes (1 trainer, 8 dataloader workers)"
std::string process_counts(const TargetSnapshot& target) {
    std::map<Role, std::uint64_t> by_role;
    for (const auto& [key, totals] : target.roles) by_role[key.role] += totals.processes;
    std::string roles;
    for (const auto& [role, n] : by_role)
        if (n > 0) roles += (roles.empty() ? "" : ", ") + counted(n, std::string(name_of(role)));
    const std::string total = counted(target.processes.size(), "process");
    return roles.empty() ? total : total + " (" + roles + ")";
}

void oom_kills(const TargetSnapshot& before, const TargetSnapshot& now, std::vector<std::string>& lines) {
    if (!before.memory.events || !now.memory.events) return;
    const std::uint64_t was = before.memory.events->oom_kill;
    const std::uint64_t is = now.memory.events->oom_kill;
    // OOM kills that have a line of their own are not counted again. A large process may take a while to die.
    const std::uint64_t known = now.death_tally.of(DeathCause::oom_kill) - before.death_tally.of(DeathCause::oom_kill);
    if (is > was + known)  // a lower count means another cgroup under the same path, not an event
        lines.push_back(
            fmt::format("the kernel killed {} because memory ran out (oom_kill {})", counted(is - was, "process"), is));
}

// One line for all processes with the same cause and sender, because they were killed together.
void deaths(const TargetSnapshot& now, std::vector<std::string>& lines) {
    std::vector<const Death*> first;
    std::vector<std::uint64_t> more;
    for (const Death& death : now.deaths) {
        if (!death.news) continue;
        const auto same = std::ranges::find_if(first, [&](const Death* other) {
            return other->cause == death.cause && other->sender == death.sender && other->signal == death.signal &&
                   other->sent_by.has_value() == death.sent_by.has_value() &&
                   (!death.sent_by || other->sent_by->pid == death.sent_by->pid);
        });
        if (same != first.end()) {
            ++more[static_cast<std::size_t>(same - first.begin())];
            continue;
        }
        first.push_back(&death);
        more.push_back(0);
    }
    for (std::size_t i = 0; i < first.size(); ++i)
        lines.push_back(fmt::format("death: {}{}", first[i]->explanation,
                                    more[i] > 0 ? fmt::format(", and {} more died the same way", more[i]) : ""));
}

bool has(const TargetSnapshot& target, PrecursorKind kind) {
    return std::ranges::find(target.precursors, kind, &Precursor::kind) != target.precursors.end();
}

void precursors(const TargetSnapshot* before, const TargetSnapshot& now, std::vector<std::string>& lines) {
    for (const Precursor& precursor : now.precursors)
        if (!before || !has(*before, precursor.kind))
            lines.push_back(fmt::format("{}: {}", name_of(precursor.kind), precursor.reason));
    if (!before) return;
    for (const Precursor& precursor : before->precursors)
        if (!has(now, precursor.kind)) lines.push_back(fmt::format("{} is over", name_of(precursor.kind)));
}

// A line when the verdict changes, and for the first verdict other than `insufficient`.
void verdict(const TargetSnapshot* before, const TargetSnapshot& now, std::vector<std::string>& lines) {
    const auto word_of = [](const TargetSnapshot* target) {
        const ScopeVerdict* verdict = target ? target->verdict() : nullptr;
        return verdict ? verdict->judgement.verdict : Verdict::insufficient;
    };
    const Verdict is = word_of(&now);
    if (is == Verdict::insufficient || is == word_of(before)) return;
    lines.push_back(fmt::format("{}: {}", word(is), now.verdict()->explanation));
}

// A line when a container is suspected for the first time, or another one than before.
void suspects(const TargetSnapshot* before, const TargetSnapshot& now, std::vector<std::string>& lines) {
    const auto suspected = [](const TargetSnapshot* target, const std::string& name) {
        return target && std::ranges::any_of(target->verdicts, [&](const ScopeVerdict& verdict) {
                   return verdict.suspect && verdict.suspect->name == name;
               });
    };
    std::set<std::string> said;  // the scope of a role can have the same suspect
    for (const ScopeVerdict& verdict : now.verdicts)
        if (verdict.suspect && !suspected(before, verdict.suspect->name) && said.insert(verdict.suspect->name).second)
            lines.push_back(printable(verdict.suspect->text));
}

// A leak on a GPU gets a line of its own, because the verdict of the target is about host memory.
void gpu_verdicts(const TargetSnapshot* before, const TargetSnapshot& now, std::vector<std::string>& lines) {
    const auto leaks = [](const TargetSnapshot& target, const GpuId& id) {
        return std::ranges::any_of(target.verdicts, [&](const ScopeVerdict& verdict) {
            return verdict.scope == VerdictScope::gpu && verdict.gpu == id &&
                   verdict.judgement.verdict == Verdict::leaking;
        });
    };
    for (const ScopeVerdict& verdict : now.verdicts)
        if (verdict.scope == VerdictScope::gpu && leaks(now, verdict.gpu) && !(before && leaks(*before, verdict.gpu)))
            lines.push_back(fmt::format("{}: {}", word(Verdict::leaking), verdict.explanation));
}

void unsharing(const TargetSnapshot* before, const TargetSnapshot& now, std::vector<std::string>& lines) {
    if (!now.sharing.explanation.empty() && !(before && !before->sharing.explanation.empty()))
        lines.push_back("copy-on-write un-sharing: " + now.sharing.explanation);
}

std::vector<std::string> gpu_trouble(const Snapshot* before, const Snapshot& now) {
    std::vector<std::string> lines;
    for (const GpuDevice& gpu : now.gpus) {
        const GpuDevice* was = nullptr;
        if (before)
            if (const auto found = std::ranges::find(before->gpus, gpu.id, &GpuDevice::id); found != before->gpus.end())
                was = &*found;
        const std::string name = fmt::format("GPU {} ({})", gpu.index, printable(gpu.name));
        if (!gpu.trouble.empty() && !(was && !was->trouble.empty()))
            lines.push_back(fmt::format("{} does not answer: {}", name, gpu.trouble));
        if (gpu.trouble.empty() && was && !was->trouble.empty()) lines.push_back(name + " answers again");
        const std::uint64_t errors = gpu.xid_errors.value_or(0);
        const std::uint64_t had = was ? was->xid_errors.value_or(0) : 0;
        if (errors > had)
            lines.push_back(fmt::format("{} had {} (Xid: the kernel log says which)", name,
                                        counted(errors - had, "critical error")));
    }
    return lines;
}

}  // namespace

// A heap census comes after the verdict that triggered it, so the cause has a line of its own. There is one line for
// each leak, because the share of free memory can vary around the threshold.
void NoticeWriter::free_memory(const TargetSnapshot& now, std::vector<std::string>& lines) {
    const ScopeVerdict* verdict = now.verdict();
    if (!verdict || verdict->judgement.verdict != Verdict::leaking) {
        free_memory_.erase(now.info.name);
        return;
    }
    if (!verdict->cause) return;
    const GrowthCause::Kind kind = verdict->cause->kind;
    if (kind != GrowthCause::Kind::malloc_free && kind != GrowthCause::Kind::python_free) return;
    if (!free_memory_.insert(now.info.name).second) return;
    const std::string line = fmt::format("{}: {}", word(Verdict::leaking), verdict->explanation);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
}

// One line for each leak about the containers of Python that have grown. They are known only after two censuses.
void NoticeWriter::holders(const TargetSnapshot& now, std::vector<std::string>& lines) {
    const ScopeVerdict* verdict = now.verdict();
    if (!verdict || verdict->judgement.verdict != Verdict::leaking) {
        holders_.erase(now.info.name);
        return;
    }
    if (verdict->holders.empty() || !holders_.insert(now.info.name).second) return;
    const std::string line = fmt::format("{}: {}", word(Verdict::leaking), verdict->explanation);
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(line);
}

std::vector<std::string> NoticeWriter::target_lines(double time, const TargetSnapshot* before,
                                                    const TargetSnapshot& now) {
    std::vector<std::string> lines;
    const bool was_up = before && before->up;
    deaths(now, lines);  // first, because the other lines of this tick refer to deaths
    if (was_up) oom_kills(*before, now, lines);
    if (!now.up) {
        if (was_up) lines.push_back(fmt::format("ended, last seen with {}", human_size(before->memory.usage)));
        return lines;
    }
    if (!was_up) {
        lines.push_back(now.processes.empty()
                            ? fmt::format("watching, {}, no processes yet", human_size(now.memory.usage))
                            : fmt::format("watching, {}, {}", human_size(now.memory.usage), process_counts(now)));
        before = nullptr;
        marks_.erase(now.info.name);
    } else if (before->processes.empty() && !now.processes.empty()) {
        lines.push_back(fmt::format("no longer empty: {}, {}", human_size(now.memory.usage), process_counts(now)));
    } else if (!before->processes.empty() && now.processes.empty()) {
        lines.push_back(fmt::format("empty: all processes have ended, {} stay charged", human_size(now.memory.usage)));
    }
    verdict(before, now, lines);
    suspects(before, now, lines);
    free_memory(now, lines);
    holders(now, lines);
    gpu_verdicts(before, now, lines);
    std::ranges::move(marks_[now.info.name].lines_at(time, now.memory), std::back_inserter(lines));
    precursors(before, now, lines);
    unsharing(before, now, lines);
    return lines;
}

// Keeps the targets that were read at the tick before and not at this one, and drops those that do not exist any more.
void NoticeWriter::keep_unread(const Snapshot* before, const Snapshot& now) {
    std::erase_if(unread_, [&](const auto& entry) { return !now.has_unread(entry.first); });
    for (const std::string& name : now.unread)
        if (const TargetSnapshot* was = find(before, name)) unread_.emplace(name, *was);
}

std::vector<std::string> NoticeWriter::write(const Snapshot* before, const Snapshot& now) {
    std::erase_if(marks_, [&](const auto& entry) {
        const TargetSnapshot* target = find(&now, entry.first);
        return target ? !target->up : !now.has_unread(entry.first);
    });
    for (std::set<std::string>* names : {&free_memory_, &holders_})
        std::erase_if(*names, [&](const std::string& name) { return !find(&now, name) && !now.has_unread(name); });
    const auto last_seen = [&](const std::string& name) {
        const auto kept = unread_.find(name);
        return kept == unread_.end() ? find(before, name) : &kept->second;
    };
    std::vector<std::string> all;
    const auto append = [&](const std::string& name, const std::vector<std::string>& lines) {
        for (const std::string& line : lines) all.push_back(printable(name) + ": " + line);
    };
    for (const TargetSnapshot& target : now.targets)
        append(target.info.name, target_lines(now.time, last_seen(target.info.name), target));
    const auto append_end = [&](const TargetSnapshot& gone) {
        if (gone.up && !find(&now, gone.info.name) && !now.has_unread(gone.info.name))
            append(gone.info.name, {fmt::format("ended, last seen with {}", human_size(gone.memory.usage))});
    };
    if (before)
        for (const TargetSnapshot& gone : before->targets) append_end(gone);
    for (const auto& [name, gone] : unread_) append_end(gone);
    keep_unread(before, now);
    append("memscope", gpu_trouble(before, now));
    append("memscope", unwatched_targets(before ? &before->self : nullptr, now.self));
    for (const auto& [reason, count] : now.self.dropped) {
        if (reason == "target_no_descriptor") continue;  // unwatched_targets() has a line for it
        if (reason == "record") continue;                // the recorder prints a line for its errors
        const auto known = before ? before->self.dropped.find(reason) : now.self.dropped.end();
        const std::uint64_t was = before && known != before->self.dropped.end() ? known->second : 0;
        if (count > was)
            append("memscope",
                   {fmt::format("{} could not be recorded ({})", counted(count - was, "event"), printable(reason))});
    }
    return all;
}

std::vector<std::string> unwatched_targets(const SelfSample* before, const SelfSample& now) {
    const bool was_short = before && before->unwatched_targets > 0;
    if (was_short == (now.unwatched_targets > 0)) return {};
    if (was_short) return {"enough file descriptors again: every cgroup that matches is watched"};
    return {
        fmt::format("{} not watched, because memscope has no file descriptor left (its limit is {}): raise the hard "
                    "limit (LimitNOFILE= of a service, ulimit -Hn in a shell) or watch fewer cgroups",
                    now.unwatched_targets == 1 ? std::string("at least 1 cgroup that matches is")
                                               : fmt::format("{} cgroups that match are", now.unwatched_targets),
                    now.max_open_files)};
}

std::string waiting_notice(const std::vector<std::string>& names) {
    std::string quoted;
    for (const std::string& name : names) quoted += (quoted.empty() ? "'" : " or '") + printable(name) + "'";
    return "memscope: no cgroup is called " + quoted + " yet: waiting for it";
}

}  // namespace memscope
