package patch

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
)

// Normalize returns the plan with its edits in the order of their places.
// Inserts at one place keep the order in which the plan lists them and come
// before a replacement that starts there.
func (p Plan) Normalize() Plan {
	p.Edits = slices.Clone(p.Edits)
	slices.SortStableFunc(p.Edits, compareEdits)
	return p
}

func compareEdits(a, b Edit) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.At, b.At),
		cmp.Compare(min(a.Old, 1), min(b.Old, 1)),
	)
}

// Check returns a *PlanError unless the plan is sound: every edit lies within
// its input, no two overlap, each input has at most one output, an edited
// input has one, and sizes do not overflow. Edits may come in any order. An
// insert may touch a replaced range at either end but not lie inside it.
func (p Plan) Check() error {
	if err := p.checkFiles(); err != nil {
		return err
	}
	for i, e := range p.Edits {
		if why := p.faultOf(e); why != "" {
			return &PlanError{i, why}
		}
	}
	if err := p.checkOverlap(); err != nil {
		return err
	}
	sizes := p.sizes()
	for _, o := range p.Outputs {
		if sizes[o.Input] < 0 {
			return &PlanError{-1, fmt.Sprintf("output of %s: size overflows", p.Inputs[o.Input].Path)}
		}
	}
	return nil
}

func (p Plan) checkFiles() error {
	for i, in := range p.Inputs {
		if in.Size < 0 || in.Path == "" && in.Size != 0 {
			return &PlanError{-1, fmt.Sprintf("input %d: size %d of %q", i, in.Size, in.Path)}
		}
	}
	if len(p.Outputs) == 0 {
		return &PlanError{-1, "no output"}
	}
	made := make(map[int]bool)
	names := make(map[string]bool)
	for i, o := range p.Outputs {
		switch {
		case o.Input < 0 || o.Input >= len(p.Inputs):
			return &PlanError{-1, fmt.Sprintf("output %d: no input %d", i, o.Input)}
		case made[o.Input]:
			return &PlanError{-1, fmt.Sprintf("output %d: input %d has an output already", i, o.Input)}
		case i > 0 && !isBaseName(o.Name):
			return &PlanError{-1, fmt.Sprintf("output %d: %q is no name of a file", i, o.Name)}
		case i > 0 && names[o.Name]:
			return &PlanError{-1, fmt.Sprintf("output %d: %q is there already", i, o.Name)}
		}
		made[o.Input], names[o.Name] = true, true
	}
	for i, e := range p.Edits {
		if !made[e.File] {
			return &PlanError{i, fmt.Sprintf("input %d has no output", e.File)}
		}
	}
	return nil
}

// isBaseName reports whether name is one path element. Backslashes and colons
// are refused everywhere, for the file may be opened on Windows later.
func isBaseName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\:\x00")
}

func (p Plan) faultOf(e Edit) string {
	size := p.Inputs[e.File].Size
	switch {
	case e.At < 0 || e.At > size:
		return fmt.Sprintf("offset %d is outside of %d bytes", e.At, size)
	case e.Old < 0 || e.Old > size-e.At:
		return fmt.Sprintf("%d bytes at offset %d are outside of %d bytes", e.Old, e.At, size)
	case sizeOf(e.New) < 0:
		return fmt.Sprintf("%d new bytes", sizeOf(e.New))
	}
	return ""
}

func (p Plan) checkOverlap() error {
	order := make([]int, len(p.Edits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareEdits(p.Edits[a], p.Edits[b]) })
	for k := 1; k < len(order); k++ {
		before, e := p.Edits[order[k-1]], p.Edits[order[k]]
		if e.File == before.File && e.At < before.At+before.Old {
			return &PlanError{order[k], fmt.Sprintf("overlaps edit %d at [%d, %d) (%s)",
				order[k-1], before.At, before.At+before.Old, before.Why)}
		}
	}
	return nil
}

func sizeOf(s Source) int64 {
	if s == nil {
		return 0
	}
	return s.Size()
}

// OutputSize returns the number of bytes that output i will have, or -1 when
// that does not fit an int64. The plan must otherwise be sound.
func (p Plan) OutputSize(i int) int64 {
	file := p.Outputs[i].Input
	size := p.Inputs[file].Size
	for _, e := range p.Edits {
		if e.File == file {
			size -= e.Old
		}
	}
	for _, e := range p.Edits {
		if e.File == file {
			size = grown(size, e)
		}
	}
	return size
}

// sizes returns the OutputSize of every input at once.
func (p Plan) sizes() []int64 {
	out := make([]int64, len(p.Inputs))
	for i, in := range p.Inputs {
		out[i] = in.Size
	}
	for _, e := range p.Edits {
		out[e.File] -= e.Old
	}
	for _, e := range p.Edits {
		out[e.File] = grown(out[e.File], e)
	}
	return out
}

// grown is a size with an edit's new bytes, -1 when that does not fit an int64.
func grown(size int64, e Edit) int64 {
	n := sizeOf(e.New)
	if size < 0 || n > math.MaxInt64-size {
		return -1
	}
	return size + n
}

// editsOf returns the edits of one input in the order of their places, and how many
// come before them in the normalized plan. A plan may have many files: the edits
// of all are neither copied nor sorted for each.
func (p Plan) editsOf(file int) (edits []Edit, before int) {
	n := 0
	for _, e := range p.Edits {
		if e.File == file {
			n++
		} else if e.File < file {
			before++
		}
	}
	edits = slices.Grow(edits, n)
	for _, e := range p.Edits {
		if e.File == file {
			edits = append(edits, e)
		}
	}
	slices.SortStableFunc(edits, compareEdits)
	return edits, before
}

// Segment is a part of an output: a range kept from the input, or new bytes.
type Segment struct {
	At   int64  // offset in the output
	Size int64  // in bytes, never 0
	From int64  // offset in the input, where New is nil
	New  Source // nil: kept
	Edit int    // index into the normalized plan's edits, where New is set
}

// Segments gives the parts of output i in the order of the output. The plan
// must be sound; its edits may be in any order.
func (p Plan) Segments(i int) iter.Seq[Segment] {
	file := p.Outputs[i].Input
	edits, before := p.editsOf(file)
	return func(yield func(Segment) bool) {
		var out, in int64
		keep := func(end int64) bool {
			s := Segment{At: out, Size: end - in, From: in}
			out, in = out+s.Size, end
			return s.Size == 0 || yield(s)
		}
		for k, e := range edits {
			if !keep(e.At) {
				return
			}
			in = e.At + e.Old
			s := Segment{At: out, Size: sizeOf(e.New), New: e.New, Edit: before + k}
			out += s.Size
			if s.Size > 0 && !yield(s) {
				return
			}
		}
		keep(p.Inputs[file].Size)
	}
}
