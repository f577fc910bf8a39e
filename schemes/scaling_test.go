package schemes_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// TestUnknownScaling: a word that no type has is never taken for plain.
func TestUnknownScaling(t *testing.T) {
	s := schemes.Scaling{Type: "trial", Factor: 2, OriginalLength: 64}
	if err := s.Known(); err == nil || !strings.Contains(err.Error(), `"trial"`) {
		t.Errorf("Known: %v", err)
	}
	r := schemes.Rotary{Base: 10000, Dim: 8, Scaling: s}
	for _, recipe := range []schemes.Recipe{schemes.RecipeExact, schemes.RecipePow, schemes.RecipeExp, schemes.RecipeGGML} {
		cos, sin := make([]float64, 4), make([]float64, 4)
		r.Rotator(recipe, 0).Row(3, cos, sin)
		for i := range cos {
			if !math.IsNaN(cos[i]) || !math.IsNaN(sin[i]) {
				t.Errorf("recipe %q, pair %d: %v, %v", recipe, i, cos[i], sin[i])
			}
		}
	}
}

// TestTrialScaling registers a type that has nothing but frequencies: every recipe
// turns by them, and its parameters are its own.
func TestTrialScaling(t *testing.T) {
	defer func(all []*schemes.ScalingType) { schemes.Scalings = all }(schemes.Scalings)
	schemes.Scalings = append(slices.Clone(schemes.Scalings), &schemes.ScalingType{Name: "trial", Title: "Trial", Settable: true,
		Frequencies: func(_ schemes.Rotary, f []float64, _ int) {
			for i := range f {
				f[i] *= 0.75
			}
		}})
	r := schemes.Rotary{Base: 10000, Dim: 8, Scaling: schemes.Scaling{Type: "trial"}}
	for _, recipe := range []schemes.Recipe{schemes.RecipeExact, schemes.RecipePow, schemes.RecipeExp, schemes.RecipeGGML} {
		cos, sin := make([]float64, 4), make([]float64, 4)
		r.Rotator(recipe, 0).Row(3, cos, sin)
		for i := range cos {
			if want := math.Cos(3 * 0.75 * math.Pow(10000, -float64(i)/4)); math.Abs(cos[i]-want) > 1e-6 {
				t.Errorf("recipe %q, pair %d: %v, want %v", recipe, i, cos[i], want)
			}
		}
	}
	if names := schemes.ScalingNames(func(t *schemes.ScalingType) bool { return t.Settable }); !slices.Contains(names, "trial") {
		t.Errorf("settable: %v", names)
	}
}

// TestScalingTypes: every type says where it is from, under words of its own.
func TestScalingTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range schemes.Scalings {
		if s.Title == "" || s.Source == "" {
			t.Errorf("%s: no title or no source", s.Name)
		}
		for _, word := range append(slices.Clone(s.Aliases), s.Name) {
			if found, err := schemes.ScalingNamed(word); seen[word] || err != nil || found != s {
				t.Errorf("%s: the word %q is not its own", s.Name, word)
			}
			seen[word] = true
		}
	}
}
