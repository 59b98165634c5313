"""The Python process of `heap-check`: 50,000 small objects are left of 500,000. Prints the figures of pymalloc."""
import sys

many = [(i, str(i), [i]) for i in range(100000)]
kept = many[::10]
del many
print("ready", flush=True)
for _ in sys.stdin:
    sys._debugmallocstats()
    sys.stderr.flush()
    print("done", flush=True)
