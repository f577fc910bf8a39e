package onnxpos

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestRescaleCorpus gives every rotary corpus file another base and other
// scalings: what is found in the result is what was asked for.
func TestRescaleCorpus(t *testing.T) {
	options := map[string]position.RescaleOptions{
		"base":   {Base: 250000},
		"linear": {Scaling: schemes.ScalingLinear, Factor: 2},
		"ntk":    {Scaling: schemes.ScalingNTK, Factor: 4},
		"yarn":   {Scaling: schemes.ScalingYaRN, Factor: 4, OriginalLength: 4096},
		"none":   {Scaling: schemes.ScalingNone},
		"llama3": {Scaling: schemes.ScalingLlama3, Factor: 8, OriginalLength: 8192, LowFreqFactor: 1, HighFreqFactor: 4},
	}
	files, changed := 0, map[string]int{}
	for _, e := range entries(t) {
		rotary := false
		for _, x := range e.Truth.Encodings {
			rotary = rotary || x.Scheme == "rope"
		}
		if !rotary {
			continue
		}
		files++
		for name, o := range options {
			if rescale(t, filepath.Join(corpus, e.File), name, o) {
				changed[name]++
			}
		}
	}
	for name := range options {
		least := 0.8 // of the files; the rest switch between two caches, or fold very few positions
		if name == "none" {
			least = 0.1 // most have no scaling that could be taken away
		}
		if share := float64(changed[name]) / float64(files); files == 0 || share < least {
			t.Errorf("%s: %d of %d files changed, want %g", name, changed[name], files, least)
		}
	}
}

// rescale changes a file and reads what it has then; it reports whether anything
// changed, rather than being refused or the same already.
func rescale(t *testing.T, path, name string, o position.RescaleOptions) (changed bool) {
	t.Helper()
	base := filepath.Base(path)
	m := opened(t, path)
	out, err := position.Rescale(m, o)
	if _, refused := err.(*position.Refusal); refused {
		t.Logf("%s, %s: %v", base, name, err)
		return false
	}
	if err != nil {
		t.Errorf("%s, %s: %v", base, name, err)
		return false
	}
	if out.Nothing != "" {
		return false
	}
	after := result(t, m, path)
	for _, change := range out.Changes {
		for i, s := range m.sites {
			old, ok := s.(*rotary.Site)
			if !ok || position.ID(i) != change.Encoding {
				continue
			}
			want, err := parameters.Rotary(*change.To, old.Encoding().Scheme.(schemes.Rotary))
			if err != nil {
				t.Fatal(err)
			}
			// Encodings that differed only in what was changed are one now.
			at := min(i, len(after.sites)-1)
			now, ok := after.sites[at].(*rotary.Site)
			if !ok || len(after.sites) < len(m.sites) && name != "base" && name != "none" {
				t.Errorf("%s, %s: encoding %d is %v", base, name, i, after.sites[at].Encoding().Scheme)
				continue
			}
			sameRotation(t, base+", "+name, want, now)
			changed = true
		}
	}
	return changed
}

// sameRotation compares what the file turns by with the scheme.
func sameRotation(t *testing.T, what string, want schemes.Rotary, now *rotary.Site) {
	t.Helper()
	n := want.Pairs()
	cos, sin, wantCos, wantSin := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	rotator := want.Rotator(schemes.RecipeExact, 0)
	length := 32
	if c := now.Detected.Capacity; c > 0 {
		length = min(length, c)
	}
	tolerance := 3e-5
	if d := now.Detected.Dtype; d == "float16" || d == "bfloat16" {
		tolerance = 1e-2
	}
	for p := range length {
		if err := now.Rotation(p, length, cos, sin); err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		rotator.Row(float64(p), wantCos, wantSin)
		for i := range n {
			if math.Abs(cos[i]-wantCos[i]) > tolerance || math.Abs(sin[i]-wantSin[i]) > tolerance {
				t.Errorf("%s: position %d, pair %d turns by (%g, %g), want (%g, %g) of %v; found %v", what, p, i, cos[i], sin[i], wantCos[i], wantSin[i], want, now.Encoding().Scheme)
				return
			}
		}
	}
	got := now.Encoding().Scheme.(schemes.Rotary)
	if got.Dim != want.Dim || got.Layout != want.Layout || math.Abs(got.Amplitude()-want.Amplitude()) > 2e-3 {
		t.Errorf("%s: found %v, want %v", what, got, want)
	}
	// Which formula it is cannot be told from a few pairs, nor where Llama 3's
	// divides the last pair alone; divisors of its own fit any base.
	const tellingPairs = 5
	if n < tellingPairs || want.Scaling.Type == schemes.ScalingLlama3 || want.Scaling.Type == schemes.ScalingLongRoPE {
		return
	}
	same := func(a, b float64) bool { return math.Abs(a-b) <= 1e-3*math.Abs(b) }
	a, b := got.Scaling, want.Scaling
	if b.Type == "" {
		b.Type = schemes.ScalingNone
	}
	if a.Type == "" {
		a.Type = schemes.ScalingNone
	}
	if a.Type != b.Type || !same(got.Base, want.Base) || b.Factor != 0 && !same(a.Factor, b.Factor) {
		t.Errorf("%s: found %v, want %v", what, got, want)
	}
}
