package rows

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
)

// FillFunc computes the elements of a constant from a first one on.
type FillFunc func(first int64, dst []float64) error

// Elements of a constant that are computed at a time, and those that are computed
// ahead of writing to see whether the storage type holds them: of a large one the
// first and the last.
const (
	streamed = 1 << 14
	tried    = 1 << 18
)

// Stream is the bytes of a constant whose elements are computed when they are read. An
// element that the storage type does not hold is an error, ahead of writing.
func Stream(t *onnx.Tensor, n int64, fill FillFunc) (patch.Source, error) {
	size := t.Type.Size(n)
	if size < 0 {
		return nil, &position.Refusal{Why: fmt.Sprintf("elements of type %s cannot be written", t.Type)}
	}
	for _, part := range [][2]int64{{0, min(n, tried)}, {max(n-tried, 0), n}} {
		r := elementReader{t: t, next: part[0], end: part[1], fill: fill}
		if _, err := io.Copy(io.Discard, &r); err != nil {
			return nil, err
		}
	}
	return patch.Func(size, func() io.Reader { return &elementReader{t: t, end: n, fill: fill} }), nil
}

// elementReader encodes elements as they are read.
type elementReader struct {
	t         *onnx.Tensor
	next, end int64
	fill      FillFunc
	values    []float64
	encoded   []byte
	pending   bytes.Reader
}

// Read gives the encoded elements, some made when those before have been read.
func (r *elementReader) Read(p []byte) (int, error) {
	if r.pending.Len() == 0 {
		if r.next == r.end {
			return 0, io.EOF
		}
		if r.values == nil {
			r.values = make([]float64, min(streamed, r.end-r.next))
		}
		values := r.values[:min(int64(len(r.values)), r.end-r.next)]
		err := r.fill(r.next, values)
		if err != nil {
			return 0, err
		}
		if r.encoded, err = encodeNumbers(r.t.Type, values, r.encoded[:0]); err != nil {
			return 0, fmt.Errorf("elements from %d on: %w", r.next, err)
		}
		r.pending.Reset(r.encoded)
		r.next += int64(len(values))
	}
	return r.pending.Read(p)
}

// encodeNumbers appends numbers in a storage type.
func encodeNumbers(t onnx.DataType, values []float64, to []byte) ([]byte, error) {
	if t.IsFloat() {
		return onnx.EncodeFloats(t, values, to)
	}
	ints := make([]int64, len(values))
	for i, x := range values {
		ints[i] = int64(x)
	}
	return onnx.EncodeInts(t, ints, to)
}

// SquareFill fills matrices of n by n whose elements depend on the distance of key and
// query: of the o-th one, by at.
func SquareFill(n int, at func(o, distance int) float64) FillFunc {
	return func(first int64, dst []float64) error {
		k := int(first % int64(n))
		q := int(first / int64(n) % int64(n))
		o := int(first / int64(n) / int64(n))
		for i := range dst {
			dst[i] = at(o, k-q)
			if k++; k == n {
				k = 0
				if q++; q == n {
					q = 0
					o++
				}
			}
		}
		return nil
	}
}

// LineFill fills lines of n elements along an axis behind which stand inner elements.
func LineFill(n, inner int, at func(line, i int) float64) FillFunc {
	return func(first int64, dst []float64) error {
		k := int(first % int64(inner))
		i := int(first / int64(inner) % int64(n))
		o := int(first / int64(inner) / int64(n))
		for j := range dst {
			dst[j] = at(o*inner+k, i)
			if k++; k == inner {
				k = 0
				if i++; i == n {
					i = 0
					o++
				}
			}
		}
		return nil
	}
}

// FitsBuffer reports whether so many elements are not more than a file can hold.
func FitsBuffer(t *onnx.Tensor, factors ...int) bool {
	bytes := float64(max(t.Type.Bits(), 8)) / 8
	for _, n := range factors {
		bytes *= float64(n)
	}
	return bytes <= math.MaxInt32
}
