"""Writes grids.bin: the code books of the IQ types as indices into their levels.

usage: python grids.py > ../grids.bin   (needs the packages gguf and numpy; gguf 0.19.0 was used)
"""
import sys
import numpy as np
from gguf import quants

out = b""
for name in ["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ1_S", "IQ3_XXS", "IQ3_S"]:
    cls = getattr(quants, name)
    cls.init_grid()
    levels = np.array(cls.grid_map, dtype=np.float32)
    index = np.searchsorted(levels, cls.grid.reshape(cls.grid_shape)).astype(np.uint8)
    assert (levels[index] == cls.grid.reshape(cls.grid_shape)).all()
    bits = 2 if len(levels) == 3 else 4
    index = index.reshape(-1, 8 // bits)
    packed = np.zeros(len(index), dtype=np.uint8)
    for i in range(8 // bits):
        packed |= index[:, i] << np.uint8(bits * i)
    out += packed.tobytes()
sys.stdout.buffer.write(out)
