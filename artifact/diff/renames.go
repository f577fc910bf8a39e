package diff

import (
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/position"
)

const (
	// smallTensor is the content up to which a tensor that both models have under one name is
	// compared before it is paired by that name.
	smallTensor = 1 << 16
	// mostAlike bounds the tensors of one type, shape and start that are compared with one another.
	mostAlike = 64
)

// unresolved stands for a value of a of which it is not known what it is in b: no name has a NUL.
const unresolved = "\x00"

// renamer pairs tensors and nodes of the main graphs that differ in their names alone:
// exporters number values, and one constant more shifts all numbers behind it. Names of
// other graphs (bodies of If, Loop and functions) may repeat and are left alone.
type renamer struct {
	twins   []twin
	names   map[string]string       // of values: a's to b's, where they differ
	equal   map[*position.Part]bool // tensors of a whose content was compared with their twin's
	tensors map[string][]int        // twins of b alone, by tensorKey
	nodes   map[string][]int        // twins of b alone, by operator, attributes and inputs
}

// renamed pairs what differs in name alone. A pair takes the place of a's part; a twin
// that gave its part away is left without parts. What has no such partner stays paired by its name.
func renamed(twins []twin) *renamer {
	r := &renamer{twins: twins, names: map[string]string{}, equal: map[*position.Part]bool{}, tensors: map[string][]int{}, nodes: map[string][]int{}}
	split := r.split()
	for i, t := range r.twins {
		if t.a != nil || t.b.Graph > 0 {
			continue
		}
		switch t.b.Kind {
		case "tensor":
			r.tensors[tensorKey(t.b)] = append(r.tensors[tensorKey(t.b)], i)
		case "node":
			in, _ := t.b.Wires()
			key := nodeKey(t.b, in)
			r.nodes[key] = append(r.nodes[key], i)
		}
	}
	for _, list := range r.tensors { // equal ones are paired in the order of their names, from either side
		slices.SortFunc(list, func(i, j int) int { return strings.Compare(r.twins[i].b.Name, r.twins[j].b.Name) })
	}
	var tensors, nodes []*twin
	for i := range r.twins {
		t := &r.twins[i]
		if t.a == nil || t.b != nil || t.a.Graph > 0 {
			continue
		}
		switch t.a.Kind {
		case "tensor":
			tensors = append(tensors, t)
		case "node":
			nodes = append(nodes, t)
		}
	}
	slices.SortStableFunc(tensors, func(x, y *twin) int { return strings.Compare(x.a.Name, y.a.Name) })
	for _, t := range tensors {
		r.tensor(t)
	}
	for _, t := range nodes {
		r.node(t)
	}
	for i, j := range split {
		if r.twins[i].b == nil && r.twins[j].b != nil {
			r.twins[i].b, r.twins[j].b = r.twins[j].b, nil
			for _, name := range outputsOf(r.twins[i].a) {
				delete(r.names, name)
			}
		}
	}
	return r
}

// split takes pairs of one name apart that are not equal: nodes, and small tensors. It
// returns which twin has the other half.
func (r *renamer) split() map[int]int {
	out := map[int]int{}
	for i := range len(r.twins) {
		t := r.twins[i]
		if t.a == nil || t.b == nil || t.a.Graph > 0 || t.b.Graph > 0 {
			continue
		}
		switch t.a.Kind {
		case "node":
			if t.a.Head == t.b.Head && sameWires(t.a, t.b) {
				continue
			}
		case "tensor":
			if t.a.Size > smallTensor || t.a.Head == t.b.Head && t.a.Size == t.b.Size && isEqual(t.a, t.b) {
				continue
			}
		default:
			continue
		}
		out[i] = len(r.twins)
		r.twins[i].b = nil
		r.twins = append(r.twins, twin{b: t.b})
		for _, name := range outputsOf(t.a) {
			r.names[name] = unresolved
		}
	}
	return out
}

// outputsOf are the names of the values that a part gives.
func outputsOf(p *position.Part) []string {
	if p.Wires == nil {
		return []string{p.Name}
	}
	_, out := p.Wires()
	return out
}

func sameWires(p, q *position.Part) bool {
	in1, out1 := p.Wires()
	in2, out2 := q.Wires()
	return slices.Equal(in1, in2) && slices.Equal(out1, out2)
}

// keySeed makes sums of one run comparable.
var keySeed = maphash.MakeSeed()

// startOfTensor is how much of a tensor its key covers: most of one shape differ there.
const startOfTensor = 1 << 12

// tensorKey is the same for tensors of one type, shape, size and start of the content.
func tensorKey(p *position.Part) string {
	var sum maphash.Hash
	sum.SetSeed(keySeed)
	_, err := io.CopyN(&sum, p.Open(), min(p.Size, startOfTensor))
	return p.Head + "\x00" + strconv.FormatInt(p.Size, 10) + "\x00" + strconv.FormatUint(sum.Sum64(), 16) + fmt.Sprint(err)
}

func nodeKey(p *position.Part, inputs []string) string {
	return p.Head + "\x00" + strings.Join(inputs, "\x00")
}

// isEqual reports whether two parts are seen to be equal.
func isEqual(p, q *position.Part) bool {
	same, err := equal(p, q)
	return err == nil && same
}

// tensor finds the first tensor of b alone with the same type, shape and content.
func (r *renamer) tensor(t *twin) {
	candidates := r.tensors[tensorKey(t.a)]
	tried := 0
	for _, j := range candidates {
		q := r.twins[j].b
		if q == nil {
			continue
		}
		if tried++; tried > mostAlike {
			return
		}
		if isEqual(t.a, q) {
			t.b, r.twins[j].b = q, nil
			r.names[t.a.Name], r.equal[t.a] = q.Name, true
			return
		}
	}
}

// node finds the first node of b alone with the same operator and attributes that reads
// the same values, by the names that they have in b.
func (r *renamer) node(t *twin) {
	in, out := t.a.Wires()
	for _, j := range r.nodes[nodeKey(t.a, r.inB(in))] {
		q := r.twins[j].b
		if q == nil {
			continue
		}
		_, other := q.Wires()
		if len(other) != len(out) {
			continue
		}
		t.b, r.twins[j].b = q, nil
		for k := range out {
			r.names[out[k]] = other[k]
		}
		return
	}
}

// inB are the names in b of values of a.
func (r *renamer) inB(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if other, ok := r.names[name]; ok {
			out[i] = other
		}
	}
	return out
}

// wired reports whether two nodes read and give the same values.
func (r *renamer) wired(p, q *position.Part) bool {
	if p.Graph > 0 || q.Graph > 0 {
		return sameWires(p, q)
	}
	in1, out1 := p.Wires()
	in2, out2 := q.Wires()
	return slices.Equal(r.inB(in1), in2) && slices.Equal(r.inB(out1), out2)
}
