package onnxpos

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

const (
	corpus = "../../../shared/corpus"
	own    = "../../testdata/onnx"
)

// entry is a file of the corpus with what is true of it.
type entry struct {
	File  string
	Truth struct {
		Length    map[string]any
		Encodings []encodingTruth
	}
	Accept map[string][]any
}

type encodingTruth struct {
	Scheme     string
	Form       *string
	Capacity   *float64
	Parameters map[string]any
	Accept     map[string][]any
	raw        map[string]any
}

func (e *encodingTruth) UnmarshalJSON(b []byte) error {
	type plain encodingTruth
	if err := json.Unmarshal(b, (*plain)(e)); err != nil {
		return err
	}
	return json.Unmarshal(b, &e.raw)
}

// entries are those of the corpus that have a truth; the test is skipped where
// there is no corpus.
func entries(t *testing.T) []entry {
	t.Helper()
	b, err := os.ReadFile(corpus + "/onnx.json")
	if err != nil {
		t.Skip("../shared/corpus/onnx.json is not there")
	}
	var all []entry
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e entry) bool { return e.Truth.Encodings == nil })
}

// opened is the model at a path.
func opened(t *testing.T, path string) *Model {
	t.Helper()
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestCorpus holds what is found in every corpus file against the truth.
func TestCorpus(t *testing.T) {
	all := entries(t)
	right := 0
	for _, e := range all {
		misses := judge(t, e, opened(t, filepath.Join(corpus, e.File)))
		if len(misses) == 0 {
			right++
			continue
		}
		t.Logf("%s: %s", e.File, strings.Join(misses, "; "))
	}
	const want = 0.98
	if float64(right) < want*float64(len(all)) {
		t.Errorf("%d of %d files right", right, len(all))
	}
}

// TestOwnModels is TestCorpus on the models of testdata.
func TestOwnModels(t *testing.T) { judgeAll(t, own, "truth.json") }

// Patterns that are missed easily, from modules of this project's own
// (test/recipes/export_cases.py).
func TestCases(t *testing.T) { judgeAll(t, filepath.Join(own, "cases"), "cases.json") }

func judgeAll(t *testing.T, folder, truth string) {
	b, err := os.ReadFile(filepath.Join(folder, truth))
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		for _, miss := range judge(t, e, opened(t, filepath.Join(folder, e.File))) {
			t.Errorf("%s: %s", e.File, miss)
		}
	}
}

// tolerances of parameters that are recovered from rounded numbers.
var tolerances = map[string]float64{"base": 2e-4, "factor": 1e-3, "attention_factor": 2e-3, "amplitude": 2e-3, "beta_fast": 2e-2, "beta_slow": 2e-2,
	"low_freq_factor": 1e-2, "high_freq_factor": 1e-2, "max_bias": 1e-3, "slopes": 1e-3, "short_factor": 2e-3, "long_factor": 2e-3}

// defaults are what a parameter that is not said means.
var defaults = map[string]any{"amplitude": 1.0, "offset": 0.0, "attention_factor": 1.0, "prefix": 0.0, "denominator": "half", "interleaved_sections": false, "truncate": true}

// judge says in words what of the truth is not found, or found and not true.
func judge(t *testing.T, e entry, m *Model) []string {
	t.Helper()
	b, err := json.Marshal(position.Inspect(m))
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Length    map[string]any
		Encodings []map[string]any
	}
	if err := json.Unmarshal(b, &found); err != nil {
		t.Fatal(err)
	}
	var misses []string
	left := found.Encodings
	for _, want := range e.Truth.Encodings {
		best, fewest := -1, []string(nil)
		for i, got := range left {
			if got["scheme"] != want.Scheme && !slices.Contains(want.Accept["scheme"], got["scheme"]) {
				continue
			}
			if d := differences(want, got); best < 0 || len(d) < len(fewest) {
				best, fewest = i, d
			}
		}
		if best < 0 {
			misses = append(misses, want.Scheme+" not found")
			continue
		}
		left = slices.Delete(slices.Clone(left), best, best+1)
		misses = append(misses, fewest...)
	}
	for _, got := range left {
		misses = append(misses, fmt.Sprint(got["scheme"], " found, and not there"))
	}
	for key, want := range e.Truth.Length {
		if got := found.Length[key]; want != "unknown" && got != want && !slices.Contains(e.Accept["length."+key], got) {
			misses = append(misses, fmt.Sprintf("length.%s: %v, want %v", key, got, want))
		}
	}
	return misses
}

func differences(want encodingTruth, got map[string]any) []string {
	parameters, _ := got["parameters"].(map[string]any)
	out := unlike(want.Parameters, parameters, want.Accept, "")
	for _, key := range []string{"form", "capacity"} {
		value, stated := want.raw[key]
		if !stated || want.Scheme == "none" && key == "form" || value == got[key] || slices.Contains(want.Accept[key], got[key]) {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s: %v, want %v", want.Scheme, key, got[key], value))
	}
	return out
}

func unlike(want, got map[string]any, accept map[string][]any, prefix string) []string {
	var out []string
	for key, value := range want {
		have, ok := got[key]
		if !ok {
			have = defaults[key]
		}
		if inner, ok := value.(map[string]any); ok {
			if key == "scaling" && inner["type"] == "none" && have == nil {
				continue
			}
			haveInner, _ := have.(map[string]any)
			out = append(out, unlike(inner, haveInner, accept, prefix+key+".")...)
			continue
		}
		if !slices.ContainsFunc(append([]any{value}, accept[prefix+key]...), func(v any) bool { return alike(key, v, have) }) {
			out = append(out, fmt.Sprintf("%s%s: %v, want %v", prefix, key, have, value))
		}
	}
	return out
}

func alike(key string, want, got any) bool {
	switch want := want.(type) {
	case float64:
		tolerance, ok := tolerances[key]
		if !ok {
			tolerance = 1e-6
		}
		x, ok := got.(float64)
		return ok && math.Abs(want-x) <= max(tolerance*max(math.Abs(want), math.Abs(x)), 1e-9)
	case []any:
		x, ok := got.([]any)
		if key == "sections" { // four may be stated, the last unused
			want, x = trimmed(want), trimmed(x)
		}
		if !ok || len(x) != len(want) {
			return false
		}
		for i := range want {
			if !alike(key, want[i], x[i]) {
				return false
			}
		}
		return true
	}
	return want == got
}

func trimmed(list []any) []any {
	for len(list) > 0 && list[len(list)-1] == 0.0 {
		list = list[:len(list)-1]
	}
	return list
}

// TestExtendCorpus extends every corpus file with a capacity to twice its
// length, in memory where it is one file.
func TestExtendCorpus(t *testing.T) {
	files := entries(t)
	done, refused := 0, 0
	for _, e := range files {
		capacity, ok := e.Truth.Length["capacity"].(float64)
		if !ok || capacity == 0 {
			continue
		}
		if l := position.Length(opened(t, filepath.Join(corpus, e.File)), report.Inspect{}); l.Capacity != nil {
			capacity = float64(*l.Capacity) // where the truth allows several
		}
		switch err := twice(t, filepath.Join(corpus, e.File), int(capacity)); {
		case err == nil:
			done++
		default:
			refused++
			t.Logf("%s: %v", e.File, err)
		}
	}
	t.Logf("%d extended, %d refused", done, refused)
	if refused*5 > done {
		t.Errorf("%d extended, %d refused", done, refused)
	}
}

func TestExtendOwnModels(t *testing.T) {
	unknown := own + "/t5-baked-001.onnx" // what bias farther distances have is not in the file
	files, _ := filepath.Glob(own + "/*.onnx")
	for _, path := range files {
		l := position.Length(opened(t, path), opened(t, path).Describe())
		if l.Capacity == nil {
			continue
		}
		if err := twice(t, path, *l.Capacity); (err != nil) != (filepath.Clean(path) == filepath.Clean(unknown)) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Cases that can be extended, by what is asked of them; others are refused, for
// the reason that is named.
func TestExtendCases(t *testing.T) {
	for name, capacity := range map[string]int{"rope-stacked": 20, "rope-start": 20, "rope-stacked-qdq": 20, "conformer": 40,
		"table-from-end": 20, "table-reversed": 20, "table-factor": 20, "rope-timed": 20, "recurrence-unrolled": 7} {
		if err := twice(t, filepath.Join(own, "cases", name+".onnx"), capacity); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, why := range map[string]string{
		"table-last":    "counted from the last one",
		"table-digits":  "rows of several axes",
		"bias-counting": "how this model encodes positions is not known",
	} {
		_, err := position.Extend(opened(t, filepath.Join(own, "cases", name+".onnx")), position.ExtendOptions{Length: 80})
		if _, refused := err.(*position.Refusal); !refused || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want a refusal that says %q", name, err, why)
		}
	}
	m := opened(t, filepath.Join(own, "cases", "longrope-switch.onnx"))
	if _, err := position.Rescale(m, position.RescaleOptions{Base: 20000}); err == nil || !strings.Contains(err.Error(), "switches") {
		t.Errorf("longrope-switch: another base: %v", err)
	}
}

// TestSwitchedCaches: another scaling goes into both caches of a graph that chooses between a short and a long one
// by the length (ONNX Runtime GenAI's LongRoPE), from both sides of the switch.
func TestSwitchedCaches(t *testing.T) {
	path := filepath.Join(corpus, "onnx", "genai-phi3long-fp32-anon.onnx")
	if _, err := os.Stat(path); err != nil {
		t.Skip("../shared/corpus/onnx/genai-phi3long-fp32-anon.onnx is not there")
	}
	for _, o := range []position.RescaleOptions{
		{Scaling: schemes.ScalingNone}, {Base: 20000, Scaling: schemes.ScalingNone}, {Scaling: schemes.ScalingYaRN, Factor: 3, OriginalLength: 64}, {Scaling: schemes.ScalingLinear, Factor: 3, Length: 300},
	} {
		m := opened(t, path)
		if _, err := position.Rescale(m, o); err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		after := result(t, m, path)
		want := schemes.Rotary{Base: cmp.Or(o.Base, 10000), Dim: 16, Scaling: schemes.Scaling{Type: o.Scaling, Factor: o.Factor, OriginalLength: o.OriginalLength}}
		s := after.sites[0]
		if n := s.Encoding().Capacity; n != max(192, o.Length) {
			t.Errorf("%+v: %d positions", o, n)
		}
		for _, length := range []int{20, 150} {
			for _, p := range []int{1, 19} {
				cos, sin := make([]float64, 8), make([]float64, 8)
				if err := s.(position.Rotator).Rotation(p, length, cos, sin); err != nil {
					t.Fatal(err)
				}
				for i, f := range want.InverseFrequencies() {
					a := want.Amplitude()
					if x := float64(p) * f; math.Abs(cos[i]-a*math.Cos(x)) > 1e-6 || math.Abs(sin[i]-a*math.Sin(x)) > 1e-6 {
						t.Errorf("%+v: length %d, position %d, pair %d: %g and %g, want %g and %g", o, length, p, i, cos[i], sin[i], a*math.Cos(x), a*math.Sin(x))
					}
				}
			}
		}
	}
	_, err := position.Rescale(opened(t, path), position.RescaleOptions{Base: 20000})
	if _, refused := errors.AsType[*position.Refusal](err); !refused {
		t.Errorf("another base of both lists: %v", err)
	}
}

// Grids of images: learned, in rows and columns, by formula, with tokens behind.
func TestGridCases(t *testing.T) {
	for name, rows := range map[string]int{"image-plane": 36, "image-waves": 36, "image-behind": 40, "image-queries": 36, "sam": 36} {
		path := filepath.Join(own, "cases", name+".onnx")
		m := opened(t, path)
		_, err := position.ResizeGrid(m, position.GridOptions{Image: 48})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		after := result(t, m, path)
		if n := after.sites[0].(*tableSite).Len(); n != rows || after.graph.PatchGrid() != [2]int{6, 6} {
			t.Errorf("%s: %d rows and a grid of %v, want %d", name, n, after.graph.PatchGrid(), rows)
		}
		if len(after.graph.Eval.Failures) > 0 {
			t.Errorf("%s: %v", name, after.graph.Eval.Failures[0].Err)
		}
	}
}

// twice extends a model to twice its length and checks the result. The error
// is a refusal.
func twice(t *testing.T, path string, capacity int) error {
	t.Helper()
	m := opened(t, path)
	o, err := position.Extend(m, position.ExtendOptions{Length: 2 * capacity})
	if err == nil && o.Nothing != "" {
		err = fmt.Errorf("nothing to do: %s", o.Nothing)
	}
	if _, refused := err.(*position.Refusal); err != nil {
		if !refused {
			t.Errorf("%s: %v", path, err)
		}
		return err
	}
	after := result(t, m, path)
	l := position.Length(after, after.Describe())
	if l.Capacity == nil || *l.Capacity != 2*capacity {
		t.Errorf("%s: capacity %s, want %d", path, say(l.Capacity), 2*capacity)
	}
	if a, b := len(m.Sites()), len(after.Sites()); a != b {
		t.Errorf("%s: %d encodings became %d", path, a, b)
		return nil
	}
	for i := range m.sites {
		samePrefix(t, path, m.sites[i], after.sites[i])
	}
	if len(after.graph.Eval.Failures) > len(m.graph.Eval.Failures) {
		t.Errorf("%s: fails at the first length: %v", path, after.graph.Eval.Failures[0].Err)
	}
	size := after.graph.Sizes
	size.Length = 2 * capacity
	if e := after.graph.Evaluate(size); len(e.Failures) > len(m.graph.Eval.Failures) {
		t.Errorf("%s: fails at the new length: %s: %v", path, e.Failures[0].Node.Op, e.Failures[0].Err)
	}
	return nil
}

func say(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// result opens the result of a plan: in memory, or in a new folder where the
// model has data files.
func result(t *testing.T, m *Model, path string) *Model {
	t.Helper()
	dir := t.TempDir()
	target := filepath.Join(dir, filepath.Base(path))
	m.NameData(target)
	p, err := m.Edits()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(p.Outputs) == 1 {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := onnx.NewFile(p.View(0, bytes.NewReader(b)), p.OutputSize(0))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		after, err := New(f)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return after
	}
	for i, o := range p.Outputs {
		in, err := os.Open(p.Inputs[o.Input].Path)
		if err != nil {
			t.Fatal(err)
		}
		name := target
		if i > 0 {
			name = filepath.Join(dir, o.Name)
		}
		b, err := io.ReadAll(p.NewReader(i, in))
		in.Close()
		if err == nil {
			err = os.WriteFile(name, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return opened(t, target)
}

// samePrefix checks that the rows that a table had are there, byte for byte.
func samePrefix(t *testing.T, path string, a, b site.Site) {
	t.Helper()
	before, after := a.Tables(), b.Tables()
	if len(before) != len(after) {
		t.Errorf("%s: %d tables became %d", path, len(before), len(after))
		return
	}
	for i, x := range before {
		y := after[i]
		if x.Inner() != y.Inner() || x.Outer() != y.Outer() || y.Len() < x.Len() {
			t.Errorf("%s: %v became %v", path, x.Tensor.Dims, y.Tensor.Dims)
			continue
		}
		for o := range x.Outer() {
			n := int64(x.Len() * x.Inner())
			rows, err1 := x.Tensor.Raw(int64(o)*n, n)
			kept, err2 := y.Tensor.Raw(int64(o*y.Len()*y.Inner()), n)
			if err1 != nil || err2 != nil || !bytes.Equal(rows, kept) {
				t.Errorf("%s: table %d: the rows that were there differ (%v, %v)", path, i, err1, err2)
			}
		}
	}
}
