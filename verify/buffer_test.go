package verify

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/position"
)

// buffer is a part of whole numbers that a function of place gives.
func buffer(width int, dims []int64, at func(index []int64) int64) position.Part {
	var b []byte
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	for i := range n {
		index, rest := make([]int64, len(dims)), i
		for d := len(dims) - 1; d >= 0; d-- {
			index[d], rest = rest%dims[d], rest/dims[d]
		}
		var x [8]byte
		binary.LittleEndian.PutUint64(x[:], uint64(at(index)))
		b = append(b, x[:width]...)
	}
	return position.Part{Size: int64(len(b)), Open: func() io.Reader { return bytes.NewReader(b) },
		Buffer: &position.Buffer{Dims: dims, Width: width, Integer: true}}
}

// floats is a part of float32 numbers that a function of place gives.
func floats(dims []int64, at func(index []int64) float64) position.Part {
	p := buffer(4, dims, func(index []int64) int64 { return int64(math.Float32bits(float32(at(index)))) })
	p.Buffer.Integer, p.Buffer.Float = false, true
	return p
}

// TestFoldedNumbersFollow does the same for what a graph of one length was folded to.
func TestFoldedNumbersFollow(t *testing.T) {
	kinds := func(i []int64) float64 { return math.Sin(float64(7 * i[1])) }
	angles := func(i []int64) float64 { return float64(i[0]) * math.Pow(0.1, float64(i[1])) }
	trained := func(i []int64) float64 { return math.Sin(float64(7*i[1] + 11*i[0]*i[0])) }
	distance := func(i []int64) float64 { return float64(i[1] - i[0]) }
	from := func(n int64, before, then func([]int64) float64) func([]int64) float64 {
		return func(i []int64) float64 {
			if i[0] < n {
				return before(i)
			}
			return then(i)
		}
	}
	for _, c := range []struct {
		name     string
		was, is  []int64
		old, new func([]int64) float64
		follows  bool
	}{
		{"rows of one kind", []int64{5, 3}, []int64{9, 3}, kinds, kinds, true},
		{"rows of one kind, then others", []int64{5, 3}, []int64{9, 3}, kinds, from(5, kinds, trained), false},
		{"angles", []int64{5, 3}, []int64{9, 3}, angles, angles, true},
		{"angles that stop", []int64{5, 3}, []int64{9, 3}, angles, from(5, angles, kinds), false},
		{"trained rows", []int64{5, 3}, []int64{9, 3}, trained, trained, false},
		{"trained rows, the last repeated", []int64{5, 3}, []int64{9, 3}, trained, from(5, trained, func(i []int64) float64 { return trained([]int64{4, i[1]}) }), false},
		{"distances", []int64{5, 5}, []int64{9, 9}, distance, distance, true},
		{"angles, the old ones a little off", []int64{5, 3}, []int64{9, 3}, angles, func(i []int64) float64 { return angles(i) + 1e-6*float64(i[1]) }, false},
		{"another size of the same", []int64{5, 3}, []int64{5, 3}, kinds, trained, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := follows(floats(c.was, c.old), floats(c.is, c.new), int(c.was[0]), int(c.is[0])); got != c.follows {
				t.Errorf("follows is %v", got)
			}
		})
	}
}

// TestBuffersThatClaimMore: dimensions without the content that they claim.
func TestBuffersThatClaimMore(t *testing.T) {
	short, long := buffer(8, []int64{5, 5}, func([]int64) int64 { return 1 }), buffer(8, []int64{9, 9}, func([]int64) int64 { return 1 })
	short.Size, short.Open = 4, func() io.Reader { return bytes.NewReader([]byte{1, 2, 3, 4}) }
	if follows(short, long, 5, 9) || follows(long, short, 9, 5) {
		t.Error("four bytes are no 25 numbers")
	}
}

// TestBuffersFollow tells buffers that went on as they were from any others.
func TestBuffersFollow(t *testing.T) {
	distance := func(i []int64) int64 { return i[1] - i[0] }
	apart := func(i []int64) int64 { return max(i[1]-i[0], i[0]-i[1]) }
	clipped := func(i []int64) int64 { return min(max(i[1]-i[0], -2), 2) }
	causal := func(i []int64) int64 { return min(max(i[0]-i[1]+1, 0), 1) }
	counting := func(i []int64) int64 { return i[1] + 2 }
	counting1 := func(i []int64) int64 { return i[0] }
	but := func(f func([]int64) int64, row, column int64) func([]int64) int64 {
		return func(i []int64) int64 {
			if i[0] == row && i[1] == column {
				return f(i) + 1
			}
			return f(i)
		}
	}
	for _, c := range []struct {
		name     string
		width    int
		was, is  []int64
		old, new func([]int64) int64
		follows  bool
	}{
		{"distances", 8, []int64{5, 5}, []int64{9, 9}, distance, distance, true},
		{"distances whichever way", 4, []int64{5, 5}, []int64{9, 9}, apart, apart, true},
		{"distances, one wrong", 8, []int64{5, 5}, []int64{9, 9}, distance, but(distance, 1, 8), false},
		{"distances that stop", 8, []int64{5, 5}, []int64{9, 9}, distance, func(i []int64) int64 { return min(max(distance(i), -4), 4) }, false},
		{"clipped distances", 8, []int64{5, 5}, []int64{9, 9}, clipped, clipped, true},
		{"clipped distances that go on", 8, []int64{5, 5}, []int64{9, 9}, clipped, distance, false},
		{"a causal mask", 1, []int64{5, 5}, []int64{9, 9}, causal, causal, true},
		{"a causal mask, one hole", 1, []int64{5, 5}, []int64{9, 9}, causal, but(causal, 8, 2), false},
		{"positions", 8, []int64{1, 5}, []int64{1, 9}, counting, counting, true},
		{"positions, an old one wrong", 8, []int64{1, 5}, []int64{1, 9}, counting, but(counting, 0, 1), false},
		{"shorter", 8, []int64{1, 5}, []int64{1, 4}, counting, counting, false},
		{"nothing that became something", 8, []int64{0}, []int64{4}, counting1, counting1, false},
		{"one place", 8, []int64{1, 1}, []int64{3, 3}, distance, func([]int64) int64 { return 0 }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := follows(buffer(c.width, c.was, c.old), buffer(c.width, c.is, c.new), 5, 9); got != c.follows {
				t.Errorf("follows is %v", got)
			}
		})
	}
}
