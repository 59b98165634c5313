#include "review/moments.h"

#include <optional>

namespace memscope {

Result<Seconds> place_of(Recording& recording, const RecordedTarget& target, double moment) {
    std::optional<RecordedSample> last;
    std::optional<Seconds> shown, skipped;
    auto read = recording.each_sample(target, {}, [&](const RecordedSample& sample) {
        if (last && last->time <= moment) {
            const Seconds place = last->at + Seconds(moment - last->time);
            if (place <= sample.at)
                shown = place;
            else if (moment < sample.time)
                skipped = sample.at;
        }
        last = sample;
        return true;
    });
    if (!read) return read.error();
    if (shown) return *shown;
    if (last && last->time <= moment) return last->at + Seconds(moment - last->time);
    return skipped ? *skipped : Seconds(moment - recording.began());
}

}  // namespace memscope
