"""Validates every two seconds. The predictions are freed each time."""
import time


def validate():
    predictions = bytearray(b'p') * (80 << 20)
    time.sleep(0.5)
    return len(predictions)


model = bytearray(b'w') * (40 << 20)
for epoch in range(8):
    time.sleep(1.2)
    validate()
