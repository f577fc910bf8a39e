package verify

import (
	"bytes"
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

// bytes compares both files part by part: only what may belong to a position
// encoding may differ. It reports whether nothing differs.
func (c *comparison) bytes() (identical bool) {
	k := report.Check{Name: "bytes", Verdict: report.CheckPass, Tolerance: &bitwise}
	before, ok1 := c.before.(position.Parted)
	after, ok2 := c.after.(position.Parted)
	if !ok1 || !ok2 {
		c.skip("bytes", "files of this format are not taken apart")
		return false
	}
	a, err1 := before.Parts()
	b, err2 := after.Parts()
	if err1 != nil || err2 != nil {
		k.Verdict, k.Why = report.CheckFail, fmt.Sprint(firstOf(err1, err2))
		c.add(k)
		return false
	}
	changed, unplanned, where := c.compareParts(a, b)
	switch {
	case unplanned != "":
		k.Verdict, k.Why = report.CheckFail, unplanned
		k.At = &report.At{Where: where}
	case changed > 0:
		k.Why = fmt.Sprintf("%d of %d parts differ, and all of these belong to positions", changed, len(a))
	}
	c.add(k)
	return changed == 0 && unplanned == ""
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// defaultAlignment is what general.alignment is where a file does not state it
// (ggml/docs/gguf.md).
const defaultAlignment = 32

// isDefault reports whether a key states what holds without it.
func isDefault(p position.Part) bool {
	return p.Kind == "key" && p.Name == "general.alignment" && p.Number != nil && *p.Number == defaultAlignment
}

// description is the kind of parts that no engine computes with.
const description = "description"

// innerType is the kind of parts that state the type of a value inside a graph.
const innerType = "type"

type partKey struct{ kind, name string }

// compareParts counts parts that differ and says which, if any, may not.
func (c *comparison) compareParts(a, b []position.Part) (changed int, unplanned string, where *report.Where) {
	names := map[partKey]bool{}
	for _, p := range a {
		names[partKey{p.Kind, p.Name}] = true
	}
	rest := map[partKey]position.Part{}
	for _, p := range b {
		rest[partKey{p.Kind, p.Name}] = p
	}
	blame := func(p position.Part, what string) {
		if unplanned == "" {
			unplanned = fmt.Sprintf("%s %q %s", p.Kind, report.Printable(p.Name), what)
			w := p.Where
			where = &w
		}
	}
	for _, p := range a {
		key := partKey{p.Kind, p.Name}
		q, ok := rest[key]
		delete(rest, key)
		at := int64(-1)
		if ok && p.Kind == description {
			if at = firstDifference(p, q); at >= 0 || p.Size != q.Size {
				c.described = true
				changed++
			}
			continue
		}
		if !ok && (p.Kind == innerType || isDefault(p)) {
			changed++ // no engine needs what a graph states of values inside
			continue
		}
		if c.again != nil {
			is := &q
			if !ok {
				is = nil
			}
			as, why := c.made(key, &p, is)
			switch {
			case as:
				if !ok || p.Head != q.Head || p.Size != q.Size || (p.Position || p.Size <= smallPart) && firstDifference(p, q) >= 0 {
					changed++
				}
				continue
			case c.o.Plan != nil || ok && p.Head == q.Head && p.Size == q.Size && firstDifference(p, q) < 0:
				changed++ // a change that was made in part alone, or not as planned
				blame(p, why)
				continue
			case ok && p.Position && len(p.Sites) > 0 && (c.roundedAlike(key, q) || c.otherRows(p, q)):
				changed++
				continue
			default:
				changed++
				blame(p, why)
				continue
			}
		}
		switch {
		case !ok:
			if changed++; !p.Position || !isStatement(p.Name) && !c.mayChange(p.Sites) && !c.explains(p.Sites, false) {
				blame(p, "is gone")
			}
			continue
		case p.Head == q.Head && p.Size == q.Size:
			if at = firstDifference(p, q); at < 0 {
				continue
			}
		}
		changed++
		if c.allowed(p, q) {
			if why := c.rewritten(p, q); why != "" {
				blame(p, why)
			}
			continue
		}
		switch {
		case p.Head != q.Head:
			blame(p, fmt.Sprintf("was %s and is %s", report.Printable(p.Head), report.Printable(q.Head)))
		case at < 0:
			blame(p, fmt.Sprintf("had %d bytes and has %d", p.Size, q.Size))
		default:
			blame(p, fmt.Sprintf("differs from its byte %d on", at))
		}
	}
	for _, p := range b {
		if _, ok := rest[partKey{p.Kind, p.Name}]; ok {
			if p.Kind == innerType || isDefault(p) {
				changed++
				continue
			}
			if c.again != nil {
				as, why := c.made(partKey{p.Kind, p.Name}, nil, &p)
				delete(c.again, partKey{p.Kind, p.Name})
				if changed++; !as {
					blame(p, why)
				}
				continue
			}
			if changed++; !p.Position || p.Kind == "key" && !isStatement(p.Name) && c.expect != report.ExpectChanged && !c.explains(p.Sites, true) {
				blame(p, "is new")
			}
		}
	}
	for key, w := range c.again { // what the change brings, and neither file has
		if _, old := names[key]; !old && key.kind != innerType {
			blame(w, "is not there, and the change brings it")
		}
	}
	return changed, unplanned, where
}

// allowed reports whether a part that differs may: it belongs to positions, it
// follows the length, or it is the same node that now reads what a change put
// in between.
func (c *comparison) allowed(p, q position.Part) bool {
	switch {
	case p.Declared:
		return c.o.Plan != nil && declaresLength(p, q, int64(lengthOf(c.before)), int64(lengthOf(c.after)))
	case p.Kind == "node": // that reads what a change put in between; without a plan nothing says so
		return c.o.Plan != nil && q.Position && p.Head == q.Head
	case p.Buffer != nil:
		return follows(p, q, lengthOf(c.before), lengthOf(c.after))
	}
	return p.Position
}

// declaresLength reports whether a declared size differs only as lengths do: where it
// was a multiple of the old one, or is free in one of the files.
func declaresLength(p, q position.Part, old, new int64) bool {
	kind, _, _ := strings.Cut(p.Head, " ")
	other, _, _ := strings.Cut(q.Head, " ")
	if kind != other || len(p.Dims) != len(q.Dims) {
		return false
	}
	for d, a := range p.Dims {
		b := q.Dims[d]
		if a != b && a != 0 && b != 0 && b-a != new-old && (old < 2 || a%old != 0 || b != a/old*new) {
			return false
		}
	}
	return true
}

// firstDifference is the first byte at which two parts of one size differ, −1
// when they are equal.
func firstDifference(p, q position.Part) int64 {
	const step = 1 << 16
	x, y := p.Open(), q.Open()
	bufX, bufY := make([]byte, min(step, p.Size)), make([]byte, min(step, p.Size))
	for at := int64(0); at < p.Size; {
		n := int(min(step, p.Size-at))
		_, err1 := io.ReadFull(x, bufX[:n])
		_, err2 := io.ReadFull(y, bufY[:n])
		if err1 != nil || err2 != nil {
			return at
		}
		if !bytes.Equal(bufX[:n], bufY[:n]) {
			for i := range n {
				if bufX[i] != bufY[i] {
					return at + int64(i)
				}
			}
		}
		at += int64(n)
	}
	return -1
}

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
