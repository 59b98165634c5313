#include "sources/heap/python/container_lengths.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sources/proc/procfs.h"
#include "support/fake_python.h"

namespace memscope {
namespace container_lengths_test {

using State = ContainerReading::State;

std::vector<std::uint64_t> numbers(FakePython& python, int count) {
    std::vector<std::uint64_t> all;
    for (int i = 0; i < count; ++i) all.push_back(python.number());
    return all;
}

const ContainerPlace* place_of(const FakePython& python, std::uint64_t address) {
    const auto found = std::ranges::find(python.places, address, &ContainerPlace::address);
    return found == python.places.end() ? nullptr : &*found;
}

ContainerReading read(FakePython& python, const ContainerPlace& place) {
    return read_container_lengths(python.pages, std::span(&place, 1), ReadDeadline(Seconds{5})).at(0);
}

struct Job {
    Job() {
        items = numbers(python, 20);
        list = python.list(items);
        inner = python.dict({{python.text("records"), list}});
        for (int i = 0; i < 9; ++i) entries.emplace_back(python.text("key" + std::to_string(i)), python.number());
        dict = python.dict(entries);
        few = python.list(numbers(python, 3));
        python.set_modules({{"__main__", python.module({{"kept", inner}, {"cache", dict}, {"few", few}})}});
        (void)python.census();
    }
    FakePython python{};
    std::vector<std::uint64_t> items{};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> entries{};
    std::uint64_t list = 0, inner = 0, dict = 0, few = 0;
};

TEST(ContainerPlaces, ListsAndDictsWithItemsAreListedWithTheWordThatRefersToThem) {
    Job job;
    const ContainerPlace* list = place_of(job.python, job.list);
    ASSERT_TRUE(list);
    EXPECT_EQ(list->kind, ContainerKind::list);
    EXPECT_EQ(list->length, 20U);
    EXPECT_EQ(list->type, job.python.list_type);
    EXPECT_EQ(list->items, job.python.pages.at(job.list + 24));
    ASSERT_NE(list->slot, 0U);
    EXPECT_EQ(job.python.pages.at(list->slot), job.list);
    const ContainerPlace* dict = place_of(job.python, job.dict);
    ASSERT_TRUE(dict);
    EXPECT_EQ(dict->kind, ContainerKind::dict);
    EXPECT_EQ(dict->length, 9U);
    EXPECT_EQ(place_of(job.python, job.few), nullptr) << "it is small";
    EXPECT_TRUE(std::ranges::is_sorted(job.python.places, {}, &ContainerPlace::address));
}

TEST(ContainerLengths, AListThatHasGrownIsTheSameByItsSlotOrByItsItems) {
    Job job;
    const ContainerPlace place = *place_of(job.python, job.list);
    FakePages& pages = job.python.pages;
    EXPECT_EQ(read(job.python, place).state, State::same);
    EXPECT_EQ(read(job.python, place).length, 20U);
    pages.put(job.list + 16, 33);
    pages.put(job.list + 24, FakePython::kHeap + 0x100000);  // realloc() has moved its items
    pages.put(job.list + 32, 40);
    const ContainerReading moved = read(job.python, place);
    EXPECT_EQ(moved.state, State::same) << "the slot refers to it";
    EXPECT_EQ(moved.length, 33U);
    EXPECT_EQ(moved.items, FakePython::kHeap + 0x100000);
    pages.put(place.slot, 0);
    EXPECT_EQ(read(job.python, place).state, State::unsure);
    pages.put(job.list + 24, place.items);
    EXPECT_EQ(read(job.python, place).state, State::same) << "its items are where they were";
}

TEST(ContainerLengths, AFreedContainerIsGone) {
    Job job;
    const ContainerPlace place = *place_of(job.python, job.list);
    job.python.pages.put(job.list, 0);
    EXPECT_EQ(read(job.python, place).state, State::gone);
    job.python.pages.put(job.list, 1);
    EXPECT_EQ(read(job.python, place).state, State::same);
    job.python.pages.put(job.list + 8, job.python.tuple_type);
    EXPECT_EQ(read(job.python, place).state, State::gone) << "another object has its memory";
}

TEST(ContainerLengths, AListThatIsBeingChangedIsNotBelieved) {
    Job job;
    const ContainerPlace place = *place_of(job.python, job.list);
    job.python.pages.put(job.list + 16, 21);  // more items than room
    EXPECT_EQ(read(job.python, place).state, State::unread);
    job.python.pages.put(job.list + 16, ~std::uint64_t{0});
    EXPECT_EQ(read(job.python, place).state, State::gone);
}

TEST(ContainerLengths, AbsurdPlacesAndAbsentPagesAreNoLengths) {
    Job job;
    const ContainerPlace place = *place_of(job.python, job.list);
    EXPECT_EQ(read(job.python, {.address = 8}).state, State::gone);
    EXPECT_EQ(read(job.python, {.address = job.list + 4}).state, State::gone);
    EXPECT_EQ(read(job.python, {.address = job.list, .kind = static_cast<ContainerKind>(77)}).state, State::gone);
    ContainerPlace bad_slot = place;
    bad_slot.slot = 0xFFFF'FFFF'FFFF'FFF8;
    EXPECT_EQ(read(job.python, bad_slot).state, State::same) << "by its items";
    job.python.pages.drop(job.list);
    EXPECT_EQ(read(job.python, place).state, State::unread);
}

TEST(ContainerLengths, ManyPlacesKeepTheirOrder) {
    FakePython python;
    std::vector<ContainerPlace> places;
    for (std::uint64_t i = 0; i < 1500; ++i) {
        const std::uint64_t list = python.list(numbers(python, static_cast<int>(i % 7)));
        places.push_back({.address = list, .type = python.list_type, .items = python.pages.at(list + 24)});
    }
    const auto readings = read_container_lengths(python.pages, places, ReadDeadline(Seconds{20}));
    ASSERT_EQ(readings.size(), places.size());
    for (std::uint64_t i = 0; i < places.size(); ++i) EXPECT_EQ(readings[i].length, i % 7);
}

// What read_container_lengths() expects in memory, in memory of this process.
TEST(ContainerLengths, OfARealProcessAreReadFromOutside) {
    alignas(8) static std::uint64_t list[8] = {1, 0x70000, 5, 0x80000, 8, 0, 0, 0};
    const auto self = process_with(SysRoot{}, ::getpid());
    ASSERT_TRUE(self);
    const ContainerPlace place{
        .address = reinterpret_cast<std::uint64_t>(&list), .type = 0x70000, .items = 0x80000, .length = 5};
    list[2] = 7;
    const auto readings = read_container_lengths(SysRoot{}, *self, std::span(&place, 1));
    ASSERT_TRUE(readings) << readings.error().message();
    EXPECT_EQ(readings->at(0).state, State::same);
    EXPECT_EQ(readings->at(0).length, 7U);
    EXPECT_FALSE(read_container_lengths(SysRoot{}, {self->pid, self->start_ns + 1'000'000'000}, std::span(&place, 1)))
        << "another process has its pid";
}

}  // namespace container_lengths_test
}  // namespace memscope
