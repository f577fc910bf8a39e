package verify_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

const (
	corpus = "../../shared/corpus"
	own    = "../testdata"
)

// models are the models of testdata and, where it is there, of the corpus.
func models(t *testing.T, pattern string) []string {
	t.Helper()
	mine, _ := filepath.Glob(filepath.Join(own, pattern))
	shared, _ := filepath.Glob(filepath.Join(corpus, pattern))
	if len(mine) == 0 {
		t.Fatalf("no %s in testdata", pattern)
	}
	return append(mine, shared...)
}

func open(t *testing.T, path string) position.Model {
	t.Helper()
	m, err := modelpatch.Open(t.Context(), path, modelpatch.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestCopiesAreSame verifies every model by itself, where inspect's errors alone break it, and compares it with a copy.
func TestCopiesAreSame(t *testing.T) {
	compared, unopened := 0, 0
	for _, pattern := range []string{"onnx/*.onnx", "gguf/*.gguf"} {
		for _, path := range models(t, pattern) {
			m, err := modelpatch.Open(t.Context(), path, modelpatch.OpenOptions{})
			if err != nil {
				t.Logf("%s: %v", path, err) // a shard without its siblings
				unopened++
				continue
			}
			compared++
			wrong := slices.ContainsFunc(m.Findings(), func(f report.Finding) bool { return f.Level == report.LevelError })
			if v := verify.Inspect(m, verify.Options{}); (v.Verdict == report.VerdictBroken) != wrong {
				t.Errorf("%s by itself: %s: %s", path, v.Verdict, failure(v))
			}
			v := verify.Compare(m, open(t, path), verify.Options{})
			if v.Verdict != report.VerdictSame {
				t.Errorf("%s: %s: %s", path, v.Verdict, failure(v))
			}
			m.Close()
		}
	}
	if compared < 20 || unopened > compared/10 {
		t.Errorf("%d models were compared, and %d could not be opened", compared, unopened)
	}
}

// failure is the first failed check in a line.
func failure(v report.Verify) string {
	for _, k := range v.Checks {
		if k.Verdict == report.CheckFail {
			at, _ := json.Marshal(k.At)
			return fmt.Sprintf("%s: %s at %s", k.Name, k.Why, at)
		}
	}
	return "no check failed"
}

type verb func(position.Model) (position.Outcome, error)

// changed writes what a verb makes of a model and returns the new file and the
// plan; "" where the verb refused or had nothing to do.
func changed(t *testing.T, path string, do verb) (target string, plan *report.Plan) {
	t.Helper()
	m := open(t, path)
	out, err := do(m)
	var refusal *position.Refusal
	var usage *position.UsageError
	if errors.As(err, &refusal) || errors.As(err, &usage) || out.Nothing != "" {
		return "", nil
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	dir := t.TempDir()
	target = filepath.Join(dir, filepath.Base(path))
	if n, ok := m.(position.DataNamer); ok {
		n.NameData(target)
	}
	p, err := m.Edits()
	if errors.As(err, &refusal) {
		return "", nil
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if n, ok := m.(position.OutputNamer); ok {
		root, further := n.OutputNames(target)
		target = root
		for i, name := range further {
			p.Outputs[i+1].Name = name
		}
	}
	for i, o := range p.Outputs {
		name := target
		if i > 0 {
			name = filepath.Join(dir, o.Name)
		}
		writeOutput(t, p, i, name)
	}
	return target, &report.Plan{Schema: report.SchemaPlan, Changes: out.Changes}
}

func writeOutput(t *testing.T, p patch.Plan, i int, name string) {
	t.Helper()
	in, err := os.Open(p.Inputs[p.Outputs[i].Input].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b, err := io.ReadAll(p.NewReader(i, in))
	if err == nil {
		err = os.WriteFile(name, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// doubled extends a model to twice its capacity, or what it states.
func doubled(o position.ExtendOptions) verb {
	return func(m position.Model) (position.Outcome, error) {
		l := position.Length(m, m.Describe())
		switch {
		case l.Capacity != nil:
			o.Length = 2 * *l.Capacity
		case l.Stated != nil:
			o.Length = 2 * *l.Stated
		default:
			return position.Outcome{Nothing: "no length"}, nil
		}
		return position.Extend(m, o)
	}
}

func rescaled(o position.RescaleOptions) verb {
	return func(m position.Model) (position.Outcome, error) { return position.Rescale(m, o) }
}

func biased(o position.ALiBiOptions) verb {
	return func(m position.Model) (position.Outcome, error) { return position.AddALiBi(m, o) }
}

func windowed(positions, sinks int) verb {
	return func(m position.Model) (position.Outcome, error) {
		return position.AddWindow(m, position.WindowOptions{Positions: positions, Sinks: sinks})
	}
}

var changes = map[string]verb{
	"window":        windowed(6, 0),
	"window, sinks": windowed(6, 2),
	"extend":        doubled(position.ExtendOptions{}),
	"extend repeat": doubled(position.ExtendOptions{Method: "repeat-last"}),
	"base":          rescaled(position.RescaleOptions{Base: 250000}),
	"linear":        rescaled(position.RescaleOptions{Scaling: "linear", Factor: 2}),
	"yarn":          rescaled(position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 4096}),
	"alibi":         biased(position.ALiBiOptions{}),
	"alibi replace": biased(position.ALiBiOptions{Replace: true}),
}

// TestChanges makes each kind of change of every model and compares: with the
// plan the verdict is what was planned, without it that the files fit each
// other.
func TestChanges(t *testing.T) {
	made := map[string]int{}
	for _, pattern := range []string{"onnx/*.onnx", "gguf/*.gguf"} {
		for _, path := range models(t, pattern) {
			if m, err := modelpatch.Open(t.Context(), path, modelpatch.OpenOptions{}); err != nil {
				continue
			} else {
				m.Close()
			}
			for name, do := range changes {
				if strings.HasPrefix(path, corpus) && (testing.Short() || name == "extend repeat" || name == "base") {
					continue
				}
				made[name] += oneChange(t, path, name, do)
			}
		}
	}
	t.Logf("changes made: %v", made)
	for name := range changes {
		if made[name] == 0 {
			t.Errorf("%s: never done", name)
		}
	}
}

func oneChange(t *testing.T, path, name string, do verb) int {
	t.Helper()
	target, plan := changed(t, path, do)
	if target == "" {
		return 0
	}
	defer os.RemoveAll(filepath.Dir(target))
	prefix := true
	for _, c := range plan.Changes {
		prefix = prefix && c.Expect != report.ExpectChanged
	}
	before, after := open(t, path), open(t, target)
	if slices.ContainsFunc(after.Findings(), func(f report.Finding) bool { return f.Level == report.LevelError }) {
		if v := verify.Compare(before, after, verify.Options{Plan: plan}); v.Verdict != report.VerdictDifferent {
			t.Errorf("%s, %s: %s, though engines refuse the new file", path, name, v.Verdict)
		}
		return 1
	}
	again := open(t, target)
	with := verify.Compare(before, after, verify.Options{Plan: plan, Again: again})
	want := report.VerdictChangedAsPlanned
	if prefix {
		want = report.VerdictSameOnPrefix
	}
	if with.Verdict != want {
		t.Errorf("%s, %s: %s with its plan, want %s: %s", path, name, with.Verdict, want, failure(with))
	}
	if name == "linear" && strings.Contains(path, "stablelm") {
		return 1 // two frequencies: no formula can be told without the plan
	}
	without := verify.Compare(before, after, verify.Options{Again: again, Command: name})
	if want == report.VerdictChangedAsPlanned {
		want = report.VerdictConsistent
		if !explainsItself(plan, before, after) {
			want = report.VerdictDifferent
		}
	}
	if without.Verdict != want {
		t.Errorf("%s, %s: %s without a plan, want %s: %s", path, name, without.Verdict, want, failure(without))
	}
	return 1
}

// explainsItself reports whether a change can be told from a fault without its
// plan: every encoding that changed went from one formula to another. A bias that
// came, a table that lost its effect, trained rows and lists of factors cannot.
func explainsItself(plan *report.Plan, before, after position.Model) bool {
	a, b := before.Sites(), after.Sites()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i].Encoding().Scheme, b[i].Encoding().Scheme
		if x.Name() != y.Name() {
			return false
		}
		changed := slices.ContainsFunc(plan.Changes, func(c report.Change) bool {
			return c.Encoding == position.ID(i) && c.Expect == report.ExpectChanged
		})
		if x, ok := x.(schemes.Rotary); changed && ok && !(isFormula(x) && isFormula(y.(schemes.Rotary))) {
			return false
		}
	}
	return true
}

func isFormula(r schemes.Rotary) bool {
	return !r.Scaling.Kind().Listed
}

// TestDifferentModels compares models that have nothing to do with each other: the
// answer is a verdict with the place of the first difference, never an error.
func TestDifferentModels(t *testing.T) {
	paths := append(models(t, "onnx/*.onnx"), models(t, "gguf/*.gguf")...)
	var opened []position.Model
	for i, path := range paths {
		if strings.HasPrefix(path, corpus) && (i%7 != 0 || slices.ContainsFunc(paths, func(p string) bool {
			return !strings.HasPrefix(p, corpus) && filepath.Base(p) == filepath.Base(path) // a copy of it
		})) {
			continue
		}
		m, err := modelpatch.Open(t.Context(), path, modelpatch.OpenOptions{})
		if err != nil {
			continue
		}
		t.Cleanup(func() { m.Close() })
		opened = append(opened, m)
	}
	compared := 0
	for i, a := range opened {
		for j, b := range opened {
			if i == j || a.Describe().Format == b.Describe().Format && *cmp.Or(a.Describe().Architecture, &paths[i]) == *cmp.Or(b.Describe().Architecture, &paths[j]) && a.Describe().Format == position.FormatGGUF {
				continue // edits of one model
			}
			v := verify.Compare(a, b, verify.Options{})
			compared++
			if v.Verdict != report.VerdictDifferent || v.Summary == "" {
				t.Errorf("%s and %s: %s, %q", a.Describe().Path, b.Describe().Path, v.Verdict, v.Summary)
			}
			for _, k := range v.Checks {
				if strings.Contains(k.Why, "panic") || strings.Contains(k.Why, "runtime error") {
					t.Errorf("%s and %s: %s", a.Describe().Path, b.Describe().Path, k.Why)
				}
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d pairs were compared", compared)
	}
}

// TestComparedIsTold: large tensors are told of until all were compared, and an error ends that.
func TestComparedIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.gguf") // its table is of more than 64 KiB
	if _, err := modelpatch.Extend(t.Context(), "../testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 8192}, Write: modelpatch.WriteOptions{Output: path}}); err != nil {
		t.Fatal(err)
	}
	open := func() position.Model {
		m, err := modelpatch.Open(t.Context(), path, modelpatch.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	var last, all int64
	v := verify.Compare(open(), open(), verify.Options{Compared: func(done, total int64) error {
		if done < last || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last, all = done, total
		return nil
	}})
	if v.Verdict != report.VerdictSame || last != all || all == 0 {
		t.Errorf("%s after %d of %d bytes", v.Verdict, last, all)
	}
	if v := verify.Compare(open(), open(), verify.Options{Compared: func(int64, int64) error { return io.ErrClosedPipe }}); v.Verdict == report.VerdictSame {
		t.Error("a comparison that was ended says same")
	}
}
