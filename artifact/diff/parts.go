package diff

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// partKey names a part: Kind and Name of position.Part.
type partKey struct{ kind, name string }

// twin is a part of both models, of one of them where the other pointer is nil.
type twin struct{ a, b *position.Part }

// InnerType is what DeclaredDiff.What says of the types that a graph states of values inside it.
const InnerType = "type"

// tally counts tensors for the summary. Weights are those that belong to no position
// encoding, hold no shapes or masks, and were not folded for the length of their graph.
type tally struct {
	tensors, tensorsDiffer int
	weights, weightsDiffer int
	renamed                int // tensors and nodes
	inner                  int // stated types of values inside a graph that differ
}

// compareParts compares two models part by part and lists what differs, in the file order
// of a, then what b alone has.
func compareParts(ctx context.Context, a, b position.Model, d *report.Diff) (tally, error) {
	before, err := partsOf(ctx, a)
	if err != nil {
		return tally{}, err
	}
	after, err := partsOf(ctx, b)
	if err != nil {
		return tally{}, err
	}
	twins := matched(before, after)
	c := comparison{ctx: ctx, d: d, renamer: renamed(twins)}
	for _, t := range c.twins {
		if t.a == nil && t.b == nil { // the other half of a renamed part
			continue
		}
		if err := c.part(t); err != nil {
			return c.tally, err
		}
	}
	return c.tally, nil
}

// partsOf lists the parts of a model; reading one ends with the context.
func partsOf(ctx context.Context, m position.Model) ([]position.Part, error) {
	p, ok := m.(position.Parted)
	if !ok {
		return nil, &modelpatch.InputError{Path: m.Describe().Path, What: "cannot be compared", Why: "files of this format are not taken apart"}
	}
	list, err := p.Parts()
	for i, part := range list {
		list[i].Open = func() io.Reader { return &contextReader{ctx, part.Open()} }
	}
	return list, err
}

// contextReader reads until a context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

// Read is that of the reader inside, or the context's error.
func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// matched pairs parts of one kind and name.
func matched(a, b []position.Part) []twin {
	index := make(map[partKey]int, len(a))
	out := make([]twin, 0, max(len(a), len(b)))
	for i := range a {
		index[partKey{a[i].Kind, a[i].Name}] = len(out)
		out = append(out, twin{a: &a[i]})
	}
	for i := range b {
		if at, ok := index[partKey{b[i].Kind, b[i].Name}]; ok && out[at].b == nil {
			out[at].b = &b[i]
		} else {
			out = append(out, twin{b: &b[i]})
		}
	}
	return out
}

// comparison is one run of compareParts.
type comparison struct {
	ctx   context.Context
	d     *report.Diff
	tally tally
	*renamer
}

// part compares one part and lists it where it differs.
func (c *comparison) part(t twin) error {
	c.d.Parts++
	p := t.a
	if p == nil {
		p = t.b
	}
	var differs bool
	var err error
	switch p.Kind {
	case "tensor":
		differs, err = c.tensor(t)
	case "node":
		differs, err = c.node(t)
	case "key":
		differs, err = c.key(t)
	default:
		differs, err = c.declared(p.Kind, t)
	}
	if differs {
		c.d.Differ++
	}
	if err != nil && c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	if err != nil {
		return &modelpatch.InputError{Path: c.d.A, What: fmt.Sprintf("%s %s", p.Kind, report.Printable(p.Name)), Why: "cannot be compared with " + c.d.B + ": " + err.Error(), Err: err}
	}
	return nil
}

// tensor compares types, shapes and contents.
func (c *comparison) tensor(t twin) (bool, error) {
	p, q := t.a, t.b
	out := report.TensorDiff{}
	switch {
	case q == nil:
		out = report.TensorDiff{Name: p.Name, Change: report.DiffRemoved, From: p.Head, Bytes: p.Size, Position: p.Position}
	case p == nil:
		out = report.TensorDiff{Name: q.Name, Change: report.DiffAdded, To: q.Head, Bytes: q.Size, Position: q.Position}
	default:
		content, err := verify.Content{}, error(nil)
		out = report.TensorDiff{Name: p.Name, From: p.Head, To: q.Head, Bytes: max(p.Size, q.Size), Position: p.Position || q.Position}
		switch {
		case typeOf(p.Head) != typeOf(q.Head):
			out.Change = report.DiffRetyped
		case p.Head != q.Head || p.Size != q.Size:
			out.Change = report.DiffResized
		case c.equal[p]: // compared already
		default:
			if content, err = verify.CompareContent(*p, *q); err != nil {
				return false, err
			}
			if out.Bytes = content.Bytes; content.Bytes > 0 {
				out.Change, out.Count, out.At = report.DiffBytes, content.Count, content.Places
			}
		}
		if out.Change == "" && p.Name != q.Name {
			out.Change, out.NewName = report.DiffRenamed, report.Name(q.Name)
			c.tally.renamed++
		}
	}
	differs := out.Change != "" && out.Change != report.DiffRenamed
	c.tally.tensors++
	if differs {
		c.tally.tensorsDiffer++
	}
	if !out.Position && !c.folded(t) {
		c.tally.weights++
		if differs {
			c.tally.weightsDiffer++
		}
	}
	if out.Change == "" {
		return false, nil
	}
	out.Name = report.Name(out.Name)
	c.d.Tensors = append(c.d.Tensors, out)
	return true, nil
}

// folded reports whether a tensor of both models has the length of a's graph for a dimension
// where that of b has the length of b's, and other dimensions are equal: a constant that the
// exporter folded for one length.
func (c *comparison) folded(t twin) bool {
	l := c.d.Length
	if t.a == nil || t.b == nil || t.a.Buffer == nil || len(t.a.Dims) != len(t.b.Dims) || l == nil || l.From.Stated == nil || l.To.Stated == nil {
		return false
	}
	follows := false
	for i, n := range t.a.Dims {
		switch m := t.b.Dims[i]; {
		case n == m:
		case n == int64(*l.From.Stated) && m == int64(*l.To.Stated):
			follows = true
		default:
			return false
		}
	}
	return follows
}

// typeOf is the type in a tensor's head: what stands before its shape.
func typeOf(head string) string {
	for i := range head {
		if head[i] == ' ' {
			return head[:i]
		}
	}
	return head
}

// key compares types and values.
func (c *comparison) key(t twin) (bool, error) {
	p, q := t.a, t.b
	var out report.KeyDiff
	switch {
	case q == nil:
		out = report.KeyDiff{Key: p.Name, Change: report.DiffRemoved, From: p.Value, FromType: p.Head}
	case p == nil:
		out = report.KeyDiff{Key: q.Name, Change: report.DiffAdded, To: q.Value, ToType: q.Head}
	default:
		out = report.KeyDiff{Key: p.Name, Change: report.DiffChanged, From: p.Value, To: q.Value, FromType: p.Head, ToType: q.Head}
		if p.Head != q.Head {
			out.Change = report.DiffRetyped
			break
		}
		same, err := equal(p, q)
		if same || err != nil {
			return false, err
		}
	}
	out.Key = report.Name(out.Key)
	c.d.Keys = append(c.d.Keys, out)
	return true, nil
}

// equal compares the content of two parts.
func equal(p, q *position.Part) (bool, error) {
	if p.Size != q.Size {
		return false, nil
	}
	content, err := verify.CompareContent(*p, *q)
	return content.Bytes == 0, err
}

// node compares operators, attributes and wires.
func (c *comparison) node(t twin) (bool, error) {
	p, q := t.a, t.b
	var out report.NodeDiff
	switch {
	case q == nil:
		out = report.NodeDiff{Node: p.Name, Change: report.DiffRemoved, From: said(p)}
	case p == nil:
		out = report.NodeDiff{Node: q.Name, Change: report.DiffAdded, To: said(q)}
	default:
		out = report.NodeDiff{Node: p.Name, From: said(p), To: said(q)}
		switch {
		case p.Head != q.Head:
			out.Change = report.DiffAttributes
		case !c.wired(p, q):
			out.Change = report.DiffRewired
		case p.Name != q.Name:
			out.Change, out.NewName = report.DiffRenamed, report.Name(q.Name)
			c.tally.renamed++
		default:
			return false, nil
		}
	}
	out.Node = report.Name(out.Node)
	c.d.Nodes = append(c.d.Nodes, out)
	return true, nil
}

// longestSaid is how much of a node's attributes and wires is told.
const longestSaid = 1 << 10

// said is a node in words: its operator with attributes, then inputs and outputs.
func said(p *position.Part) string {
	wires, err := io.ReadAll(io.LimitReader(p.Open(), longestSaid))
	if err != nil {
		return report.Name(p.Head)
	}
	s := p.Head + " " + string(wires)
	return report.Name(s[:min(len(s), longestSaid)])
}

// declared compares all other parts: by what they state, then by content.
func (c *comparison) declared(kind string, t twin) (bool, error) {
	p, q := t.a, t.b
	out := report.DeclaredDiff{What: kind}
	switch {
	case q == nil:
		out.Name, out.Change, out.From = p.Name, report.DiffRemoved, p.Head
	case p == nil:
		out.Name, out.Change, out.To = q.Name, report.DiffAdded, q.Head
	default:
		out.Name, out.Change, out.From, out.To = p.Name, report.DiffChanged, p.Head, q.Head
		if p.Head != q.Head || !reflect.DeepEqual(p.Dims, q.Dims) {
			break
		}
		if same, err := equal(p, q); same || err != nil {
			return false, err
		}
	}
	out.Name, out.From, out.To = report.Name(out.Name), report.Name(out.From), report.Name(out.To)
	if kind == InnerType {
		c.tally.inner++
	}
	c.d.Declared = append(c.d.Declared, out)
	return true, nil
}
