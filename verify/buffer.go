package verify

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
)

// maxBuffer bounds the bytes of a mask or buffer that are held to be compared with what
// became of it, which is read element by element.
const maxBuffer = 1 << 27

// follows reports whether a buffer differs from what it was by nothing but a
// change of length from old to new.
func follows(p, q position.Part, old, new int) bool {
	a, b := p.Buffer, q.Buffer
	if a == nil || b == nil || a.Width != b.Width || a.Integer != b.Integer || a.Float != b.Float || len(a.Dims) != len(b.Dims) || a.Width == 0 || p.Size > maxBuffer || !fits(p.Size, *a) || !fits(q.Size, *b) {
		return false
	}
	x, err := io.ReadAll(p.Open())
	if err != nil || int64(len(x)) != p.Size {
		return false
	}
	y := bufio.NewReaderSize(q.Open(), 1<<16)
	if slices.Equal(a.Dims, b.Dims) {
		return a.Integer && old != new && lengthsReplaced(x, y, a.Width, int64(old), int64(new))
	}
	return grown{*a, b.Dims, x, y}.ok()
}

// fits reports whether so many bytes are as many as a buffer's dimensions claim, and
// any.
func fits(size int64, b position.Buffer) bool {
	left := size / int64(b.Width)
	for _, d := range b.Dims {
		if d < 1 || left%d != 0 {
			return false
		}
		left /= d
	}
	return left == 1 && size%int64(b.Width) == 0
}

// lengthsReplaced reports whether whole numbers differ only where a length, a
// position near its end or a multiple of it was.
func lengthsReplaced(x []byte, y io.Reader, width int, old, new int64) bool {
	element := make([]byte, width)
	for i := 0; i < len(x); i += width {
		if _, err := io.ReadFull(y, element); err != nil {
			return false
		}
		a, b := integer(x[i:i+width]), integer(element)
		explained := a == b || b-a == new-old || old > 1 && a%old == 0 && b == a/old*new
		if !explained {
			return false
		}
	}
	return true
}

func integer(b []byte) int64 {
	switch len(b) {
	case 8:
		return int64(binary.LittleEndian.Uint64(b))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	}
	return int64(b[0])
}

// grown is a buffer and what became of it.
type grown struct {
	position.Buffer         // what it was
	is              []int64 // its new dimensions
	x               []byte
	y               io.Reader
}

// ok reports whether what was there still is, and what came goes on as it
// counted, repeated or, in a mask, depended on the distance.
func (g grown) ok() bool {
	var axes []int
	for i := range g.Dims {
		switch {
		case g.is[i] < g.Dims[i]:
			return false
		case g.is[i] > g.Dims[i]:
			axes = append(axes, i)
		}
	}
	k := len(g.is)
	square := len(axes) == 2 && axes[0] == k-2 && axes[1] == k-1
	if len(axes) != 1 && !square {
		return false
	}
	index, got := make([]int64, k), make([]byte, g.Width)
	for {
		switch _, err := io.ReadFull(g.y, got); {
		case err == io.EOF: // at the end, where the index begins anew
			return !slices.ContainsFunc(index, func(i int64) bool { return i != 0 })
		case err != nil:
			return false
		}
		if want, old := g.expected(index, axes); want == nil || !bytes.Equal(want, got) && (old || !g.close(want, got)) {
			return false
		}
		for d := k - 1; d >= 0; d-- {
			if index[d]++; index[d] < g.is[d] {
				break
			}
			index[d] = 0
		}
	}
}

// expected is the element that belongs at a place of the grown buffer, nil where the
// old elements do not say, and whether it was there before.
func (g grown) expected(index []int64, axes []int) (want []byte, old bool) {
	at := slices.Clone(index)
	n := g.Dims[axes[0]]
	if len(axes) == 2 { // by the distance of key and query
		q, k := at[axes[0]], at[axes[1]]
		if q < n && k < n {
			return g.element(at), true
		}
		by := func(d int64) []byte {
			at[axes[0]], at[axes[1]] = max(-d, 0), max(d, 0)
			return g.element(at)
		}
		d, side := k-q, int64(1)
		if d < 0 {
			side = -1
		}
		beyond := side*d - n + 1
		if beyond <= 0 {
			return by(d), false
		}
		return g.onward(n, beyond, true, func(back int64) []byte { return by(side * (n - 1 - back)) }), false
	}
	beyond := at[axes[0]] - n + 1
	if beyond <= 0 {
		return g.element(at), true
	}
	return g.onward(n, beyond, false, func(back int64) []byte { // lists do not count down
		at[axes[0]] = n - 1 - back
		return g.element(at)
	}), false
}

// onward is what stands so many places beyond the last of n elements, which are given
// from the end: numbers that counted, or were on a line, go on; others repeat, if
// they did or are a mask's.
func (g grown) onward(n, beyond int64, down bool, back func(int64) []byte) []byte {
	last := back(0)
	if n < 2 {
		return last
	}
	before := back(1)
	switch {
	case g.Integer && g.Width >= 4:
		if step := integer(last) - integer(before); step == 1 || down && step == -1 {
			out := make([]byte, 8)
			binary.LittleEndian.PutUint64(out, uint64(integer(last)+step*beyond))
			return out[:g.Width]
		}
	case g.Float && !bytes.Equal(last, before):
		if g.Width != 4 || n < 3 {
			return nil
		}
		a, b, c := float(last), float(before), float(back(2))
		if math.Abs((a-b)-(b-c)) > lineRounding*max(math.Abs(a), math.Abs(c)) {
			return nil
		}
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(a+(a-c)/2*float64(beyond))))
	}
	return last
}

// lineRounding is the relative error of float32 numbers that go on along a line whose
// slope is read off three of them.
const lineRounding = 1e-5

// close reports whether a new element on a line is what was expected, but for rounding.
func (g grown) close(want, got []byte) bool {
	if !g.Float || g.Width != 4 {
		return false
	}
	x, y := float(want), float(got)
	return math.Abs(x-y) <= lineRounding*math.Abs(x)
}

func float(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }

func (g grown) element(index []int64) []byte {
	at := int64(0)
	for d, i := range index {
		at = at*g.Dims[d] + i
	}
	return g.x[at*int64(g.Width):][:g.Width]
}
