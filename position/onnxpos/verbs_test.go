package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// These tests make one change of a small graph, read the graph that the edits give, and compare its numbers
// with a formula that is written out here.

const cases = "../../testdata/onnx/cases/"

// changed opens a model, makes a change, and opens what its edits give.
func changed(t *testing.T, path string, verb func(position.Model) (position.Outcome, error)) (before, after *Model) {
	t.Helper()
	before = opened(t, path)
	o, err := verb(before)
	if err == nil && o.Nothing != "" {
		err = fmt.Errorf("nothing to do: %s", o.Nothing)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return before, result(t, before, path)
}

// turnsBy holds the rotation of a site against frequencies, for some positions.
func turnsBy(t *testing.T, s position.Site, frequency func(pair int) float64, amplitude, tolerance float64, length int) {
	t.Helper()
	r := s.Encoding().Scheme.(schemes.Rotary)
	cos, sin := make([]float64, r.Pairs()), make([]float64, r.Pairs())
	for _, p := range []int{0, 1, 7, length - 1} {
		if err := s.(position.Rotator).Rotation(p, length, cos, sin); err != nil {
			t.Fatal(err)
		}
		for i := range cos {
			angle := float64(p) * frequency(i)
			if math.Abs(cos[i]-amplitude*math.Cos(angle)) > tolerance || math.Abs(sin[i]-amplitude*math.Sin(angle)) > tolerance {
				t.Fatalf("position %d, pair %d: %g, %g, want %g, %g", p, i, cos[i], sin[i], amplitude*math.Cos(angle), amplitude*math.Sin(angle))
			}
		}
	}
}

// plain are RoPE's frequencies (Su et al. 2021, §3.4.2).
func plain(base float64, dim int) func(int) float64 {
	return func(i int) float64 { return math.Pow(base, -2*float64(i)/float64(dim)) }
}

// bucket is T5's bucket of a distance, in both directions (Raffel et al. 2020; transformers' _relative_position_bucket).
func bucket(relative, buckets, most int) int {
	half, out := buckets/2, 0
	if relative > 0 {
		out = half
	}
	d := relative
	if d < 0 {
		d = -d
	}
	if single := half / 2; d >= single {
		far := single + int(math.Log(float64(d)/float64(single))/math.Log(float64(most)/float64(single))*float64(half-single))
		return out + min(far, half-1)
	}
	return out + d
}

func TestRelativeBuckets(t *testing.T) {
	path := cases + "t5-buckets.onnx"
	before, after := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Relative(m, position.RelativeOptions{MaxDistance: 40})
	})
	was, is := before.Sites()[0].Encoding().Scheme.(schemes.Buckets), after.Sites()[0].Encoding().Scheme.(schemes.Buckets)
	if was.MaxDistance != 128 || is.MaxDistance != 40 || is.Buckets != was.Buckets {
		t.Fatalf("%+v became %+v", was, is)
	}
	old := opened(t, path).Sites()[0].(position.RowsOfBuckets)
	biased := after.Sites()[0].(position.Biaser)
	for _, d := range []int{-250, -41, -40, -39, -20, -8, -7, -1, 0, 1, 7, 8, 9, 20, 39, 40, 41, 250} {
		row, err := old.BucketRow(bucket(d, 32, 40))
		if err != nil {
			t.Fatal(err)
		}
		for head := range is.Heads {
			got, err := biased.Bias(head, 300, 300+d, 600)
			if err != nil || got != row[head] {
				t.Errorf("distance %d, head %d: %g, want %g (%v)", d, head, got, row[head], err)
			}
		}
	}
}

func TestBakeBuckets(t *testing.T) {
	_, after := changed(t, cases+"t5-buckets.onnx", func(m position.Model) (position.Outcome, error) {
		return position.Bake(m, position.BakeOptions{Length: 48})
	})
	if l := position.Length(after, after.Describe()); l.Capacity == nil || *l.Capacity != 48 || l.Beyond != report.BeyondError {
		t.Errorf("%+v: want 48 positions, and an error beyond", l)
	}
}

func TestBakeAndUnbake(t *testing.T) {
	path := "../../testdata/onnx/llama-dy23.onnx"
	_, baked := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Bake(m, position.BakeOptions{Length: 64})
	})
	e := baked.Sites()[0].Encoding()
	if e.Form == report.FormRuntime || e.Capacity != 64 || e.Beyond != report.BeyondError {
		t.Errorf("form %s, capacity %d, beyond %s", e.Form, e.Capacity, e.Beyond)
	}
	turnsBy(t, baked.Sites()[0], plain(10000, 16), 1, 2e-7*64, 64)
	if _, err := position.Unbake(baked); err != nil {
		t.Fatal(err)
	}
	if n := len(baked.graph.File.Graph.Nodes); n == 0 {
		t.Error("no nodes")
	}
}

// A graph of an opset without the operators that a table needs keeps its sines.
func TestBakeOpset(t *testing.T) {
	m := opened(t, "../../testdata/onnx/llama-dy23.onnx")
	m.graph.File.Opsets[""] = 8
	_, err := position.Bake(m, position.BakeOptions{Length: 64})
	if _, refused := err.(*position.Refusal); !refused {
		t.Errorf("%v: a refusal is wanted", err)
	}
}

func TestToOperators(t *testing.T) {
	path := "../../testdata/onnx/llama-dy23.onnx"
	to := func(set string) func(m position.Model) (position.Outcome, error) {
		return func(m position.Model) (position.Outcome, error) { return position.ToOperators(m, set) }
	}
	operators := func(m *Model, domain string) (n int) {
		for _, node := range m.graph.File.Graph.Nodes {
			if node.Op == "RotaryEmbedding" && node.Domain == domain {
				n++
			}
		}
		return n
	}
	before, fused := changed(t, path, to("contrib"))
	if operators(fused, "com.microsoft") != 4 || operators(before, "com.microsoft") != 0 {
		t.Errorf("%d operators", operators(fused, "com.microsoft"))
	}
	turnsBy(t, fused.Sites()[0], plain(10000, 16), 1, 2e-5, 40)
}

// An operator that scales its positions, or packs its batches, has no like; nor is there one before its opset.
func TestToOperatorsRefuses(t *testing.T) {
	for name, spoil := range map[string]*onnx.Attribute{"scale": {Name: "scale", F: 2}, "packed": {Name: "is_packed_batching", I: 1}} {
		_, m := changed(t, "../../testdata/onnx/llama-dy23.onnx", func(m position.Model) (position.Outcome, error) {
			return position.ToOperators(m, "contrib")
		})
		for _, n := range m.graph.File.Graph.Nodes {
			if n.Op == "RotaryEmbedding" {
				n.Attributes = append(n.Attributes, spoil)
			}
		}
		_, err := position.ToOperators(m, "plain")
		if _, refused := err.(*position.Refusal); !refused {
			t.Errorf("%s: %v: a refusal is wanted", name, err)
		}
	}
	m := opened(t, "../../testdata/onnx/llama-dy23.onnx")
	m.graph.File.Opsets[""] = 18
	_, err := position.ToOperators(m, "standard")
	if _, refused := err.(*position.Refusal); !refused {
		t.Errorf("opset 18: %v: a refusal is wanted", err)
	}
}

func TestRescaleLayers(t *testing.T) {
	path := "../../testdata/onnx/llama-dy23.onnx"
	_, one := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Rescale(m, position.RescaleOptions{Base: 20000, Layers: "1"})
	})
	bases := map[float64]bool{}
	for _, s := range one.Sites() {
		base := s.Encoding().Scheme.(schemes.Rotary).Base
		bases[base] = true
		turnsBy(t, s, plain(base, 16), 1, 2e-5, 40)
	}
	if len(bases) != 2 || !bases[10000] || !bases[20000] {
		t.Errorf("bases %v", bases)
	}
	_, all := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Rescale(m, position.RescaleOptions{Base: 20000, Layers: "0-1"})
	})
	if len(all.Sites()) != 1 || all.Sites()[0].Encoding().Scheme.(schemes.Rotary).Base != 20000 {
		t.Errorf("%d rotations, the first %v", len(all.Sites()), all.Sites()[0].Encoding().Scheme)
	}
	if _, err := position.Rescale(opened(t, path), position.RescaleOptions{Base: 20000, Layers: "0-2"}); err == nil {
		t.Error("layer 2 of two is taken")
	}
}

// Whose numbers are written where programs differ: llama.cpp rounds the bounds of YaRN's ramp whatever is asked.
func TestRescaleAs(t *testing.T) {
	path := "../../testdata/onnx/llama-dy23.onnx"
	_, m := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Rescale(m, position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 64, As: "llama.cpp"})
	})
	turnsBy(t, m.Sites()[0], func(i int) float64 {
		at := func(rotations float64) float64 {
			return 16 * math.Log(64/(rotations*2*math.Pi)) / (2 * math.Log(10000))
		}
		low, high := max(0, math.Floor(at(32))), min(15, math.Ceil(at(1)))
		ramp := min(1, max(0, (float64(i)-low)/max(0.001, high-low)))
		f := plain(10000, 16)(i)
		return f/4*ramp + f*(1-ramp)
	}, 0.1*math.Log(4)+1, 1e-4, 40)
}

func TestLongRoPEUse(t *testing.T) {
	path := cases + "longrope-switch.onnx"
	was := opened(t, path).Sites()[0].Encoding().Scheme.(schemes.Rotary)
	for list, factors := range map[string][]float64{"short": was.Scaling.ShortFactor, "long": was.Scaling.LongFactor} {
		_, m := changed(t, path, func(m position.Model) (position.Outcome, error) {
			return position.Rescale(m, position.RescaleOptions{Scaling: "longrope", Use: list})
		})
		for _, length := range []int{16, 100} { // on either side of the original length, 64
			turnsBy(t, m.Sites()[0], func(i int) float64 { return plain(10000, 8)(i) / factors[i] }, was.Amplitude(), 1e-4, length)
		}
	}
}

// Rows of farther distances repeat the farthest there was, on both sides.
func TestDistances(t *testing.T) {
	for _, c := range []struct {
		name      string
		was, is   int // the farthest distance
		change    func(position.Model) (position.Outcome, error)
		positions int
	}{
		{"shaw", 6, 11, func(m position.Model) (position.Outcome, error) {
			return position.Relative(m, position.RelativeOptions{MaxDistance: 11})
		}, 0},
		{"relative-key", 19, 29, func(m position.Model) (position.Outcome, error) {
			return position.Extend(m, position.ExtendOptions{Length: 30})
		}, 30},
	} {
		_, after := changed(t, cases+c.name+".onnx", c.change)
		table := func(m *Model) *onnx.Tensor {
			return m.graph.File.Graph.Initializer(m.Sites()[0].Encoding().Where[0].Tensor)
		}
		a, b := table(opened(t, cases+c.name+".onnx")), table(after)
		if a == nil || b == nil || b.Dims[len(b.Dims)-1] != a.Dims[len(a.Dims)-1] {
			t.Fatalf("%s: %v became %v", c.name, a, b)
		}
		columns := a.Dims[len(a.Dims)-1]
		for d := -c.is; d <= c.is; d++ {
			near := min(max(d, -c.was), c.was)
			want, err1 := a.Floats(int64(near+c.was)*columns, columns)
			got, err2 := b.Floats(int64(d+c.is)*columns, columns)
			if err1 != nil || err2 != nil || !slices.Equal(want, got) {
				t.Errorf("%s: the row of distance %d is not that of %d (%v, %v)", c.name, d, near, err1, err2)
			}
		}
		if l := position.Length(after, after.Describe()); c.positions > 0 && (l.Capacity == nil || *l.Capacity != c.positions) {
			t.Errorf("%s: %s positions", c.name, say(l.Capacity))
		}
	}
}

// The bias of a window that grows keeps that of no distance, and of the class token.
func TestWindow(t *testing.T) {
	for _, method := range schemes.WindowMethods {
		_, after := changed(t, cases+"beit-relative.onnx", func(m position.Model) (position.Outcome, error) {
			return position.Relative(m, position.RelativeOptions{Window: [2]int{6, 6}, Method: method})
		})
		if grid := after.PatchGrid(); grid != (schemes.Grid{1, 6, 6}) {
			t.Errorf("%s: a grid of %v", method, grid)
		}
		bias := func(m *Model, side, head, query, key int) float64 { // the class token is 0, patches come behind it
			table := m.graph.File.Graph.Initializer(m.Sites()[0].Encoding().Where[0].Tensor)
			n := side*side + 1
			values, err := table.Floats(int64((head*n+query)*n+key), 1)
			if err != nil {
				t.Fatal(err)
			}
			return values[0]
		}
		for head := range 2 {
			for _, at := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {3, 3}} {
				old, now := bias(opened(t, cases+"beit-relative.onnx"), 4, head, at[0], at[1]), bias(after, 6, head, at[0], at[1])
				if math.Abs(old-now) > 1e-6 {
					t.Errorf("%s, head %d, %v: %g became %g", method, head, at, old, now)
				}
			}
		}
	}
}

// Positions that start again, or stop, at the end of the table go on to its new end.
func TestLimitedPositions(t *testing.T) {
	for _, c := range []struct {
		limit onnx.NewNode
		by    int64
	}{
		{withInts(node("Mod", "q", "p", "by"), "fmod", int64(0)), 16},
		{node("Min", "q", "p", "by"), 15},
		{node("Clip", "q", "p", "", "by"), 15},
	} {
		path := saved(t, func(m *onnx.NewModel) {
			free(m)
			by := integers("by", c.by)
			by.Dims = nil
			m.Initializers = append(m.Initializers, by)
			m.Nodes[3].Inputs[1] = "q"
			m.Nodes = slices.Insert(m.Nodes, 3, c.limit)
		})
		before, after := changed(t, path, func(m position.Model) (position.Outcome, error) {
			return position.Extend(m, position.ExtendOptions{Length: 40})
		})
		limits := [2]*report.Length{}
		for i, m := range []*Model{before, after} {
			l := position.Length(m, m.Describe())
			limits[i] = &l
		}
		if say(limits[0].Capacity) != "16" || say(limits[1].Capacity) != "40" {
			t.Errorf("%s: %s positions became %s", c.limit.Op, say(limits[0].Capacity), say(limits[1].Capacity))
		}
		by, err := after.graph.File.Graph.Initializer("by").Ints(0, 1)
		if err != nil || by[0] != c.by+24 {
			t.Errorf("%s: a limit of %v, want %d (%v)", c.limit.Op, by, c.by+24, err)
		}
		rows, err := after.graph.File.Graph.Initializer("wpe").Floats(0, 40*4)
		if again := err == nil && slices.Equal(rows[:4], rows[16*4:17*4]); err != nil || again != (c.limit.Op != "Mod") {
			t.Errorf("%s: row 16 is row 0 again: %v (%v)", c.limit.Op, again, err)
		}
	}
}
