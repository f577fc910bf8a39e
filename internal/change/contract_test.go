package change_test

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Every implementation of position.Model, and of what a site may be beside that, keeps the same contract:
// the doc comments of package position, held on every model of testdata, and of the corpus where it is.

// TestContract opens each model and holds what it says of itself together.
func TestContract(t *testing.T) {
	for _, path := range models(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			m, err := source.Open(context.Background(), path, source.Options{})
			if err != nil {
				t.Skip(err) // what is no model has tests of its own
			}
			defer m.Close()
			again, err := source.Open(context.Background(), path, source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if len(m.Sites()) != len(again.Sites()) || len(m.Attentions()) != len(again.Attentions()) {
				t.Fatal("opened twice, it has other sites or attentions")
			}
			for i, s := range m.Sites() {
				e := s.Encoding()
				if !reflect.DeepEqual(e, s.Encoding()) || !reflect.DeepEqual(e.Scheme, again.Sites()[i].Encoding().Scheme) {
					t.Errorf("site %d: asked twice, its encoding is another", i)
				}
				holdEncoding(t, i, e)
				holdNumbers(t, i, s, e)
			}
			for i, a := range m.Attentions() {
				holdAttention(t, i, a, len(m.Sites()))
			}
			if p, err := m.Edits(); err == nil && len(p.Edits) > 0 {
				t.Errorf("%d edits before any verb", len(p.Edits))
			}
		})
	}
}

func holdEncoding(t *testing.T, i int, e position.Encoding) {
	t.Helper()
	if e.Scheme == nil {
		t.Fatalf("site %d has no scheme", i)
	}
	if !slices.Contains([]string{"", report.FormKeys, report.FormTable, report.FormCache, report.FormRuntime, report.FormBaked}, e.Form) {
		t.Errorf("site %d: no such form: %q", i, e.Form)
	}
	if !slices.Contains([]string{report.BeyondError, report.BeyondClamps, report.BeyondWrong, report.BeyondContinues, report.BeyondUnknown}, e.Beyond) {
		t.Errorf("site %d: beyond its capacity: %q", i, e.Beyond)
	}
	if e.Capacity < 0 || e.Rows < 0 || e.Capacity > 0 && e.Beyond == report.BeyondContinues && e.Form == report.FormTable {
		t.Errorf("site %d: %d positions in %d rows, beyond: %s", i, e.Capacity, e.Rows, e.Beyond)
	}
	if !slices.IsSorted(e.Layers) || len(slices.Compact(slices.Clone(e.Layers))) != len(e.Layers) {
		t.Errorf("site %d: layers %v are not in order, or not once each", i, e.Layers)
	}
}

// holdNumbers reads what a site gives at its ends and beyond: finite numbers, errors, never a panic.
func holdNumbers(t *testing.T, i int, s position.Site, e position.Encoding) {
	t.Helper()
	if r, ok := s.(position.Rows); ok {
		row := make([]float64, r.Dim())
		for _, n := range []int{0, r.Len() - 1} {
			if err := r.Row(n, row); r.Len() > 0 && err == nil && !finite(row) {
				t.Errorf("site %d: row %d of %d is not finite", i, n, r.Len())
			}
		}
		for _, n := range []int{-1, r.Len()} {
			if err := r.Row(n, row); err == nil && r.Len() > 0 && e.Form != report.FormRuntime {
				t.Errorf("site %d: row %d of %d is there", i, n, r.Len())
			}
		}
	}
	if r, ok := s.(position.Rotator); ok {
		scheme, ok := e.Scheme.(schemes.Rotary)
		if !ok {
			t.Fatalf("site %d turns, and is %s", i, e.Scheme.Name())
		}
		cos, sin := make([]float64, scheme.Pairs()), make([]float64, scheme.Pairs())
		amplitude := 0.0
		for _, p := range []int{0, 1, max(e.Capacity-1, 2)} {
			if err := r.Rotation(p, p+1, cos, sin); err != nil {
				continue // what a file has no numbers for, it says
			}
			if !finite(cos) || !finite(sin) {
				t.Fatalf("site %d: position %d is not finite", i, p)
			}
			for k := range cos {
				if a := math.Hypot(cos[k], sin[k]); p == 0 && k == 0 {
					amplitude = a
				} else if amplitude > 0 && scheme.Sections == nil && scheme.Scaling.Type != schemes.ScalingLongRoPE && math.Abs(a-amplitude) > 0.02*amplitude {
					t.Errorf("site %d: pair %d of position %d has an amplitude of %g, the first %g", i, k, p, a, amplitude)
				}
			}
		}
	}
	if b, ok := s.(position.Biaser); ok {
		for _, at := range [][3]int{{0, 0, 0}, {0, 3, 1}, {0, 1, 3}} {
			if v, err := b.Bias(at[0], at[1], at[2], 4); err == nil && math.IsNaN(v) {
				t.Errorf("site %d: the bias of %v is no number", i, at)
			}
		}
		heads := 1 << 20
		switch s := e.Scheme.(type) {
		case schemes.ALiBi:
			heads = s.Heads
		case schemes.Buckets:
			heads = s.Heads
		}
		for _, head := range []int{-1, heads} {
			if _, err := b.Bias(head, 0, 0, 4); err == nil {
				t.Errorf("site %d: head %d has a bias", i, head)
			}
		}
	}
}

func finite(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}

func holdAttention(t *testing.T, i int, a *position.Attention, sites int) {
	t.Helper()
	for _, at := range a.Encodings {
		if at < 0 || at >= sites {
			t.Errorf("attention %d: site %d of %d", i, at, sites)
		}
	}
	if (a.Run == nil) != (a.Unsupported != "") && a.Run == nil {
		t.Errorf("attention %d cannot be run, and nothing says why", i)
	}
	if a.Unsupported != "" {
		return
	}
	if a.Heads <= 0 || a.HeadDim <= 0 || a.KVHeads <= 0 || a.Heads%a.KVHeads != 0 {
		t.Errorf("attention %d: %d heads of %d, %d of keys", i, a.Heads, a.HeadDim, a.KVHeads)
	}
	if a.AddBias == nil && a.Closed == "" && !a.Crosses {
		t.Errorf("attention %d takes no bias, and nothing says why", i)
	}
}

// TestContractOfExtend makes each model longer: a length that is reached and read back, or a refusal that says why.
func TestContractOfExtend(t *testing.T) {
	for _, path := range models(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			before, err := source.Inspect(context.Background(), path, source.Options{})
			if err != nil {
				t.Skip(err)
			}
			n := 64
			if l := before.Length; l.Capacity != nil && *l.Capacity > 0 {
				n = 2 * *l.Capacity
			} else if l.Stated != nil {
				n = 2 * *l.Stated
			}
			if n > 1<<14 {
				t.Skip("a table of its own size")
			}
			target := filepath.Join(t.TempDir(), filepath.Base(path))
			r, err := modelpatch.Extend(context.Background(), path, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: n}, Write: modelpatch.WriteOptions{Output: target}})
			if code := modelpatch.ExitCode(err); code == modelpatch.ExitRefused || code == modelpatch.ExitInput {
				if len(err.Error()) < len(path)+20 {
					t.Errorf("refused without a reason: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Nothing != "" {
				return
			}
			after, err := source.Inspect(context.Background(), target, source.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(after.Encodings) != len(before.Encodings) {
				t.Errorf("%d encodings became %d", len(before.Encodings), len(after.Encodings))
			}
			if c := after.Length.Capacity; c != nil && *c < n && before.Length.Capacity != nil {
				t.Errorf("%d positions were asked for, and there are %d", n, *c)
			}
		})
	}
}
