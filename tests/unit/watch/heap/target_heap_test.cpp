#include "watch/heap/target_heap.h"

#include <gmock/gmock.h>

#include "analysis/heap/holder_sentence.h"
#include "support/fake_objects.h"

namespace memscope {
namespace target_heap_test {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kEach = 100'000;

Process process(pid_t pid, Role role, std::uint64_t mib) {
    Process made{.role = role};
    made.task.id = {pid, 1};
    made.task.memory = AddressSpace{.anon = Bytes{mib * kMiB}};
    return made;
}

HeapCensus census(pid_t pid, double time, std::uint64_t length) {
    HeapCensus made = test::with_objects(time, Bytes{100 * kMiB + length * kEach}, test::outputs_of(length, kEach));
    made.process = {pid, 1};
    return made;
}

HeapCensus parts_only(pid_t pid, double time) { return {.process = {pid, 1}, .time = time, .anon = Bytes{100 * kMiB}}; }

TargetSnapshot job(Verdict verdict, bool warmed_up, std::optional<pid_t> grower = 7) {
    TargetSnapshot target;
    target.processes = {process(7, Role::trainer, 900), process(8, Role::dataloader_worker, 300),
                        process(9, Role::dataloader_worker, 310), process(10, Role::dataloader_worker, 200)};
    target.verdicts.push_back({.judgement = {.verdict = verdict}});
    if (warmed_up) target.verdicts[0].judgement.warmup_ended = Seconds{10};
    if (grower) target.verdicts[0].grower = Grower{.pid = *grower};
    return target;
}

const ProcessHeap* find(const TargetSnapshot& target, pid_t pid) {
    for (const ProcessHeap& heap : target.heap)
        if (heap.census.process.pid == pid) return &heap;
    return nullptr;
}

TargetSnapshot described(TargetHeap& heap) {
    TargetSnapshot target = job(Verdict::leaking, true);
    heap.describe(target);
    return target;
}

std::vector<pid_t> with_objects(const std::vector<CensusWish>& wishes) {
    std::vector<pid_t> pids;
    for (const CensusWish& wish : wishes)
        if (wish.objects) pids.push_back(wish.process.pid);
    return pids;
}

TEST(TargetHeap, TheDifferenceIsToTheFirstCensusNotToTheOneBefore) {
    TargetHeap heap(Seconds{900});
    heap.add(census(7, 1000, 100));
    EXPECT_FALSE(find(described(heap), 7)->held->over) << "no claim without an earlier census";
    heap.add(census(7, 1300, 200));
    heap.add(census(7, 1600, 400));
    const TargetSnapshot target = described(heap);
    const HeldObjects& held = *find(target, 7)->held;
    EXPECT_EQ(held.over, Seconds{600});
    EXPECT_EQ(held.holders[0].length_change, 300);
    EXPECT_EQ(find(target, 7)->earlier->time, 1300) << "the parts are compared with the census before";
    EXPECT_EQ(find(target, 7)->with_objects->time, 1600);
}

TEST(TargetHeap, ACensusThatRanOutOfTimeIsNeitherABaselineNorAnAnswer) {
    TargetHeap heap(Seconds{900});
    HeapCensus cut = census(7, 1000, 10);
    cut.incomplete[HeapGap::time_limit] = 1;
    heap.add(cut);
    heap.add(census(7, 1300, 200));
    EXPECT_FALSE(find(described(heap), 7)->held->over);
    heap.add(census(7, 1600, 400));
    EXPECT_EQ(find(described(heap), 7)->held->over, Seconds{300});
    cut.time = 1900;
    heap.add(cut);
    EXPECT_EQ(find(described(heap), 7)->held->time, 1600);
}

TEST(TargetHeap, ACensusWithoutObjectsKeepsTheLastOnes) {
    TargetHeap heap(Seconds{900});
    heap.add(census(7, 1000, 100));
    heap.add(census(7, 1300, 200));
    heap.add(parts_only(7, 1600));
    const TargetSnapshot target = described(heap);
    EXPECT_EQ(find(target, 7)->census.time, 1600);
    EXPECT_EQ(find(target, 7)->held->time, 1300);
    EXPECT_EQ(find(target, 7)->with_objects->time, 1300);
}

TEST(TargetHeap, TheCensusAfterTheWarmUpIsTheNewBaseline) {
    TargetHeap heap(Seconds{900});
    heap.add(census(7, 1000, 100));
    EXPECT_EQ(with_objects(heap.wishes(Seconds{1}, job(Verdict::stable, true))), (std::vector<pid_t>{7, 9}))
        << "of each role the largest process";
    heap.add(census(7, 1100, 500));
    EXPECT_EQ(find(described(heap), 7)->held->over, Seconds{100}) << "what is known stays known";
    heap.add(census(7, 1200, 600));
    EXPECT_EQ(find(described(heap), 7)->held->holders[0].length_change, 100);
}

TEST(TargetHeap, OnlyTheProcessThatGrowsIsReadWithObjectsWhenALeakIsFound) {
    TargetHeap heap(Seconds{900});
    const auto wishes = heap.wishes(Seconds{1}, job(Verdict::leaking, true, 8));
    EXPECT_EQ(with_objects(wishes), (std::vector<pid_t>{8}));
    for (const CensusWish& wish : wishes) {
        EXPECT_TRUE(wish.urgent);
        EXPECT_EQ(wish.always, wish.process.pid == 8);
    }
    EXPECT_EQ(with_objects(TargetHeap(Seconds{900}).wishes(Seconds{1}, job(Verdict::leaking, true, {}))),
              (std::vector<pid_t>{7}))
        << "the largest one, if it is not known which one grows";
}

TEST(TargetHeap, ALeakWithOneCensusWantsASecondOne) {
    TargetHeap heap(Seconds{900});
    (void)heap.wishes(Seconds{1}, job(Verdict::leaking, true));
    EXPECT_TRUE(heap.wishes(Seconds{2}, job(Verdict::leaking, true)).empty());
    heap.add(census(7, 1000, 100));
    (void)described(heap);
    EXPECT_EQ(with_objects(heap.wishes(Seconds{3}, job(Verdict::leaking, true))), (std::vector<pid_t>{7}));
    heap.add(census(7, 1300, 200));
    EXPECT_TRUE(heap.wishes(Seconds{4}, job(Verdict::leaking, true)).empty());
}

TEST(TargetHeap, AWorkerThatWasReadStandsForTheOthersThatAreLikeIt) {
    TargetHeap heap(Seconds{900});
    heap.add(census(8, 1000, 100));
    EXPECT_EQ(with_objects(heap.wishes(Seconds{1}, job(Verdict::leaking, true, 9))), (std::vector<pid_t>{8}));
    TargetHeap other(Seconds{900});
    other.add(census(8, 1000, 100));
    EXPECT_EQ(with_objects(other.wishes(Seconds{1}, job(Verdict::leaking, true, 10))), (std::vector<pid_t>{10}))
        << "it has another size";
    EXPECT_EQ(find(described(heap), 8)->held->alike, 1U);
}

TEST(TargetHeap, ALeakOnAGpuReadsTheProcessThatHoldsMostOfIt) {
    TargetHeap heap(Seconds{900});
    TargetSnapshot target = job(Verdict::stable, false, {});
    target.gpu.emplace().processes[9].devices["GPU-0"].used = Bytes{1 << 30};
    target.verdicts.push_back({.scope = VerdictScope::gpu, .gpu = "GPU-0", .judgement = {.verdict = Verdict::leaking}});
    EXPECT_EQ(with_objects(heap.wishes(Seconds{1}, target)), (std::vector<pid_t>{9}));
}

TEST(TargetHeap, WholeCensusesCanBeDroppedAndTheirSummariesStay) {
    TargetHeap heap(Seconds{900});
    heap.add(census(7, 1000, 100));
    heap.add(census(7, 1300, 200));
    heap.add(census(8, 1400, 200));
    EXPECT_GT(heap.objects_size().n, 0U);
    EXPECT_EQ(heap.oldest_objects(), 1300);
    heap.drop_oldest_objects();
    EXPECT_EQ(heap.oldest_objects(), 1400);
    const TargetSnapshot target = described(heap);
    EXPECT_EQ(find(target, 7)->held->holders[0].length_change, 100);
    EXPECT_FALSE(find(target, 7)->with_objects);
    EXPECT_FALSE(find(target, 7)->census.objects);
    heap.drop_oldest_objects();
    EXPECT_EQ(heap.objects_size(), Bytes{});
    heap.drop_oldest_objects();
}

TEST(TargetHeap, RefusedObjectsAreReported) {
    TargetHeap heap(Seconds{900});
    HeapCensus refused = parts_only(7, 1000);
    refused.objects = std::make_shared<const ObjectCensus>(ObjectCensus{.refusal = ObjectsRefusal::free_threaded});
    heap.add(refused);
    EXPECT_EQ(find(described(heap), 7)->held->refusal, ObjectsRefusal::free_threaded);
}

TEST(TargetHeap, ASingleTargetGetsTwoCensusesBeforeTheVerdict) {
    TargetHeap heap(Seconds{900});
    TargetSnapshot young = job(Verdict::insufficient, false, std::nullopt);
    EXPECT_TRUE(heap.wishes(Seconds{0}, young, true).empty());
    EXPECT_TRUE(heap.wishes(Seconds{4}, young, true).empty());
    const auto first = heap.wishes(Seconds{5}, young, true);
    ASSERT_EQ(with_objects(first), (std::vector<pid_t>{7})) << "the largest process only";
    EXPECT_TRUE(first[0].soon);
    EXPECT_FALSE(first[0].urgent || first[0].always) << "the budget counts";
    EXPECT_EQ(first[0].saved, CensusSchedule::kSaved);
    EXPECT_TRUE(heap.wishes(Seconds{11}, young, true).empty()) << "it was asked for";
    heap.add(census(7, 12, 10));
    young.processes[0].task.memory->anon = find(described(heap), 7)->census.anon;
    EXPECT_TRUE(heap.wishes(Seconds{60}, young, true).empty()) << "it has not grown";
    young.processes[0].task.memory->anon += Bytes{4 * kMiB};
    EXPECT_EQ(with_objects(heap.wishes(Seconds{61}, young, true)), (std::vector<pid_t>{7}));
    heap.add(census(7, 62, 50));
    young.processes[0].task.memory->anon += Bytes{100 * kMiB};
    EXPECT_TRUE(heap.wishes(Seconds{120}, young, true).empty()) << "two are enough";
}

TEST(TargetHeap, AThirdCensusFollowsIfTheFirstWasNotComplete) {
    TargetHeap heap(Seconds{900});
    TargetSnapshot young = job(Verdict::insufficient, false, std::nullopt);
    heap.wishes(Seconds{0}, young, true);
    ASSERT_EQ(heap.wishes(Seconds{5}, young, true).size(), 1U);
    HeapCensus incomplete = census(7, 12, 10);
    incomplete.incomplete[HeapGap::time_limit] = 1;
    heap.add(incomplete);
    const auto grow = [&] { young.processes[0].task.memory->anon += Bytes{100 * kMiB}; };
    grow();
    EXPECT_EQ(heap.wishes(Seconds{50}, young, true).size(), 1U);
    EXPECT_TRUE(heap.wishes(Seconds{51}, young, true).empty()) << "it was asked for";
    heap.add(census(7, 52, 50));
    grow();
    EXPECT_EQ(heap.wishes(Seconds{90}, young, true).size(), 1U);
    heap.add(census(7, 92, 100));
    EXPECT_THAT(holder_sentence(*find(described(heap), 7)->held), testing::HasSubstr("has grown by 50"));
    grow();
    EXPECT_TRUE(heap.wishes(Seconds{200}, young, true).empty());
}

TEST(TargetHeap, AnotherCensusFollowsWhileALeakHasNoAnswer) {
    TargetHeap heap(Seconds{900});
    heap.add(census(7, 12, 10));
    ASSERT_FALSE(heap.wishes(Seconds{50}, described(heap)).empty()) << "the leak was found";
    for (int i = 1; i <= 3; ++i) {
        HeapCensus same = census(7, 40 + 20 * i, 10);  // it grew, but not what it holds
        same.anon += Bytes{static_cast<std::uint64_t>(100 * i) * kMiB};
        heap.add(same);
        const auto wishes = heap.wishes(Seconds{51.0 + 20 * i}, described(heap));
        ASSERT_EQ(with_objects(wishes), (std::vector<pid_t>{7})) << i;
        EXPECT_TRUE(wishes[0].soon && wishes[0].urgent);
        EXPECT_FALSE(wishes[0].always) << "the budget counts";
        EXPECT_TRUE(heap.wishes(Seconds{52.0 + 20 * i}, described(heap)).empty()) << "it was asked for";
    }
    heap.add(census(7, 200, 10));
    EXPECT_TRUE(heap.wishes(Seconds{201}, described(heap)).empty()) << "not for ever";
}

TEST(TargetHeap, ALeakWithAnAnswerWantsNoOtherCensus) {
    TargetHeap heap(Seconds{900});
    heap.add(census(7, 12, 10));
    ASSERT_FALSE(heap.wishes(Seconds{50}, described(heap)).empty());
    heap.add(census(7, 60, 500));
    EXPECT_TRUE(heap.wishes(Seconds{61}, described(heap)).empty());
}

TEST(TargetHeap, OneRankIsReadForAllThatAreAlike) {
    TargetHeap heap(Seconds{900});
    TargetSnapshot target;
    for (int rank = 0; rank < 8; ++rank) {
        target.processes.push_back(process(20 + rank, Role::trainer, 900));
        target.processes.back().rank = rank;
        const auto pid = static_cast<pid_t>(20 + rank);
        target.verdicts.push_back({.scope = VerdictScope::role,
                                   .role = RoleKey{Role::trainer, rank},
                                   .judgement = {.verdict = Verdict::leaking},
                                   .grower = Grower{.pid = pid}});
    }
    EXPECT_EQ(with_objects(heap.wishes(Seconds{1}, target)).size(), 1U);
    target.processes[5].task.memory->anon = Bytes{2000 * kMiB};
    EXPECT_EQ(with_objects(TargetHeap(Seconds{900}).wishes(Seconds{1}, target)).size(), 2U) << "one has another size";
}

// A census of a list at an address, and its place.
HeapCensus with_place(double time, std::uint64_t length) {
    HeapCensus made = census(7, time, length);
    ObjectCensus objects = *made.objects;
    objects.holders[1].address = 0x1000;
    made.objects = std::make_shared<const ObjectCensus>(std::move(objects));
    made.places = std::make_shared<const std::vector<ContainerPlace>>(
        std::vector<ContainerPlace>{{.address = 0x1000, .type = 0x500, .items = 0x40, .length = length}});
    return made;
}

TEST(TargetHeap, LengthsBetweenTheCensusesGiveRatesAndGrowingHolders) {
    TargetHeap heap(Seconds{900});
    ContainerWatch containers;
    ProcessTable::Living living;
    living[7].task.id = {7, 1};
    double now = 0;
    std::uint64_t length = 100;
    const auto look = [&] {
        now += 5;
        length += 10;
        containers.pump(Seconds{now}, living, [&](const LengthsJob& job) {
            return Result<LengthsAnswer>(LengthsAnswer{
                .readings = {job.places.size(), {ContainerReading::State::same, length, 0x40}}, .time = 1000 + now});
        });
    };
    containers.add(with_place(1000, 100));
    heap.add(with_place(1000, 100));
    look();
    TargetSnapshot target = job(Verdict::insufficient, false, std::nullopt);
    heap.describe(target, &containers);
    const auto list = [](const TargetSnapshot& of) {
        return *std::ranges::find(find(of, 7)->held->holders, 0x1000U,
                                  [](const HolderChange& each) { return each.holder.address; });
    };
    EXPECT_EQ(list(target).first_seen, 1000);
    EXPECT_FALSE(list(target).items_per_second) << "one look";
    EXPECT_FALSE(find(target, 7)->growing);
    for (int i = 0; i < 6; ++i) look();
    target = job(Verdict::insufficient, false, std::nullopt);
    heap.describe(target, &containers);
    EXPECT_EQ(list(target).items_per_second, 2);
    ASSERT_TRUE(find(target, 7)->growing);
    const GrowingHolder& growing = find(target, 7)->growing->at(0);
    EXPECT_EQ(growing.holder.path, "__main__.trainer.val_outputs");
    EXPECT_EQ(growing.gain.gained, 70U);
    EXPECT_EQ(growing.host_per_item, kEach);
    // A second census, in which old items have another size than new ones.
    HeapCensus second = with_place(1036, 170);
    ObjectCensus objects = *second.objects;
    objects.holders[1].retained = Bytes{100 * kEach + 70 * 1000};
    second.objects = std::make_shared<const ObjectCensus>(std::move(objects));
    heap.add(second);
    target = job(Verdict::insufficient, false, std::nullopt);
    heap.describe(target, &containers);
    EXPECT_EQ(find(target, 7)->growing->at(0).host_per_item, 1000) << "what new items add";
}

TEST(TargetHeap, ASpikyTargetWithOneCensusWantsASecondOne) {
    TargetHeap heap(Seconds{900});
    (void)heap.wishes(Seconds{1}, job(Verdict::spiky, true, std::nullopt));  // the warm-up has ended
    heap.add(census(7, 1000, 100));
    const auto wishes = heap.wishes(Seconds{2}, job(Verdict::spiky, true, std::nullopt));
    EXPECT_EQ(with_objects(wishes), (std::vector<pid_t>{7}));
    EXPECT_TRUE(!wishes.empty() && wishes.front().soon);
    heap.add(census(7, 1020, 200));
    EXPECT_TRUE(heap.wishes(Seconds{3}, job(Verdict::spiky, true, std::nullopt)).empty());
}

TEST(TargetHeap, AContainerThatACensusHasMissedIsStillNamed) {
    TargetHeap heap(Seconds{900});
    ContainerWatch containers;
    ProcessTable::Living living;
    living[7].task.id = {7, 1};
    containers.add(with_place(1000, 100));
    heap.add(with_place(1000, 100), &containers);
    for (int i = 1; i <= 4; ++i)
        containers.pump(Seconds{5.0 * i}, living, [&](const LengthsJob& job) {
            return Result<LengthsAnswer>(LengthsAnswer{
                .readings = {job.places.size(),
                             {ContainerReading::State::same, 100 + 50 * static_cast<std::uint64_t>(i), 0x40}},
                .time = 1000 + 5.0 * i});
        });
    HeapCensus second = census(7, 1025, 300);
    ObjectCensus objects = *second.objects;
    objects.holders.pop_back();
    objects.sampled = 0.5;
    second.objects = std::make_shared<const ObjectCensus>(std::move(objects));
    heap.add(second, &containers);
    TargetSnapshot target = job(Verdict::leaking, true);
    heap.describe(target, &containers);
    const HolderChange& first = find(target, 7)->held->holders.at(0);
    EXPECT_EQ(first.holder.path, "__main__.trainer.val_outputs");
    EXPECT_EQ(first.holder.length, 300U);
    EXPECT_EQ(first.own_host, 200 * static_cast<std::int64_t>(kEach));
}

TEST(TargetHeap, OneOfManyTargetsGetsNoCensusBeforeItsVerdict) {
    TargetHeap heap(Seconds{900});
    for (const int now : {0, 10, 100})
        EXPECT_TRUE(heap.wishes(Seconds{now}, job(Verdict::insufficient, false, std::nullopt)).empty());
    TargetHeap calm(Seconds{900});
    for (const int now : {0, 10, 100})
        EXPECT_TRUE(calm.wishes(Seconds{now}, job(Verdict::stable, false, std::nullopt), true).empty());
}

}  // namespace target_heap_test
}  // namespace memscope
