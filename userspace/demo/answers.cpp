#include "demo/answers.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

Seconds mean_distance(const std::vector<Seconds>& times) {
    if (times.size() < 2) return {};
    return (times.back() - times.front()) / static_cast<double>(times.size() - 1);
}

}  // namespace

Bytes first_of(const Line& line) { return line.empty() ? Bytes{} : line.front().size; }
Bytes last_of(const Line& line) { return line.empty() ? Bytes{} : line.back().size; }
Bytes lowest_of(const Line& line) { return line.empty() ? Bytes{} : std::ranges::min(line, {}, &Point::size).size; }
Bytes highest_of(const Line& line) { return line.empty() ? Bytes{} : std::ranges::max(line, {}, &Point::size).size; }
Bytes risen(const Line& line) { return last_of(line) - first_of(line); }
Bytes swing(const Line& line) { return highest_of(line) - lowest_of(line); }
Seconds length_of(const Line& line) { return line.empty() ? Seconds{} : line.back().at - line.front().at; }

Line later_part(const Line& line, double share) {
    if (line.empty()) return {};
    const Seconds from = line.back().at - share * length_of(line);
    Line part;
    std::ranges::copy_if(line, std::back_inserter(part), [from](const Point& point) { return point.at >= from; });
    return part;
}

double bytes_per_second(const Line& line) {
    const double seconds = length_of(line).count();
    return seconds > 0 ? static_cast<double>(risen(line).n) / seconds : 0;
}

Seconds settled_at(const Line& line, Bytes tolerance) {
    const Bytes last = last_of(line);
    Seconds since{};
    for (auto point = line.rbegin(); point != line.rend(); ++point) {
        if (point->size - last > tolerance || last - point->size > tolerance) break;
        since = point->at;
    }
    return since;
}

Excursions excursions(const Line& line, Bytes at_least) {
    const Bytes floor = lowest_of(line);
    Excursions found;
    std::vector<Seconds> begins;
    bool up = false;
    for (const Point& point : line) {
        const Bytes above = point.size - floor;
        if (above >= at_least && !up) begins.push_back(point.at);
        up = above >= at_least;
        if (up) found.height = std::max(found.height, above);
    }
    found.count = begins.size();
    found.period = mean_distance(begins);
    return found;
}

Steps steps(const Line& line, Bytes at_least) {
    Bytes sum;
    std::vector<Seconds> times;
    Bytes rise;  // of the current run of rising samples
    for (std::size_t i = 1; i <= line.size(); ++i) {
        const bool rises = i < line.size() && line[i].size > line[i - 1].size;
        if (rises) {
            rise += line[i].size - line[i - 1].size;
        } else {
            if (rise >= at_least && rise.n > 0) {
                times.push_back(line[i - 1].at);
                sum += rise;
            }
            rise = {};
        }
    }
    if (times.empty()) return {};
    return {.count = times.size(), .size = {sum.n / times.size()}, .period = mean_distance(times)};
}

namespace {

constexpr Bytes kMaterial = mebibytes(40);  // the smallest change that proves the effect of a scenario
constexpr Bytes kFlat = mebibytes(8);       // two chunks: room for memory that the C library allocates for itself

std::string rate_text(const Line& line) {
    return human_size({static_cast<std::uint64_t>(bytes_per_second(line))}) + " a second";
}

std::string moved(Bytes by, std::string_view subject) {
    return by < mebibytes(1) ? fmt::format("{} did not change", subject)
                             : fmt::format("{} changed by {}", subject, human_size(by));
}

// The largest change of any role except `but`.
Bytes swing_of_others(const Observation& seen, Role but) {
    Bytes most;
    for (const Role role : kRoles)
        if (role != but) most = std::max(most, swing(role_line(seen, role)));
    return most;
}

}  // namespace

namespace {

std::string holders_text(const Observation& seen) {
    const Moment last = seen.empty() ? Moment{} : seen.back();
    if (const std::string holders = last_holders(seen); !holders.empty()) return printable(holders);
    if (last.heap && last.heap->python) return "No census of its Python objects was taken in time.";
    return "There is no python3 here whose objects memscope can read, so this trainer is native code. In a Python "
           "program memscope names the list that grows, too.";
}

}  // namespace

Answer leak_answer(const Observation& seen) {
    const Line trainer = role_line(seen, Role::trainer);
    const Line after = later_part(trainer, 0.75);
    const Bytes others = swing_of_others(seen, Role::trainer);
    const bool gave_back = swing(after) - risen(after) >= mebibytes(1);  // an interpreter frees a page now and then
    return {.seen = risen(after) >= kMaterial && others <= kFlat && !gave_back,
            .text = fmt::format("The trainer went from {} to {} and gave nothing back: {} until the end. {}. This is a "
                                "leak in the trainer. {}",
                                human_size(first_of(trainer)), human_size(last_of(trainer)), rate_text(after),
                                moved(others, "The other roles"), holders_text(seen))};
}

Answer warmup_answer(const Observation& seen) {
    const Line trainer = role_line(seen, Role::trainer);
    const Seconds settled = settled_at(trainer, kFlat);
    const Bytes since = swing(later_part(trainer, 0.5));
    return {.seen = risen(trainer) >= kMaterial && since <= kFlat,
            .text = fmt::format("The trainer grew by {} in the first {}, and by {} in the second half of the run. "
                                "This is a warm-up that ends in a plateau: nothing is wrong.",
                                human_size(risen(trainer)), human_duration(settled), human_size(since))};
}

Answer spikes_answer(const Observation& seen) {
    const Line trainer = role_line(seen, Role::trainer);
    const Excursions spikes = excursions(trainer, kMaterial);
    const Bytes floor = lowest_of(trainer);
    const Bytes late_floor = lowest_of(later_part(trainer, 0.5));
    return {.seen = spikes.count >= 3 && late_floor - floor <= kFlat,
            .text = fmt::format("The trainer went up by {} and down again {} times, every {:.1f} s. The floor "
                                "was {} and is {}: no leak, but the limit has to leave room for a spike.",
                                human_size(spikes.height), spikes.count, spikes.period.count(), human_size(floor),
                                human_size(late_floor))};
}

Answer steps_answer(const Observation& seen) {
    const Line trainer = role_line(seen, Role::trainer);
    const Steps found = steps(trainer, mebibytes(12));
    const Bytes given_back = highest_of(trainer) - last_of(trainer);
    return {.seen = found.count >= 3 && given_back <= kFlat,
            .text = fmt::format("The trainer rose in {} steps of {}, one every {:.1f} s, {} in all, and gave {} back. "
                                "It is flat between the steps, but the floor keeps rising: a leak in steps.",
                                found.count, human_size(found.size), found.period.count(), human_size(risen(trainer)),
                                given_back.n == 0 ? "nothing" : human_size(given_back))};
}

Answer workers_answer(const Observation& seen) {
    const Line cgroup = cgroup_line(seen);
    const Line summed = summed_line(seen);
    const Moment last = seen.empty() ? Moment{} : seen.back();
    const std::string found = last.unsharing.empty() ? "No copy-on-write un-sharing was found"
                                                     : last.unsharing + ". That is copy-on-write un-sharing";
    return {
        .seen = last.unshared >= kMaterial && !last.unsharing.empty() && swing(summed) <= kFlat,
        .text = fmt::format("{}: the cgroup's anon went from {} to {}, but {} ({}). No process looks larger in top "
                            "or ps.",
                            found, human_size(first_of(cgroup)), human_size(last_of(cgroup)),
                            moved(swing(summed), "the summed RssAnon of its processes"), human_size(last_of(summed)))};
}

Answer wrapper_answer(const Observation& seen) {
    const auto grown = most_grown(seen);
    const auto above = grown ? ancestors(seen, *grown) : std::vector<Member>{};
    if (above.empty()) return {.seen = false, .text = "No process below another one grew."};
    const Line line = process_line(seen, grown->pid);
    const Member& top = above.back();
    const Bytes top_moved = swing(process_line(seen, top.pid));
    return {
        .seen = risen(line) >= kMaterial && top_moved <= kFlat && above.size() >= 2,
        .text = fmt::format("{} (pid {}) went from {} to {}. It is {} levels below {} (pid {}). {}: a tool that "
                            "watches only the wrapper shows nothing.",
                            printable(grown->comm), grown->pid, human_size(first_of(line)), human_size(last_of(line)),
                            above.size(), printable(top.comm), top.pid, moved(top_moved, printable(top.comm)))};
}

Answer fragmentation_answer(const Observation& seen) {
    const Line trainer = role_line(seen, Role::trainer);
    const Moment last = seen.empty() ? Moment{} : seen.back();
    if (!last.heap) return {.seen = false, .text = "No heap census was taken."};
    const Bytes free = last.heap->part(HeapPart::malloc_free);
    const std::string back =
        last.heap->allocator.trimmable
            ? fmt::format("malloc_trim(0) would give back {}", human_size(*last.heap->allocator.trimmable))
            : std::string("how much malloc_trim(0) would give back is not known");
    return {
        .seen = risen(trainer) >= kMaterial && free >= kMaterial && last_cause(seen) == GrowthCause::Kind::malloc_free,
        .text = fmt::format("The trainer went from {} to {}, and {} of {} were free inside malloc at the last "
                            "census: no leak of its objects, but memory that malloc keeps. {}.",
                            human_size(first_of(trainer)), human_size(last_of(trainer)), human_size(free),
                            human_size(last.heap->anon), back)};
}

Answer crashloop_answer(const Observation& seen) {
    const auto kills = kills_of(seen);
    std::vector<Seconds> times;
    times.reserve(kills.size());
    for (const SeenKill& kill : kills) times.push_back(kill.at);
    const bool all_trainers =
        std::ranges::all_of(kills, [](const SeenKill& kill) { return kill.role.role == Role::trainer; });
    if (kills.size() < 2)
        return {.seen = false, .text = fmt::format("The kernel killed {} processes of the job.", kills.size())};
    const std::string lines = leaking_lines(seen) ? printable(leaking_lines(seen)->most) : std::string();
    return {.seen = kills.size() >= 3 && all_trainers,
            .text = fmt::format("The kernel killed the trainer {} times, every {:.1f} s, and each time the launcher "
                                "started it again. Each run leaks{}: a restart does not help, and neither does a "
                                "larger limit. {}",
                                kills.size(), mean_distance(times).count(), lines.empty() ? "" : " at " + lines,
                                holders_text(seen))};
}

}  // namespace memscope
