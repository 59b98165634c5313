"""Fills a cache of 960 samples with 256 KiB each. Each sample that was seen before is already there."""
import random

from stage import MIB, Loader, ready, steps, usual_work


class FeatureCache:
    def __init__(self, samples):
        self.features = {}
        self.order = random.Random(4)
        self.samples = samples

    def features_of(self, sample):
        if sample not in self.features:
            self.features[sample] = bytearray(b'f') * (MIB // 4)
        return self.features[sample]

    def batch(self):
        return [self.features_of(self.order.randrange(self.samples)) for _ in range(8)]


loader = Loader(2, usual_work)
model = bytearray(b'w') * (48 * MIB)
cache = FeatureCache(960)
ready()
for step in steps(per_second=32):
    loader.batch(step)
    cache.batch()
