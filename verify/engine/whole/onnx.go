package whole

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine"
	"github.com/modelpatch/modelpatch/verify/engine/onnxruntime"
)

const (
	// maxTokens bounds the length of an input, in positions: attention takes its square.
	maxTokens = 2048
	// usualTokens is a length for models that state none.
	usualTokens = 16
)

// levels are the optimisations that are tried: disabled, and all.
var levels = []int{0, 99}

// outputTolerance bounds how far outputs of two equal models may differ, relative to the
// largest element: an optimiser may take their operators together in other ways.
var outputTolerance = report.Tolerance{Name: "engine-output", Value: 1e-5}

// halfTolerance is outputTolerance for outputs of 16 bits.
var halfTolerance = report.Tolerance{Name: "engine-output-half", Value: 2e-3}

// onnx runs both files in ONNX Runtime.
func onnx(ctx context.Context, p engine.Pair) (checks []report.Check, refuses string) {
	library, err := onnxruntime.Load()
	if err != nil {
		return skipped("", err.Error()), ""
	}
	for _, level := range levels {
		if ctx.Err() != nil {
			return append(checks, failed("ONNX Runtime "+library.Version, "stopped: "+ctx.Err().Error())), refuses
		}
		r := runner{ctx: ctx, library: library, pair: p, level: level}
		k, no := r.check()
		checks, refuses = append(checks, k), cmp.Or(refuses, no)
	}
	return checks, refuses
}

// runner runs a pair at one level of optimisation.
type runner struct {
	ctx     context.Context
	library *onnxruntime.Library
	pair    engine.Pair
	level   int
}

func (r runner) version() string {
	return fmt.Sprintf("ONNX Runtime %s, optimisation level %d", r.library.Version, r.level)
}

// compute runs a model at a length. Progress is told, so that a crash has a place.
func (r runner) compute(s *onnxruntime.Session, of engine.Side, n int) ([]onnxruntime.Tensor, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	progress("%s with %s at length %d", r.version(), of.Path, n)
	inputs, err := feed(s.Inputs, of.Sizes, n)
	if err != nil {
		return nil, err
	}
	return s.Run(inputs)
}

// check is the comparison. refuses is set where the engine loads neither file.
func (r runner) check() (k report.Check, refuses string) {
	p := r.pair
	progress("%s loads %s", r.version(), p.Before.Path)
	before, err := r.library.Open(p.Before.Path, r.level)
	if err == nil {
		defer before.Close()
	}
	progress("%s loads %s", r.version(), p.After.Path)
	after, no := r.library.Open(p.After.Path, r.level)
	if no == nil {
		defer after.Close()
	}
	switch {
	case err != nil && no != nil:
		return skipped(r.version(), "the file before does not load: "+err.Error()+"; nor does the file after: "+no.Error())[0], no.Error()
	case err != nil:
		return skipped(r.version(), "the file before does not load: "+err.Error()+"; the file after does")[0], ""
	case no != nil:
		return failed(r.version(), "the file after does not load: "+no.Error()), ""
	}
	return r.compare(before, after), ""
}

// compare runs both.
func (r runner) compare(before, after *onnxruntime.Session) report.Check {
	p := r.pair
	lengths, long := lengths(usual(shorter(p.Before.Length, p.After.Length))), usual(p.After.Length)
	fixed, fixedAfter := fixedLength(before.Inputs), fixedLength(after.Inputs)
	if fixed > 0 {
		lengths = []int{fixed}
	}
	if fixedAfter > 0 {
		long = fixedAfter
	}
	pictures := slices.ContainsFunc(before.Inputs, func(in onnxruntime.Input) bool {
		return len(in.Dims) >= 4 && strings.Contains(strings.ToLower(in.Name), "pixel")
	})
	resized := otherSizes(before.Inputs, after.Inputs)
	d := outputs{tolerance: outputTolerance}
	var ran []int
	var refused error
	for _, n := range lengths {
		x, err := r.compute(before, p.Before, n)
		if err != nil {
			refused = fmt.Errorf("at length %d: %w", n, err)
			continue
		}
		d.expect(x)
		if resized != "" {
			ran = append(ran, n)
			continue
		}
		y, err := r.compute(after, p.After, n)
		if err != nil && pictures && !p.Equal {
			return skipped(r.version(), "the file after takes pictures of another size, which are not made: "+err.Error())[0]
		}
		if err != nil {
			return failed(r.version(), fmt.Sprintf("the file before runs at length %d, the file after fails: %v", n, err))
		}
		ran = append(ran, n)
		if grid := pictures && !p.Equal && !sameShapes(x, y); grid {
			return r.beyond(passed(r.version(), fmt.Sprintf("lengths %s: outputs have other shapes, as those of pictures of another size do, and are not compared", list(ran))), before, after, long, true, notFinite(x) == "")
		}
		d.add(n, x, y)
	}
	if len(ran) == 0 {
		return skipped(r.version(), fmt.Sprintf("the file before does not run on seeded inputs %v", refused))[0]
	}
	k := passed(r.version(), "lengths "+list(ran))
	k.Inputs = "seeded"
	if resized != "" {
		k.Why = fmt.Sprintf("%s: %s: outputs are not compared", r.version(), resized)
	} else {
		d.judge(&k, p.Equal)
	}
	if k.Verdict == report.CheckFail {
		return k
	}
	return r.beyond(k, before, after, long, fixed+fixedAfter > 0, d.finite)
}

// beyond runs the length of the file after, and one more, which must fail where inspect
// says so, if the file before did as inspect says of it.
func (r runner) beyond(k report.Check, before, after *onnxruntime.Session, long int, fixed, finite bool) report.Check {
	p := r.pair
	z, err := r.compute(after, p.After, long)
	if err != nil {
		return failed(r.version(), fmt.Sprintf("the file after does not run at its own length %d: %v", long, err))
	}
	if name := notFinite(z); finite && name != "" {
		return failed(r.version(), fmt.Sprintf("the file after gives numbers that are not finite at length %d, output %s", long, name))
	}
	k.Why += fmt.Sprintf("; the file after runs at %d", long)
	if long < p.After.Length {
		k.Why += fmt.Sprintf(" (longer ones, to %d, were not tried)", p.After.Length)
	}
	if fixed || !p.After.Fails || p.After.Length != long {
		return k
	}
	if _, err := r.compute(after, p.After, long+1); err != nil {
		k.Why += fmt.Sprintf(" and fails at %d, as inspect says", long+1)
		return k
	}
	if n := p.Before.Length; p.Before.Fails && n > 0 && n <= maxTokens {
		if _, err := r.compute(before, p.Before, n+1); err != nil {
			k.Verdict = report.CheckFail
			k.Why += fmt.Sprintf("; it also runs at %d, where inspect says that it fails (the file before fails at %d)", long+1, n+1)
			return k
		}
	}
	k.Why += fmt.Sprintf("; it also runs at %d on these inputs, where inspect says that it fails", long+1)
	return k
}

// otherSizes says which input has another size in the file after; "": none has.
func otherSizes(before, after []onnxruntime.Input) string {
	for _, a := range before {
		j := slices.IndexFunc(after, func(b onnxruntime.Input) bool { return a.Name == b.Name })
		if j >= 0 && !slices.Equal(a.Dims, after[j].Dims) {
			return fmt.Sprintf("the file before takes %s of %v, the file after of %v", a.Name, a.Dims, after[j].Dims)
		}
	}
	return ""
}

// sameShapes reports whether outputs of one name have the same shape.
func sameShapes(x, y []onnxruntime.Tensor) bool {
	for _, a := range x {
		j := slices.IndexFunc(y, func(b onnxruntime.Tensor) bool { return a.Name == b.Name })
		if j >= 0 && !slices.Equal(a.Dims, y[j].Dims) {
			return false
		}
	}
	return true
}

// usual is a length to run.
func usual(n int) int {
	if n <= 0 {
		return usualTokens
	}
	return min(n, maxTokens)
}

// outputs compares what two sessions gave.
type outputs struct {
	tolerance report.Tolerance
	finite    bool   // of the file before
	known     bool   // finite is
	wrong     string // types or shapes that differ, or integers
	abs, rel  float64
	at        int    // the length of the largest relative difference
	name      string // its output
}

// expect looks at outputs of the file before.
func (d *outputs) expect(x []onnxruntime.Tensor) {
	d.finite = (d.finite || !d.known) && notFinite(x) == ""
	d.known = true
}

// add compares the outputs at length n.
func (d *outputs) add(n int, x, y []onnxruntime.Tensor) {
	for i := range x {
		j := slices.IndexFunc(y, func(t onnxruntime.Tensor) bool { return t.Name == x[i].Name })
		if j < 0 {
			d.wrong = fmt.Sprintf("output %s is not there", x[i].Name)
			return
		}
		a, b := x[i], y[j]
		if a.Type != b.Type || !slices.Equal(a.Dims, b.Dims) {
			d.wrong = fmt.Sprintf("output %s is of type %d and shape %v at length %d and was of %d and %v", a.Name, b.Type, b.Dims, n, a.Type, a.Dims)
			return
		}
		f, g := floats(a), floats(b)
		if f == nil {
			if !slices.Equal(a.Data, b.Data) {
				d.rel, d.at, d.name = math.Inf(1), n, a.Name
			}
			continue
		}
		if a.Type == onnxruntime.Float16 || a.Type == onnxruntime.BFloat {
			d.tolerance = halfTolerance
		}
		scale, abs := 0.0, 0.0
		for i := range f {
			if math.IsNaN(f[i]) && math.IsNaN(g[i]) || f[i] == g[i] {
				continue
			}
			abs = max(abs, math.Abs(f[i]-g[i]))
		}
		if abs == 0 {
			continue
		}
		for _, v := range f {
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				scale = max(scale, math.Abs(v))
			}
		}
		rel := abs / max(scale, math.SmallestNonzeroFloat32)
		if d.abs = max(d.abs, abs); rel > d.rel || math.IsNaN(rel) {
			d.rel, d.at, d.name = rel, n, a.Name
		}
	}
}

// judge writes what was found: a failure where outputs must be equal.
func (d *outputs) judge(k *report.Check, equal bool) {
	k.Measure = &report.Measure{MaxAbs: report.Number(d.abs), MaxRel: report.Number(d.rel)}
	switch {
	case d.wrong != "":
		k.Verdict = report.CheckFail
		k.Why += "; " + d.wrong
	case d.abs == 0 && d.rel == 0:
		k.Why += ": outputs equal bit for bit"
	case !equal:
		k.Why += fmt.Sprintf(": outputs differ by up to %.3g of their scale (%s at length %d), as an encoding that changed on purpose does", d.rel, d.name, d.at)
	case !(d.rel <= float64(d.tolerance.Value)):
		k.Verdict, k.Tolerance = report.CheckFail, &d.tolerance
		k.Why += fmt.Sprintf("; output %s differs by %.3g of its scale at length %d, though old positions should be as before", d.name, d.rel, d.at)
		k.At = &report.At{Where: &report.Where{Node: d.name}}
	default:
		k.Tolerance = &d.tolerance
	}
}

// notFinite is the name of the first output with a NaN or an infinity; "": none has.
func notFinite(outputs []onnxruntime.Tensor) string {
	for _, t := range outputs {
		for _, x := range floats(t) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return t.Name
			}
		}
	}
	return ""
}
