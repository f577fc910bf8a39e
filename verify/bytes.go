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

// bytes compares both files part by part: only what may belong to a position
// encoding may differ. It reports whether nothing differs.
func (c *comparison) bytes() (identical bool) {
	k := report.Check{Name: report.CheckBytes, Verdict: report.CheckPass, Tolerance: &bitwise}
	before, ok1 := c.before.(position.Parted)
	after, ok2 := c.after.(position.Parted)
	if !ok1 || !ok2 {
		c.skip(report.CheckBytes, "files of this format are not taken apart")
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

// compareParts counts parts that differ and says which, if any, may not.
func (c *comparison) compareParts(a, b []position.Part) (changed int, unplanned string, where *report.Where) {
	old, rest := keyed(a), keyed(b)
	c.large = compareLarge(a, rest, c.o.Compared)
	var l ledger
	for _, p := range a {
		key := partKey{p.Kind, p.Name}
		q, stays := rest[key]
		delete(rest, key)
		switch {
		case stays && p.Kind == description:
			if !c.large.same(p, q) {
				c.described = true
				l.changed++
			}
		case isRoom(p):
			if !stays || !alike(p, q) {
				l.changed++
			}
		case !stays && isOptional(p):
			l.changed++
		case c.declares && c.again == nil: // looked at already
			if !c.large.same(p, q) {
				l.changed++
			}
		case c.again != nil && stays:
			c.judgeAgain(&l, key, &p, &q)
		case c.again != nil:
			c.judgeAgain(&l, key, &p, nil)
		case stays:
			c.judgeByRules(&l, p, q)
		default:
			c.judgeGone(&l, p)
		}
	}
	for _, q := range b {
		key := partKey{q.Kind, q.Name}
		if _, isNew := rest[key]; !isNew {
			continue
		}
		switch {
		case isRoom(q) || isOptional(q):
			l.changed++
		case c.again != nil:
			c.judgeAgain(&l, key, nil, &q)
		default:
			c.judgeNew(&l, q)
		}
	}
	for key, w := range c.again { // what the change brings, and neither file has
		_, before := old[key]
		_, after := rest[key]
		if !before && !after && !isRoom(w) && !isOptional(w) {
			l.blame(w, "is not there, and the change brings it")
		}
	}
	return l.changed, l.unplanned, l.where
}

// ledger is what a comparison of parts has come to.
type ledger struct {
	changed   int
	unplanned string // the first part that may not differ, and how it does
	where     *report.Where
}

// blame notes a part that may not differ as it does.
func (l *ledger) blame(p position.Part, what string) {
	if l.unplanned == "" {
		l.unplanned = fmt.Sprintf("%s %q %s", p.Kind, report.Printable(p.Name), what)
		l.where = &p.Where
	}
}

// judgeAgain holds a part against the change that was made again. p is the old file's
// part, q the new one's; nil where there is none.
func (c *comparison) judgeAgain(l *ledger, key partKey, p, q *position.Part) {
	kept := p != nil && q != nil && c.large.same(*p, *q)
	as, why := c.made(key, p, q)
	if !kept || !as {
		l.changed++
	}
	// A part that was kept and is another after the change was changed in part alone.
	allowed := p != nil && q != nil && !kept && c.o.Plan == nil && p.Position && len(p.Sites) > 0
	switch {
	case as || allowed && (c.roundedAlike(key, *q) || c.otherRows(*p, *q)):
	case q != nil:
		l.blame(*q, why)
	default:
		l.blame(*p, why)
	}
}

// judgeByRules judges a part of both files where no change was made again.
func (c *comparison) judgeByRules(l *ledger, p, q position.Part) {
	at := int64(-1)
	if p.Head == q.Head && p.Size == q.Size {
		if at = c.large.firstDifference(p, q); at < 0 {
			return
		}
	}
	l.changed++
	if c.allowed(p, q) {
		if why := c.rewritten(p, q); why != "" {
			l.blame(p, why)
		}
		return
	}
	switch {
	case p.Head != q.Head:
		l.blame(p, fmt.Sprintf("was %s and is %s", report.Printable(p.Head), report.Printable(q.Head)))
	case at < 0:
		l.blame(p, fmt.Sprintf("had %d bytes and has %d", p.Size, q.Size))
	default:
		l.blame(p, otherContent(p, at))
	}
}

// otherContent says of a part, for a message, from which byte on it is another.
func otherContent(p position.Part, at int64) string {
	if p.Kind == "tensor" && !p.Position {
		return fmt.Sprintf("has other numbers from its byte %d on, and belongs to no position encoding", at)
	}
	return fmt.Sprintf("differs from its byte %d on", at)
}

// judgeGone judges a part that the old file alone has.
func (c *comparison) judgeGone(l *ledger, p position.Part) {
	if l.changed++; !p.Position || !isStatement(p.Name) && !c.mayChange(p.Sites) && !c.explains(p.Sites, false) {
		l.blame(p, "is gone")
	}
}

// judgeNew judges a part that the new file alone has.
func (c *comparison) judgeNew(l *ledger, q position.Part) {
	if l.changed++; !q.Position || q.Kind == "key" && !isStatement(q.Name) && c.expect != report.ExpectChanged && !c.explains(q.Sites, true) {
		l.blame(q, "is new")
	}
}

// allowed reports whether a part that differs may: it belongs to positions, it
// follows the length, or it is the same node that now reads what a change put
// in between.
func (c *comparison) allowed(p, q position.Part) bool {
	switch {
	case p.Declared:
		return c.o.Plan != nil && declaresLength(p, q, int64(lengthOf(c.before)), int64(lengthOf(c.after)))
	case p.Kind == "node": // that reads what a change put in between; without a plan nothing says so
		return c.o.Plan != nil && (q.Position && p.Head == q.Head || givesWindow(p.Head, q.Head, c.window))
	case p.Buffer != nil:
		return follows(p, q, lengthOf(c.before), lengthOf(c.after))
	}
	return p.Position
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
	case !q.Position && p != nil && !p.Position && q.Size > smallPart && p.Head == q.Head && p.Size == q.Size && w.Head == p.Head:
		if at := c.large.firstDifference(*p, *q); at >= 0 {
			return false, otherContent(*p, at)
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
