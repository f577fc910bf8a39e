package verify

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// isFormula reports whether a few parameters give all numbers of an encoding.
// Trained rows, fitted slopes and lists of factors are as many parameters as
// numbers: that one of them changed explains nothing.
func isFormula(s schemes.Scheme) bool {
	switch s := s.(type) {
	case schemes.Rotary:
		return s.Dim > 0 && s.Base > 0 && !s.Scaling.Kind().Listed
	case schemes.Sinusoid:
		return s.Base > 0
	case schemes.ALiBi:
		return s.MaxBias > 0 && s.Slopes == nil
	}
	return false
}

// explained reports whether an encoding's numbers differ because a formula became
// another one that a verb makes of it.
func (p pair) explained() bool {
	a, b := p.before.Encoding().Scheme, p.after.Encoding().Scheme
	return isFormula(a) && isFormula(b) && !a.Equal(b) && verbMakes(a, b)
}

// verbMakes reports whether two formulas differ in nothing but parameters that a verb
// changes: rope the base and the scaling of a rotation, extend --image the grid of a table of
// sines and cosines, alibi --replace the steepness of a bias. The pairing of a rotation or the
// base of sinusoids is what a model was trained with: to change it is a fault.
func verbMakes(a, b schemes.Scheme) bool {
	switch x := a.(type) {
	case schemes.Rotary:
		y, ok := b.(schemes.Rotary)
		if kind := y.Scaling.Kind(); !ok || !kind.Settable && (kind != x.Scaling.Kind() || y.Scaling.Rotated != x.Scaling.Rotated) {
			return false
		}
		x.Base, x.Scaling = y.Base, y.Scaling
		return x.Equal(y)
	case schemes.Sinusoid:
		y, ok := b.(schemes.Sinusoid)
		if !ok || x.Grid == nil || y.Grid == nil {
			return false
		}
		x.Grid, x.Rows = y.Grid, y.Rows
		return x.Equal(y)
	case schemes.ALiBi:
		y, ok := b.(schemes.ALiBi)
		x.MaxBias = y.MaxBias
		return ok && x.Equal(y)
	}
	return false
}

// explains reports whether one of the given encodings of the old file (of the new
// one, where inAfter) went from formula to formula.
func (c *comparison) explains(sites []int, inAfter bool) bool {
	return slices.ContainsFunc(c.pairs, func(p pair) bool {
		i := p.index
		if inAfter {
			i = p.afterIndex
		}
		return slices.Contains(sites, i) && p.explained()
	})
}

// anyExplained reports whether any encoding went from formula to formula.
func (c *comparison) anyExplained() bool { return slices.ContainsFunc(c.pairs, pair.explained) }

// expectOf is what may become of encoding i of the old file: what was asked for,
// or what the plan announces for it; "": to be judged from the files.
func (c *comparison) expectOf(i int) string {
	if c.o.Expect != "" || c.o.Plan == nil {
		return c.o.Expect
	}
	expect := report.ExpectSame
	for _, change := range c.o.Plan.Changes {
		// A change without parameters is one of the stated length, by which engines choose.
		if change.Encoding == position.ID(i) || change.Encoding == "" && change.To == nil {
			expect = report.Looser(expect, change.Expect)
		}
	}
	return expect
}

// mayChange reports whether all numbers of one of the given encodings may be
// others: that was planned, or asked for.
func (c *comparison) mayChange(sites []int) bool {
	if len(sites) == 0 {
		return c.expect == report.ExpectChanged
	}
	return slices.ContainsFunc(sites, func(i int) bool { return c.expectOf(i) == report.ExpectChanged })
}

// rewritten says why a part that belongs to positions may not differ as it does,
// "" where it may: its encoding was to change, went from formula to formula, or
// got rows behind those that it had.
func (c *comparison) rewritten(p, q position.Part) string {
	switch {
	case p.Buffer != nil || p.Kind == "node" || p.Declared || isStatement(p.Name):
		return "" // judged by what follows the length
	case c.mayChange(p.Sites) || c.explains(p.Sites, false):
		return ""
	case p.Number != nil && q.Number != nil && float32(*p.Number) == float32(*q.Number) && c.o.Plan != nil:
		return "" // the plan's other type of the same number
	case p.Kind == "key":
		return c.ofEncoding(p) + "changed, and no change of a position encoding explains it"
	case slices.Equal(p.Dims, q.Dims):
		return fmt.Sprintf("%shas other numbers from its byte %d on, and no change of a position encoding explains them", c.ofEncoding(p), max(c.large.firstDifference(p, q), 0))
	}
	return grewBehind(p, q)
}

// ofEncoding names the encoding that a part belongs to, for a message.
func (c *comparison) ofEncoding(p position.Part) string {
	for _, i := range p.Sites {
		if sites := c.before.Sites(); i < len(sites) {
			return "(" + position.EncodingName(sites[i].Encoding().Scheme) + ") "
		}
	}
	return ""
}

// isStatement reports whether a key states a length or a number of tensors, or is
// a note of modelpatch's own: it changes with a length. What a stated original
// length does to a rotation is seen in its numbers.
func isStatement(name string) bool {
	return strings.HasSuffix(name, ".context_length") || strings.HasSuffix(name, ".rope.scaling.original_context_length") || strings.HasPrefix(name, "modelpatch.") || strings.HasSuffix(name, "split.tensors.count")
}

// grewBehind says why a tensor is not the old one with more behind it, "" where
// it is. Where the axis that grew is not the outermost, old and new elements
// take turns, and the table's own check compares them.
func grewBehind(p, q position.Part) string {
	if len(p.Dims) != len(q.Dims) {
		return fmt.Sprintf("had %d dimensions and has %d", len(p.Dims), len(q.Dims))
	}
	var grown []int
	for d := range p.Dims {
		switch {
		case q.Dims[d] < p.Dims[d]:
			return fmt.Sprintf("was %v and is %v", p.Dims, q.Dims)
		case q.Dims[d] > p.Dims[d]:
			grown = append(grown, d)
		}
	}
	for _, n := range p.Dims[:grown[0]] {
		if n != 1 {
			return ""
		}
	}
	if len(grown) > 1 || p.Size > q.Size {
		return ""
	}
	old := q
	old.Size = p.Size
	old.Open = func() io.Reader { return io.LimitReader(q.Open(), p.Size) }
	if at := firstDifference(p, old); at >= 0 {
		return fmt.Sprintf("has more rows, and those that it had differ from byte %d on", at)
	}
	return ""
}
