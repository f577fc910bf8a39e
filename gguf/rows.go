package gguf

import (
	"encoding/binary"
	"fmt"
)

// ReadRows reads n rows of a tensor, from row first on, into dst, which must
// have room for n·Width values. Quantised rows are dequantised.
func (f *File) ReadRows(t *Tensor, first, n int64, dst []float64) error {
	p := f.Parts[t.Part]
	decode := decoders[t.Type]
	fault := func(format string, args ...any) error {
		return &FormatError{Path: p.Path, What: "tensor data", Why: fmt.Sprintf(format, args...), At: p.DataStart + t.Offset, Tensor: t.Name}
	}
	width, rowBytes := t.Width(), t.RowBytes()
	switch {
	case decode == nil:
		return fault("storage type %s cannot be read here", t.Type)
	case first < 0 || n < 0 || first > t.Rows() || n > t.Rows()-first:
		return fault("rows %d to %d of %d", first, first+n, t.Rows())
	case int64(len(dst))/max(width, 1) < n:
		return fault("room for %d values, not %d rows", len(dst), n)
	}
	l, _ := t.Type.layout()
	at := p.DataStart + t.Offset + first*rowBytes
	// Read in pieces of at most a window, in whole blocks.
	blocks := n * width / int64(l.block)
	most := max(1, int64(window)/int64(l.bytes))
	for blocks > 0 {
		now := min(blocks, most)
		raw, err := p.read(at, now*int64(l.bytes))
		if err != nil {
			return err
		}
		count := now * int64(l.block)
		decode(p.Order, raw, dst[:count])
		at, blocks, dst = at+int64(len(raw)), blocks-now, dst[count:]
	}
	return nil
}

// Readable reports whether ReadRows knows the tensor's storage type.
func (t *Tensor) Readable() bool { return decoders[t.Type] != nil }

// decoder turns whole blocks into values.
type decoder func(order binary.ByteOrder, raw []byte, dst []float64)

// decoders lists the storage types that ReadRows knows: all that the format has.
var decoders = map[TensorType]decoder{
	F32: decodeF32, F16: decodeF16, BF16: decodeBF16, F64: decodeF64,
	I8: decodeI8, I16: decodeI16, I32: decodeI32, I64: decodeI64,
	Q8_0: decodeQ80, Q4_0: decodeQ40, Q4_1: decodeQ41, Q5_0: decodeQ50, Q5_1: decodeQ51,
	Q8_1: decodeQ81, Q1_0: decodeQ10, Q2_0: decodeQ20, TQ1_0: decodeTQ10, TQ2_0: decodeTQ20,
	Q2_K: decodeQ2K, Q3_K: decodeQ3K, Q4_K: decodeQ4K, Q5_K: decodeQ5K, Q6_K: decodeQ6K, Q8_K: decodeQ8K,
	IQ1_S: decodeIQ1S, IQ1_M: decodeIQ1M, IQ2_XXS: decodeIQ2XXS, IQ2_XS: decodeIQ2XS, IQ2_S: decodeIQ2S,
	IQ3_XXS: decodeIQ3XXS, IQ3_S: decodeIQ3S, IQ4_NL: decodeIQ4NL, IQ4_XS: decodeIQ4XS,
	MXFP4: decodeMXFP4, NVFP4: decodeNVFP4,
}
