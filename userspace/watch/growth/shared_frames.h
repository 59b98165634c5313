#pragma once
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "model/growth/growth.h"

namespace memscope {

using FramePtr = std::shared_ptr<const PythonFrame>;

// The Python frames of a call site, innermost first. Call sites share equal frames, because the stacks of a framework
// are deep and differ in few frames.
class SharedFrames {
  public:
    class Iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = PythonFrame;
        using difference_type = std::ptrdiff_t;
        using pointer = const PythonFrame*;
        using reference = const PythonFrame&;

        Iterator() = default;
        explicit Iterator(std::vector<FramePtr>::const_iterator at) : at_(at) {}
        reference operator*() const { return **at_; }
        pointer operator->() const { return at_->get(); }
        Iterator& operator++() {
            ++at_;
            return *this;
        }
        Iterator operator++(int) { return Iterator(at_++); }
        bool operator==(const Iterator&) const = default;

      private:
        std::vector<FramePtr>::const_iterator at_{};
    };

    SharedFrames() = default;
    SharedFrames(std::initializer_list<PythonFrame> frames) {
        for (const PythonFrame& frame : frames) push_back(std::make_shared<const PythonFrame>(frame));
    }

    void reserve(std::size_t frames) { frames_.reserve(frames); }
    void push_back(FramePtr frame) { frames_.push_back(std::move(frame)); }
    std::size_t size() const { return frames_.size(); }
    bool empty() const { return frames_.empty(); }
    const PythonFrame& operator[](std::size_t index) const { return *frames_[index]; }
    const PythonFrame& at(std::size_t index) const { return *frames_.at(index); }
    const FramePtr& shared(std::size_t index) const { return frames_[index]; }
    Iterator begin() const { return Iterator(frames_.begin()); }
    Iterator end() const { return Iterator(frames_.end()); }
    std::vector<PythonFrame> copied() const { return {begin(), end()}; }

    // For frames of one FramePool: the same objects. The order has no meaning.
    bool operator==(const SharedFrames&) const = default;
    bool operator<(const SharedFrames& other) const { return frames_ < other.frames_; }

  private:
    std::vector<FramePtr> frames_{};
};

// Keeps one object for all equal frames.
class FramePool {
  public:
    SharedFrames pooled(const SharedFrames& frames);
    // Bytes that pooled() would add.
    std::size_t new_bytes(const SharedFrames& frames) const;
    void forget_unused();
    std::size_t bytes() const { return bytes_; }

  private:
    struct Equal {
        bool operator()(const FramePtr& a, const FramePtr& b) const { return *a < *b; }
    };
    std::set<FramePtr, Equal> frames_{};
    std::size_t bytes_ = 0;
};

}  // namespace memscope
