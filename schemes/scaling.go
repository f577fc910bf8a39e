package schemes

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Scalings are all types of rotary scaling, in the order in which they are named.
var Scalings = []*ScalingType{
	&typeNone, &typeLinear, &typeNTK, &typeDynamic, &typeYaRN, &typeLlama3, &typeLongRoPE, &typeResonance, &typeProportional, &typeCustom,
}

// ScalingNamed finds a type by its name or a word that config.json has for it.
func ScalingNamed(word string) (*ScalingType, error) {
	for _, t := range Scalings {
		if t.Name == word || slices.Contains(t.Aliases, word) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("scaling of type %q is not known: there are %s", word, strings.Join(names(Scalings), ", "))
}

func names(types []*ScalingType) []string {
	var out []string
	for _, t := range types {
		out = append(out, t.Name)
	}
	return out
}

// ScalingNames are the names of the types that a choice leaves, in order.
func ScalingNames(chosen func(*ScalingType) bool) []string {
	return names(slices.DeleteFunc(slices.Clone(Scalings), func(t *ScalingType) bool { return !chosen(t) }))
}

// Kind is the scaling's type. One that is not known computes NaN and nothing else:
// callers that change files ask Known first.
func (s Scaling) Kind() *ScalingType {
	if s.Type == "" {
		return &typeNone
	}
	t, err := ScalingNamed(s.Type)
	if err != nil {
		return unknownType(s.Type)
	}
	return t
}

// Known is an error in words where the type is none of Scalings.
func (s Scaling) Known() error {
	if s.Type == "" {
		return nil
	}
	_, err := ScalingNamed(s.Type)
	return err
}

// IsNone reports whether nothing is scaled.
func (s Scaling) IsNone() bool { return s.Kind() == &typeNone }

// IsCustom reports whether the frequencies are numbers that no formula explains.
func (s Scaling) IsCustom() bool { return s.Kind() == &typeCustom }

// unknownType stands for a word that no type has: it is never taken for plain.
func unknownType(word string) *ScalingType {
	return &ScalingType{Name: word, Title: word, Listed: true, OwnAmplitude: true, NoFurther: fmt.Sprintf("scaling of type %q is not known", word),
		Frequencies: func(_ Rotary, f []float64, _ int) {
			for i := range f {
				f[i] = math.NaN()
			}
		}}
}

// isFormula reports whether the parameters are enough to compute frequencies.
func (s Scaling) isFormula() bool {
	complete := s.Kind().Complete
	return complete != nil && complete(s)
}
