package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Writing the simple quantised types as ggml's reference quantisers do
// (quantize_row_q4_0_ref and its like), so that the same values give the same
// bytes. Their arithmetic is float32: products are converted before they are
// added to, or some machines would fuse both.

// quantiser turns one block of 32 values into its stored form.
type quantiser func(o binary.ByteOrder, values *[block]float32, out []byte) error

// encodeBlocks cuts a row into blocks of 32 values, size bytes each.
func encodeBlocks(o binary.ByteOrder, row []float64, dst []byte, size int, encode quantiser) error {
	if len(row)%block != 0 {
		return fmt.Errorf("a row of %d values is no multiple of %d", len(row), block)
	}
	var values [block]float32
	for n := 0; n < len(row); n += block {
		for i, v := range row[n : n+block] {
			values[i] = float32(v)
		}
		if err := encode(o, &values, dst[n/block*size:]); err != nil {
			return fmt.Errorf("values %d to %d of the row: %w", n, n+block-1, err)
		}
	}
	return nil
}

// putScale stores a block's scale or minimum.
func putScale(o binary.ByteOrder, out []byte, v float32) error {
	h := toHalf(float64(v))
	if h&0x7C00 == 0x7C00 {
		return fmt.Errorf("scale %g is too large for F16", v)
	}
	o.PutUint16(out, h)
	return nil
}

// inverse is 1/d, and 0 for a block of zeros.
func inverse(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// furthest is the value of the largest magnitude, the first of equals.
func furthest(values *[block]float32) (v float32) {
	for _, w := range values {
		if math.Abs(float64(w)) > math.Abs(float64(v)) {
			v = w
		}
	}
	return v
}

// extent is the smallest and the largest value.
func extent(values *[block]float32) (smallest, largest float32) {
	smallest, largest = values[0], values[0]
	for _, v := range values {
		smallest, largest = min(smallest, v), max(largest, v)
	}
	return smallest, largest
}

func encodeQ80(o binary.ByteOrder, row []float64, dst []byte) error {
	return encodeBlocks(o, row, dst, 34, func(o binary.ByteOrder, values *[block]float32, out []byte) error {
		d := float32(math.Abs(float64(furthest(values)))) / 127
		if err := putScale(o, out, d); err != nil {
			return err
		}
		id := inverse(d)
		for i, v := range values {
			out[2+i] = byte(int8(math.Round(float64(v * id))))
		}
		return nil
	})
}

// centred gives the steps of Q4_0 and Q5_0: the furthest value becomes the
// lowest of 2·middle steps.
func centred(values *[block]float32, middle float32) (d float32, steps [block]byte) {
	d = furthest(values) / -middle
	id := inverse(d)
	for i, v := range values {
		steps[i] = byte(min(float32(v*id)+middle+0.5, 2*middle-1))
	}
	return d, steps
}

// spread gives the steps of Q4_1 and Q5_1: from the smallest value to the
// largest.
func spread(values *[block]float32, most float32) (d, smallest float32, steps [block]byte) {
	smallest, largest := extent(values)
	d = (largest - smallest) / most
	id := inverse(d)
	for i, v := range values {
		steps[i] = byte(min(float32((v-smallest)*id)+0.5, most))
	}
	return d, smallest, steps
}

// putNibbles stores the low four bits of each step, the first half in the low
// nibbles.
func putNibbles(out []byte, steps *[block]byte) {
	for i := range block / 2 {
		out[i] = steps[i]&15 | steps[i+block/2]<<4
	}
}

// putFifths stores the fifth bit of each step.
func putFifths(o binary.ByteOrder, out []byte, steps *[block]byte) {
	var high uint32
	for i, s := range steps {
		high |= uint32(s>>4) << i
	}
	o.PutUint32(out, high)
}

func encodeQ40(o binary.ByteOrder, row []float64, dst []byte) error {
	return encodeBlocks(o, row, dst, 18, func(o binary.ByteOrder, values *[block]float32, out []byte) error {
		d, steps := centred(values, 8)
		putNibbles(out[2:], &steps)
		return putScale(o, out, d)
	})
}

func encodeQ50(o binary.ByteOrder, row []float64, dst []byte) error {
	return encodeBlocks(o, row, dst, 22, func(o binary.ByteOrder, values *[block]float32, out []byte) error {
		d, steps := centred(values, 16)
		putFifths(o, out[2:], &steps)
		putNibbles(out[6:], &steps)
		return putScale(o, out, d)
	})
}

func encodeQ41(o binary.ByteOrder, row []float64, dst []byte) error {
	return encodeBlocks(o, row, dst, 20, func(o binary.ByteOrder, values *[block]float32, out []byte) error {
		d, smallest, steps := spread(values, 15)
		putNibbles(out[4:], &steps)
		if err := putScale(o, out[2:], smallest); err != nil {
			return err
		}
		return putScale(o, out, d)
	})
}

func encodeQ51(o binary.ByteOrder, row []float64, dst []byte) error {
	return encodeBlocks(o, row, dst, 24, func(o binary.ByteOrder, values *[block]float32, out []byte) error {
		d, smallest, steps := spread(values, 31)
		putFifths(o, out[4:], &steps)
		putNibbles(out[8:], &steps)
		if err := putScale(o, out[2:], smallest); err != nil {
			return err
		}
		return putScale(o, out, d)
	})
}
