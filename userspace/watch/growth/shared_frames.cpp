#include "watch/growth/shared_frames.h"

namespace memscope {
namespace {

std::size_t bytes_of(const PythonFrame& frame) {
    return sizeof frame + frame.function.capacity() + frame.file.capacity();
}

}  // namespace

SharedFrames FramePool::pooled(const SharedFrames& frames) {
    SharedFrames result;
    result.reserve(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        const auto [place, is_new] = frames_.insert(frames.shared(i));
        if (is_new) bytes_ += bytes_of(**place);
        result.push_back(*place);
    }
    return result;
}

std::size_t FramePool::new_bytes(const SharedFrames& frames) const {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < frames.size(); ++i)
        if (!frames_.contains(frames.shared(i))) bytes += bytes_of(frames[i]);
    return bytes;
}

void FramePool::forget_unused() {
    std::erase_if(frames_, [this](const FramePtr& frame) {
        if (frame.use_count() > 1) return false;
        bytes_ -= bytes_of(*frame);
        return true;
    });
}

}  // namespace memscope
