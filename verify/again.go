package verify

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// smallPart is the most bytes of a part that belongs to no position and is compared
// with that of the change made again: a larger one is compared with the old file's.
const smallPart = 1 << 16

// Differing counts the parts in which a new file differs from a change that was made
// again. Parts that belong to no position are compared where they are small.
func Differing(again, after position.Model) (int, error) {
	want, err := partsOf(again)
	if err != nil {
		return 0, err
	}
	got, err := partsOf(after)
	if err != nil {
		return 0, err
	}
	n := 0
	for key, q := range got {
		w, ok := want[key]
		if delete(want, key); !ok || w.Head != q.Head || w.Size != q.Size || (q.Position || q.Size <= smallPart) && firstDifference(w, q) >= 0 {
			n++
		}
	}
	return n + len(want), nil
}

// partsOf are the parts of a model by kind and name.
func partsOf(m position.Model) (map[partKey]position.Part, error) {
	p, ok := m.(position.Parted)
	if !ok {
		return nil, fmt.Errorf("files of this format are not taken apart")
	}
	list, err := p.Parts()
	if err != nil {
		return nil, err
	}
	out := make(map[partKey]position.Part, len(list))
	for _, part := range list {
		out[partKey{part.Kind, part.Name}] = part
	}
	return out, nil
}

// made is what the change that was made again has in the place of a part: whether the
// new file's is that, and in what it is not. p is the old file's part, q the new one's;
// nil where there is none.
func (c *comparison) made(key partKey, p, q *position.Part) (as bool, why string) {
	w, ok := c.again[key]
	by := "the planned change"
	if c.o.Plan == nil {
		by = c.o.Command
	}
	switch {
	case !ok && q == nil:
		return true, ""
	case !ok:
		return false, "is not there after " + by
	case q == nil:
		return false, "is gone, and there after " + by
	case w.Head != q.Head:
		return false, fmt.Sprintf("is %s, and %s after %s", report.Printable(q.Head), report.Printable(w.Head), by)
	case w.Size != q.Size:
		return false, fmt.Sprintf("has %d bytes, and %d after %s", q.Size, w.Size, by)
	case !q.Position && q.Size > smallPart && p != nil && p.Head == q.Head && p.Size == q.Size && w.Head == p.Head:
		if at := firstDifference(*p, *q); at >= 0 {
			return false, fmt.Sprintf("differs from its byte %d on", at)
		}
		return true, ""
	}
	if at := firstDifference(w, *q); at >= 0 {
		return false, fmt.Sprintf("differs, from its byte %d on, from what %s makes of it", at, by)
	}
	return true, ""
}

// roundedAlike reports whether the floating-point numbers of a part are those of the
// change made again, but for the rounding of another maker: a few steps of its type for
// frequencies and factors, and those of the angles of so many positions for tables.
func (c *comparison) roundedAlike(key partKey, q position.Part) bool {
	w, ok := c.again[key]
	became := c.explains(q.Sites, true) // another formula: all of its numbers are new
	if became && (strings.HasPrefix(q.Head, "float16") || strings.HasPrefix(q.Head, "bfloat16")) {
		return ok && w.Head == q.Head // the table's own check holds them against the formula
	}
	if !ok || w.Head != q.Head || w.Size != q.Size || q.Buffer != nil || q.Size > maxBuffer || !strings.HasPrefix(q.Head, "float32") && !strings.HasPrefix(q.Head, "f32") {
		return false
	}
	x, err1 := io.ReadAll(w.Open())
	y, err2 := io.ReadAll(q.Open())
	if err1 != nil || err2 != nil || len(x) != len(y) {
		return false
	}
	allowed, other := 1e-6, 0
	if became {
		allowed = formulaSlack * 1.2e-6 // what a base that was read off float32 numbers is off by
	}
	if len(q.Dims) > 1 {
		allowed += float64(float32Angle.Value) * float64(c.newLength())
	}
	for i := 0; i+4 <= len(x); i += 4 {
		a := float64(math.Float32frombits(binary.LittleEndian.Uint32(x[i:])))
		b := float64(math.Float32frombits(binary.LittleEndian.Uint32(y[i:])))
		if a != b {
			other++
		}
		if !(math.Abs(a-b) <= allowed*math.Abs(a)) && !(len(q.Dims) > 1 && math.Abs(a-b) <= allowed) {
			return false
		}
	}
	return became || other > 1 && other >= len(x)/4/fewRounded // else one that was touched
}

// fewRounded is the share of its numbers, one of so many, in which a table by another
// maker differs at least: who rounds otherwise does so everywhere.
const fewRounded = 64

// otherRows reports whether a part is a table of trained rows that got others behind
// those that it had: how they were made, no formula says.
func (c *comparison) otherRows(p, q position.Part) bool {
	return slices.ContainsFunc(c.pairs, func(x pair) bool {
		_, trained := x.before.Encoding().Scheme.(schemes.Learned)
		return trained && slices.Contains(p.Sites, x.index) && x.longer()
	}) && !slices.Equal(p.Dims, q.Dims) && grewBehind(p, q) == ""
}
