#include "demo/measures.h"

#include <algorithm>

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
    Bytes rise;  // of the run of rising samples that goes on
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

}  // namespace memscope
