"""Takes a buffer for each record and cuts it to the tenth that was used."""
import time

records = []
for step in range(500):  # 10 s
    for _ in range(5):
        record = bytearray(b'r') * 40_000
        if records:
            del records[-1][4_000:]  # the free rest is too small for the next buffer
        records.append(record)
    time.sleep(0.02)
