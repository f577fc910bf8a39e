package rotary

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Store stores longer caches, or other frequencies.
func (r *Site) Store(want position.Want) error {
	scheme, ok := any(want.Scheme).(schemes.Rotary)
	if !ok {
		return &position.Refusal{Why: "a rotary encoding cannot hold " + fmt.Sprint(want.Scheme), Instead: "choose a rotary scheme"}
	}
	if err := scheme.Scaling.Known(); err != nil {
		return &position.Refusal{Why: err.Error()}
	}
	same := reflect.DeepEqual(scheme, r.scheme) || r.sameNumbers(scheme)
	r.cut = want.Cut
	switch err := r.Uncounted(want); {
	case r.scheme.Grid != nil:
		return &position.Refusal{Why: "cosines and sines turn an image's patches by their rows and columns", Instead: "export the model for the wanted picture"}
	case r.scheme.OwnFrequencies && !same:
		return &position.Refusal{Why: "pairs follow several axes of positions, each with frequencies of its own", Instead: "export the model again with the wanted configuration"}
	case len(r.caches) > 0:
		return r.storeCaches(scheme, want, same)
	case r.Detected.Form == report.FormBaked:
		return r.storeAngles(scheme, want.Positions, same)
	case r.scheme.Given && r.Detected.Capacity > 0:
		return refuseGiven()
	case err != nil || same:
		return err
	case r.Scaled:
		return &position.Refusal{Why: "its angles are quantised, and those of other frequencies would be cut off at other positions", Instead: "change the model ahead of its quantisation"}
	case scheme.Amplitude() != 1 && r.decays(r.uses[0]):
		return &position.Refusal{Why: "cosines and sines grow or shrink from position to position, and have no one amplitude that the scaling could change", Instead: "choose a scaling without an attention factor: linear, ntk or dynamic"}
	}
	return r.storeFrequencies(scheme)
}

// angles are the constants that hold the angles of a fixed number of positions.
func (r *Site) angles() []rows.Table {
	var out []rows.Table
	for _, t := range r.trig {
		for _, a := range r.tablesOf(trace.Sources(t.Scope, t.Trig.Input(0)), r.uses[0]) {
			if a.Len() == r.Detected.Capacity && !slices.ContainsFunc(out, func(o rows.Table) bool { return o.Tensor == a.Tensor }) {
				out = append(out, a)
			}
		}
	}
	return out
}

// storeAngles continues angles that an exporter folded for one length, or makes them
// those of other frequencies: row p is p · frequency, in one float32 product as the
// graph had it, where position 0 has the angle 0, and as far on from the first row as that, where it has another.
func (r *Site) storeAngles(scheme schemes.Rotary, positions int, same bool) error {
	tables := r.angles()
	if !same && len(tables) > 0 && !scheme.Scaling.Kind().ByLength {
		return r.refoldAngles(tables, scheme, max(positions, r.Detected.Capacity))
	}
	if len(tables) == 0 || !same {
		return &position.Refusal{Why: fmt.Sprintf("the angles of just %d positions are constants of the graph", r.Detected.Capacity),
			Instead: "export the model with a free sequence length"}
	}
	for _, t := range tables {
		first, second, last := make([]float64, t.Dim()), make([]float64, t.Dim()), make([]float64, t.Dim())
		if err := cmp.Or(t.Row(0, first), t.Row(1, second), t.Row(t.Len()-1, last)); err != nil {
			return err
		}
		row := func(i int, dst []float64) error {
			for c := range dst {
				if dst[c] = float64(float32(i) * float32(second[c])); first[c] != 0 { // a difference of two rows was rounded twice
					dst[c] = float64(float32(first[c] + float64(i)*(last[c]-first[c])/float64(t.Len()-1)))
				}
			}
			return nil
		}
		if err := r.m.Resize(t, positions, min(t.Len(), positions), row, fmt.Sprintf("angles of %d positions", positions)); err != nil {
			return err
		}
	}
	r.newPositions = positions
	return nil
}

// refoldAngles makes folded angles those of other frequencies.
func (r *Site) refoldAngles(tables []rows.Table, scheme schemes.Rotary, positions int) error {
	old, _ := r.frequencies(r.uses[0])
	frequencies := scheme.InverseFrequencies()
	if len(old) != len(frequencies) {
		return &position.Refusal{Why: fmt.Sprintf("the graph has %d frequencies and the scheme has %d", len(old), len(frequencies)), Instead: "keep the rotary dimension"}
	}
	for _, t := range tables {
		first, second := make([]float64, t.Dim()), make([]float64, t.Dim())
		if err := cmp.Or(t.Row(0, first), t.Row(1, second)); err != nil {
			return err
		}
		for c := range second {
			second[c] -= first[c]
		}
		columns, ok := columnsOf(second, old)
		if first[0] != 0 || !ok {
			return &position.Refusal{Why: fmt.Sprintf("the angles of just %d positions are constants of the graph, and do not begin at position 0", r.Detected.Capacity),
				Instead: "export the model with a free sequence length"}
		}
		row := func(i int, dst []float64) error {
			for c := range dst {
				dst[c] = float64(float32(i) * float32(frequencies[columns[c]]))
			}
			return nil
		}
		if err := r.m.Resize(t, positions, 0, row, "angles of "+scheme.String()); err != nil {
			return err
		}
	}
	r.newPositions = positions
	return r.setAmplitude(scheme.Amplitude())
}

// columnsOf tells which frequency each column of angles has: the list once, twice, or
// each element twice.
func columnsOf(columns, f []float64) ([]int, bool) {
	n := len(f)
	for _, at := range []func(c int) int{func(c int) int { return c % n }, func(c int) int { return c / 2 }} {
		out := make([]int, len(columns))
		fits := n > 0 && len(columns)%n == 0 && len(columns) <= 2*n
		for c := range columns {
			if i := at(c); fits && i < n {
				out[c] = i
				fits = math.Abs(columns[c]-f[i]) <= sameFrequency*math.Abs(f[i])
			}
		}
		if fits {
			return out, true
		}
	}
	return nil, false
}

// sameNumbers reports whether a scheme asks for the numbers that are there.
func (r *Site) sameNumbers(s schemes.Rotary) bool {
	if unread := r.scheme.Scaling.IsCustom() && r.scheme.Scaling.Frequencies == nil; unread || math.Abs(s.Amplitude()-r.currentAmplitude()) > 1e-9+1e-6*math.Abs(s.Amplitude()) {
		return false
	}
	lengths := []int{0}
	if r.scheme.Scaling.ByLength() {
		lengths = append(lengths, r.scheme.Scaling.OriginalLength+1)
	}
	return !slices.ContainsFunc(lengths, func(n int) bool {
		return !slices.EqualFunc(r.scheme.InverseFrequenciesAt(n), s.InverseFrequenciesAt(n), func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) })
	})
}

func (r *Site) currentAmplitude() float64 {
	if r.amplitude == 0 {
		return 1
	}
	return r.amplitude
}

func (r *Site) storeCaches(scheme schemes.Rotary, want position.Want, same bool) error {
	positions := want.Positions
	// A scheme that does not depend on the length fills both caches alike: then the switch chooses nothing.
	byLength := r.short != nil && scheme.Scaling.ByLength()
	byOne := !same // both caches come to hold the same rows
	if !same && (byLength || slices.ContainsFunc(r.caches, func(c *rows.Cache) bool { return c.Ahead > 0 })) {
		return &position.Refusal{Why: "the file switches between a short and a long cache", Instead: "export the model again with the wanted scaling",
			Remedies: []report.Remedy{report.Do("", "replaces both", "base", "B", "scaling", "none")}}
	}
	if want.Cut && byLength && positions <= scheme.Scaling.OriginalLength {
		return &position.Refusal{Why: fmt.Sprintf("the graph switches its factors after %d positions: of %d, the short ones alone would be left", scheme.Scaling.OriginalLength, positions), Instead: "leave it: the model takes shorter input as it is"}
	}
	for _, c := range r.caches {
		if !c.Fitted {
			return &position.Refusal{Why: fmt.Sprintf("no formula explains the cache of cosines and sines in %q", r.m.TensorName(c.Cos.Tensor)),
				Instead: "export the model with a longer cache"}
		}
	}
	if r.newPositions = positions; positions == 0 {
		r.newPositions = r.Detected.Capacity
	}
	for _, c := range r.caches {
		same := same || scheme.Scaling.Kind().Listed && sameFrequencies(c.Result.Rotary.InverseFrequencies(), scheme.InverseFrequencies())
		if c == r.short {
			if !byOne && same {
				continue
			}
			longest := positions // whichever is chosen, it has all positions
			for _, other := range r.caches {
				longest = max(longest, other.Positions())
			}
			if err := c.Store(r.m.Editor, scheme, longest, same); err != nil {
				return err
			}
			continue
		}
		rows := max(positions, c.Positions())
		switch {
		case want.Cut:
			rows = min(positions, c.Positions())
		case r.Detected.Capacity > c.Positions() && r.inWindows():
			rows = c.Positions() // it is taken again for each window
		}
		if err := c.Store(r.m.Editor, scheme, rows, same); err != nil {
			return err
		}
	}
	return nil
}

// storeFrequencies rewrites the frequencies that the graph multiplies with
// positions, and the amplitude after Cos and Sin.
func (r *Site) storeFrequencies(scheme schemes.Rotary) error {
	if r.scheme.Scaling.LongFrequencies != nil {
		return r.storeSwitch(scheme)
	}
	if scheme.Scaling.Kind().Listed && scheme.Scaling.Kind().ByLength {
		return r.addSwitch(scheme)
	}
	old, _ := r.frequencies(r.uses[0])
	frequencies := scheme.InverseFrequencies()
	if len(old) != len(frequencies) {
		return &position.Refusal{Why: fmt.Sprintf("the graph has %d frequencies and the scheme has %d", len(old), len(frequencies)), Instead: "keep the rotary dimension"}
	}
	tensors := r.frequencyTensors(old)
	if len(tensors) == 0 {
		return &position.Refusal{Why: "no constant of the graph holds the frequencies", Instead: "export the model again with the wanted base or scaling"}
	}
	for _, t := range tensors {
		values := make([]float64, t.Len())
		for i := range values {
			values[i] = frequencies[frequencyAt(t, old, i)]
		}
		if err := r.m.ReplaceFloats(t, t.Dims, values, "frequencies of "+scheme.String()); err != nil {
			return err
		}
	}
	return r.setAmplitude(scheme.Amplitude())
}

// frequencyTensors are the constants behind the argument of Cos and Sin that
// hold the frequencies, once or doubled.
func (r *Site) frequencyTensors(f []float64) []*onnx.Tensor {
	var out []*onnx.Tensor
	for _, t := range r.trig {
		for _, src := range trace.Sources(t.Scope, t.Trig.Input(0)) {
			c := src.Tensor
			if c == nil || slices.Contains(out, c) || int(c.Len()) != len(f) && int(c.Len()) != 2*len(f) || !c.Type.IsFloat() {
				continue
			}
			x, err := c.Floats(0, c.Len())
			if err != nil {
				continue
			}
			fits := true
			for i := range x {
				fits = fits && math.Abs(x[i]-f[frequencyAt(c, f, i)]) <= 1e-6*math.Abs(x[i])
			}
			if fits {
				out = append(out, c)
			}
		}
	}
	return out
}

// frequencyAt tells which frequency element i of a constant holds: doubled
// constants repeat the list or each element.
func frequencyAt(t *onnx.Tensor, f []float64, i int) int {
	n := len(f)
	if int(t.Len()) == n {
		return i
	}
	x, err := t.Floats(0, t.Len())
	if err == nil && n > 1 && x[0] == x[1] && x[0] != x[n] {
		return i / 2
	}
	return i % n
}

// setAmplitude multiplies what Cos and Sin give, by the constant that does so
// already or by a new node.
func (r *Site) setAmplitude(a float64) error {
	ratio := a / r.currentAmplitude()
	if math.Abs(ratio-1) < 1e-9 {
		return nil
	}
	for _, t := range r.trig {
		if c := amplitudeConstant(t); c != nil {
			if x, err := c.Floats(0, 1); err == nil && r.m.ReplaceFloats(c, c.Dims, []float64{x[0] * ratio}, "attention factor") == nil {
				continue
			}
		}
		if err := r.multiply(t, ratio); err != nil {
			return err
		}
	}
	return nil
}

// amplitudeConstant is the scalar by which the output of Cos or Sin is
// multiplied at once, where every reader does and it is no other's.
func amplitudeConstant(t trace.Source) *onnx.Tensor {
	consumers := t.Scope.Consumers(t.Trig.Output(0))
	if len(consumers) != 1 || consumers[0].Op != "Mul" {
		return nil
	}
	n := consumers[0]
	for i := range 2 {
		c := t.Scope.Tensor(n.Input(i))
		if c == nil || c.Len() != 1 {
			continue
		}
		for _, o := range t.Scope.Consumers(n.Input(i)) { // shared by cos and sin only
			if in, _ := t.Scope.Find(o.Input(1 - slices.Index(o.Inputs, n.Input(i)))); in == nil || in.Op != "Cos" && in.Op != "Sin" {
				return nil
			}
		}
		return c
	}
	return nil
}

// multiply puts a Mul behind a Cos or Sin node.
func (r *Site) multiply(t trace.Source, by float64) error {
	e := r.m.Editor
	v := t.Scope.Value(t.Trig.Output(0))
	b, err := onnx.EncodeFloats(v.Type, []float64{by}, nil)
	consumers := t.Scope.Consumers(t.Trig.Output(0))
	if err != nil {
		return err
	}
	if len(consumers) == 0 || t.Scope != r.m.Eval.Main && t.Trig.Graph.Gives(t.Trig.Output(0)) {
		return &position.Refusal{Why: fmt.Sprintf("what %s gives leaves its function or branch as it is, and nothing there can multiply it with an attention factor", t.Trig.Title()),
			Instead: "choose a scaling without an attention factor: linear, ntk or dynamic"}
	}
	why := "attention factor"
	c := e.AddInitializer(t.Trig.Graph.Outermost(), "modelpatch/attention_factor", v.Type, nil, b, why)
	out := e.FreshName("modelpatch/" + t.Trig.Output(0))
	e.InsertNodes(consumers[0], []onnx.NewNode{{Op: "Mul", Inputs: []string{t.Trig.Output(0), c}, Outputs: []string{out}}}, why)
	for _, n := range consumers {
		for i, in := range n.Inputs {
			if in == t.Trig.Output(0) {
				e.RenameInput(n, i, out, why)
			}
		}
	}
	return nil
}

// Neutralize makes the rotation turn by nothing: frequencies of zero, or
// caches of ones and zeros.
func (r *Site) Neutralize() error {
	if r.turning {
		return &position.Refusal{Why: "rows before the grid turn by angles of their own", Instead: "keep the encoding: leave out --replace"}
	}
	why := "no rotation"
	if len(r.caches) > 0 {
		for _, c := range r.caches {
			if !c.Fitted {
				return &position.Refusal{Why: fmt.Sprintf("no formula explains the cache of cosines and sines in %q", r.m.TensorName(c.Cos.Tensor)), Instead: "leave the rotation in place"}
			}
			zeros := make([]float64, len(c.Result.Rotary.InverseFrequencies()))
			ones := slices.Repeat([]float64{1}, len(zeros))
			for i, t := range []rows.Table{c.Cos, c.Sin} {
				if i > 0 && t.Tensor == c.Cos.Tensor {
					continue
				}
				fill := func(_ int, dst []float64) error { c.Spread(ones, zeros, i > 0, dst); return nil }
				if err := r.m.Resize(t, t.Len(), 0, fill, why); err != nil {
					return err
				}
			}
		}
		return nil
	}
	tensors := r.frequencyTensors(r.FileFrequencies())
	if len(tensors) == 0 {
		return &position.Refusal{Why: "no constant of the graph holds the frequencies", Instead: "leave the rotation in place"}
	}
	for _, t := range tensors {
		size := t.Type.Size(t.Len())
		if err := r.m.Replace(t, t.Dims, patch.Zeros(size), why); err != nil {
			return err
		}
	}
	if r.setAmplitude(1) != nil {
		return &position.Refusal{Why: "cosines and sines have an amplitude that cannot be taken from them", Instead: "leave the rotation in place"}
	}
	return nil
}
