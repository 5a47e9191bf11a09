"""Bytes that went wrong on the way, or were never meant well."""

import random


def mangled(chance: random.Random, data: bytes) -> bytes:
    """Some random damage, or something else altogether; never nothing."""
    changed = bytearray(data)
    for _ in range(chance.choice([0, 1, 1, 1, 2, 5])):
        place = chance.randrange(len(changed))
        match chance.randrange(6):
            case 0:
                changed[place] ^= 1 << chance.randrange(8)
            case 1:
                changed[place] = chance.choice(b"\x00\x7f\x80\xff\xc1\xdd\xdf\xc6")
            case 2 if len(changed) > 1:
                del changed[place]
            case 3:
                changed[place:place] = chance.randbytes(chance.randrange(1, 8))
            case 4 if len(changed) > 1:
                del changed[max(1, place) :]
            case 5:
                changed[place:] = chance.randbytes(chance.randrange(1, 64))
    return bytes(changed)
