package picture

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// mostPairs bounds the pairs that a picture is made of; models have 16 to 256.
const mostPairs = 1 << 14

// rotation draws RoPE: the wavelength of each pair against the lengths that
// count, and what scaling made of it.
func rotation(group []subject) (f figure.Figure, ok bool, err error) {
	waves := figure.Panel{Title: "wavelength of each pair", X: figure.Axis{Label: "pair", Whole: true}, Y: figure.Axis{Label: "positions for a whole turn", Scale: figure.Log10}}
	stretch := figure.Panel{Title: "how much longer than without scaling", X: waves.X, Y: figure.Axis{Label: "ratio"}}
	for _, s := range group {
		r := s.encoding.Scheme.(schemes.Rotary)
		if r.Pairs() <= 0 || r.Pairs() > mostPairs {
			return f, false, nil
		}
		if err := addRotation(&f, &waves, &stretch, s, r, len(group) == 1); err != nil {
			return f, false, err
		}
	}
	addLengths(&waves, group)
	f.Title = title(group)
	fit(&f, &waves)
	fit(&f, &stretch)
	if len(group) == 2 {
		a, b := group[0].encoding.Scheme.(schemes.Rotary), group[1].encoding.Scheme.(schemes.Rotary)
		f.Differs = a.Pairs() != b.Pairs()
		q := quotient(group)
		q.Bands = slices.DeleteFunc(slices.Clone(waves.Bands), func(b figure.Band) bool { return !b.Vertical })
		f.Panels = append(f.Panels, q)
	}
	f.Panels = append(f.Panels, waves)
	if len(group) == 1 && len(stretch.Series) > 0 {
		stretch.Y.Min, stretch.Y.Max = stretchRange(stretch)
		f.Panels = append(f.Panels, stretch)
	}
	f.Description = describeRotation(f, group)
	return f, true, nil
}

// stretchRange is an axis from 1, or a little below where a divisor is less.
func stretchRange(p figure.Panel) (low, high float64) {
	low, high, _ = p.Range()
	low, high = min(low, 1), max(high, 1)
	if low == high {
		return 0.5, 1.5
	}
	room := (high - low) / 20
	if low < 1 {
		low -= room
	}
	return low, high + room
}

// curve is one set of frequencies of a rotation.
type curve struct {
	name        string
	style       figure.Style
	frequencies []float64
}

// addRotation adds one model's rotation to the panels; alone tells that no
// other is drawn beside it.
func addRotation(f *figure.Figure, waves, stretch *figure.Panel, s subject, r schemes.Rotary, alone bool) error {
	plain := r.PlainFrequencies()
	for _, c := range curves(s, r, alone) {
		w := figure.Series{Name: label(s, c.name), Style: c.style}
		d := figure.Series{Name: label(s, c.name), Style: c.style}
		for _, i := range figure.Columns(len(c.frequencies), figure.MaxColumns) {
			w.X, w.Y = append(w.X, float64(i)), append(w.Y, wavelength(c.frequencies[i]))
			if i < len(plain) && !r.BaseAssumed {
				d.X, d.Y = append(d.X, float64(i)), append(d.Y, ratio(plain[i], c.frequencies[i]))
			}
		}
		waves.Series = append(waves.Series, w)
		if !r.BaseAssumed && !r.Scaling.IsNone() {
			stretch.Series = append(stretch.Series, d)
		}
	}
	if alone && !r.Scaling.IsNone() && !r.BaseAssumed {
		c := figure.Series{Name: unscaled, Style: figure.Dashed}
		for _, i := range figure.Columns(len(plain), figure.MaxColumns) {
			c.X, c.Y = append(c.X, float64(i)), append(c.Y, wavelength(plain[i]))
		}
		waves.Series = append(waves.Series, c)
	}
	addRamp(waves, stretch, s, r)
	f.Subtitle = joined(f.Subtitle, label(s, r.String()), "; ")
	var still []int
	for i, frequency := range r.InverseFrequenciesAt(s.length(r.Scaling.OriginalLength)) {
		if math.IsNaN(wavelength(frequency)) {
			still = append(still, i)
		}
	}
	for i, run := range runs(still) {
		if i < mostBands {
			waves.Bands = append(waves.Bands, figure.Band{Name: label(s, doNotTurn(run)), From: float64(run[0]) - 0.5, To: float64(run[len(run)-1]) + 0.5, Vertical: true})
		}
	}
	if len(still) > 0 {
		f.Notes = append(f.Notes, label(s, doNotTurn(still)))
	}
	low, high, ok, err := amplitudes(s, r)
	if err != nil {
		return err
	}
	switch {
	case ok && high-low > 1e-3*high:
		f.Notes = append(f.Notes, label(s, fmt.Sprintf("cosines and sines of the file are multiplied by %s to %s, differently from pair to pair", figure.Number(low), figure.Number(high))))
	case ok && math.Abs(high-1) > 1e-4:
		f.Notes = append(f.Notes, label(s, fmt.Sprintf("cosines and sines are multiplied by %s, scores by its square, %s", figure.Number(high), figure.Number(high*high))))
	}
	for _, says := range []string{departs(s, r), computedBy(r.Scaling.Kind())} {
		if says != "" {
			f.Notes = append(f.Notes, label(s, says))
		}
	}
	return nil
}

// unscaled names the frequencies of the base alone.
const unscaled = "without scaling"

// curves are the frequencies that are drawn of a rotation: those of the file,
// by length where they depend on it, and those of other engines where they
// differ (facts of [schemes.Engines]).
func curves(s subject, r schemes.Rotary, alone bool) []curve {
	here := ""
	if s.name == "" {
		here = "this file"
	}
	t := r.Scaling.Kind()
	original := r.Scaling.OriginalLength
	if t.ByLength && original > 0 {
		beyond := max(s.length(2*original), 2*original)
		return []curve{
			{fmt.Sprintf("up to %d positions", original), figure.Line, r.InverseFrequenciesAt(original)},
			{fmt.Sprintf("at %d positions", beyond), figure.Line, r.InverseFrequenciesAt(beyond)},
		}
	}
	out := []curve{{here, figure.Line, r.InverseFrequenciesAt(s.length(original))}}
	if !alone || r.Scaling.Frequencies != nil {
		return out
	}
	if t.Reads(schemes.ParameterNoTruncate.Name) && t.Complete(r.Scaling) {
		other := r
		other.Scaling.NoTruncate = !r.Scaling.NoTruncate
		name := "ramp not rounded (" + schemes.EngineORTGenAI + ")"
		if r.Scaling.NoTruncate {
			name = "ramp rounded (" + schemes.EngineLlamaCpp + " always)"
		}
		if g := other.InverseFrequencies(); differ(g, out[0].frequencies) {
			out = append(out, curve{name, figure.Dashed, g})
		}
	}
	return out
}

// differ reports whether two lists of frequencies differ by more than rounding.
func differ(a, b []float64) bool {
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-6*math.Abs(a[i]) {
			return true
		}
	}
	return false
}

// mostBands bounds the groups of pairs that are marked.
const mostBands = 4

// endless is a wavelength of which a pair turns by nothing that a number could tell, at the farthest position
// that engines count to, 2³¹.
const endless = 1e16

// wavelength is how many positions a whole turn takes; NaN for a pair that
// stands still, which is left out.
func wavelength(frequency float64) float64 {
	w := 2 * math.Pi / math.Abs(frequency)
	if w > endless {
		return math.NaN()
	}
	return w
}

// doNotTurn says which pairs stand still.
func doNotTurn(pairs []int) string {
	if len(pairs) == 1 {
		return fmt.Sprintf("pair %d does not turn", pairs[0])
	}
	return "pairs " + ranges(pairs) + " do not turn"
}

// ratio is how many times longer a turn takes at one frequency than at another, NaN where
// one stands still.
func ratio(from, to float64) float64 { return wavelength(to) / wavelength(from) }

// addLengths adds the lengths that wavelengths are held against, each once with all that is of it.
func addLengths(p *figure.Panel, group []subject) {
	kinds := []struct {
		name string
		of   func(subject) int
	}{
		{"original", func(s subject) int { return s.encoding.Scheme.(schemes.Rotary).Scaling.OriginalLength }},
		{"stated", func(s subject) int {
			if n := s.report.Length.Stated; n != nil {
				return *n
			}
			return 0
		}},
		{"encoded", func(s subject) int { return s.encoding.Capacity }},
	}
	words, owned := map[int][]string{}, map[int]bool{} // by length
	for _, kind := range kinds {
		owners := map[int][]string{}
		for _, s := range group {
			if n := kind.of(s); n > 0 {
				owners[n] = append(owners[n], short(s.name))
			}
		}
		for n, names := range owners {
			word := kind.name
			if len(names) < len(group) {
				word, owned[n] = word+" of "+names[0], true
			}
			words[n] = append(words[n], word)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(words)) {
		name := fmt.Sprintf("%s length %d", strings.Join(words[n], " and "), n)
		if owned[n] {
			name = fmt.Sprintf("length %d: %s", n, strings.Join(words[n], ", "))
		}
		p.Rules = append(p.Rules, figure.Rule{Name: name, At: float64(n)})
	}
}

// addRamp adds the pairs between which YaRN goes over from kept to divided
// frequencies, and the wavelengths between which Llama 3 does.
func addRamp(waves, stretch *figure.Panel, s subject, r schemes.Rotary) {
	t := r.Scaling.Kind()
	if r.Scaling.OriginalLength <= 0 {
		return
	}
	if t.RampPairs != nil {
		low, high := t.RampPairs(r)
		if high = min(high, float64(r.Pairs()-1)); low < high {
			b := figure.Band{Name: label(s, fmt.Sprintf("ramp from pair %s to %s", figure.Number(low), figure.Number(high))), From: low, To: high, Vertical: true}
			waves.Bands, stretch.Bands = append(waves.Bands, b), append(stretch.Bands, b)
		}
	}
	if t.RampWaves != nil {
		if low, high := t.RampWaves(r); low > 0 && low < high && !math.IsInf(high, 0) {
			waves.Bands = append(waves.Bands, figure.Band{Name: label(s, fmt.Sprintf("ramp between wavelengths %s and %s", figure.Number(low), figure.Number(high))), From: low, To: high})
		}
	}
}

// amplitudes are the least and greatest length of a turned unit vector, as the
// file computes them at a position; ok is false where the site does not say.
func amplitudes(s subject, r schemes.Rotary) (low, high float64, ok bool, err error) {
	cos, sin, ok, err := turned(s, r)
	if !ok || err != nil {
		return 0, 0, false, err
	}
	low, high = math.Inf(1), math.Inf(-1)
	for i := range cos {
		a := math.Hypot(cos[i], sin[i])
		low, high = min(low, a), max(high, a)
	}
	return low, high, true, nil
}

// turned is what the file computes at position 1.
func turned(s subject, r schemes.Rotary) (cos, sin []float64, ok bool, err error) {
	t, is := s.site.(position.Rotator)
	if !is || s.encoding.Capacity == 1 || s.encoding.Rows == 1 {
		return nil, nil, false, nil
	}
	cos, sin = make([]float64, r.Pairs()), make([]float64, r.Pairs())
	if err := t.Rotation(1, s.length(max(r.Scaling.OriginalLength, 2)), cos, sin); err != nil {
		return nil, nil, false, err
	}
	return cos, sin, true, nil
}

// departs tells of the pair whose angle in the file is farthest from that of
// the formula, where it is farther than storage types round; "" where none is.
func departs(s subject, r schemes.Rotary) string {
	cos, sin, ok, err := turned(s, r)
	if !ok || err != nil {
		return ""
	}
	const allowed = 4e-3 // of a turn's radian: bfloat16 keeps 8 bits
	f := r.InverseFrequenciesAt(s.length(max(r.Scaling.OriginalLength, 2)))
	worst, at := 0.0, 0
	axes := r.Still()
	for i := range min(len(f), len(cos)) {
		if i < len(axes) && axes[i] {
			continue
		}
		if d := math.Abs(math.Remainder(math.Atan2(sin[i], cos[i])-f[i], 2*math.Pi)); d > worst {
			worst, at = d, i
		}
	}
	if worst <= allowed {
		return ""
	}
	return fmt.Sprintf("pair %d of the file turns by %s at position 1 and by %s in the formula that is drawn", at,
		figure.Number(math.Atan2(sin[at], cos[at])), figure.Number(f[at]))
}

// computedBy says what engines make of a type of scaling where they differ: whether they
// compute it, round its bounds, by what they choose between its lists ([schemes.Engines], position.RescaleOptions.As).
func computedBy(t *schemes.ScalingType) string {
	switch {
	case t.Reads(schemes.ParameterNoTruncate.Name):
		return fmt.Sprintf("%s rounds the bounds of the ramp to whole pairs, %s does unless truncate is false, %s never does", schemes.EngineLlamaCpp, schemes.EngineTransformers, schemes.EngineORTGenAI)
	case t.Listed && t.ByLength:
		return fmt.Sprintf("%s chooses between the two by the greatest position, %s by the size of the context that it was started with", schemes.EngineTransformers, schemes.EngineLlamaCpp)
	case t.Engines != nil && len(t.Engines) == 0:
		return "no engine computes " + t.Title + " by itself: a file holds its numbers"
	case t.Engines != nil:
		return fmt.Sprintf("of the engines %s computes %s: others need its numbers as tables or divisors", strings.Join(t.Engines, ", "), t.Title)
	}
	return ""
}

// quotient is the difference of two rotations: wavelengths of the second over
// those of the first.
func quotient(group []subject) figure.Panel {
	a, b := group[0].encoding.Scheme.(schemes.Rotary), group[1].encoding.Scheme.(schemes.Rotary)
	p := figure.Panel{Title: "difference: wavelength of the second over that of the first", Difference: true, X: figure.Axis{Label: "pair", Whole: true}, Y: figure.Axis{Label: "ratio"}}
	f, g := a.InverseFrequenciesAt(group[0].length(a.Scaling.OriginalLength)), b.InverseFrequenciesAt(group[1].length(b.Scaling.OriginalLength))
	s := figure.Series{Name: "second over first"}
	for _, i := range figure.Columns(min(len(f), len(g)), figure.MaxColumns) {
		v := ratio(f[i], g[i])
		if math.IsNaN(wavelength(f[i])) && math.IsNaN(wavelength(g[i])) {
			v = 1 // neither turns
		}
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, v)
	}
	p.Series = []figure.Series{s}
	p.Y.Min, p.Y.Max = stretchRange(p)
	return p
}

// describeRotation says the picture in words.
func describeRotation(f figure.Figure, group []subject) string {
	var parts []string
	for _, s := range group {
		r := s.encoding.Scheme.(schemes.Rotary)
		g := r.InverseFrequenciesAt(s.length(r.Scaling.OriginalLength))
		first, last := wavelength(g[0]), wavelength(g[len(g)-1])
		longer := 0
		n := max(s.length(0), r.Scaling.OriginalLength)
		for _, w := range g {
			if n > 0 && !(wavelength(w) <= float64(n)) {
				longer++
			}
		}
		says := fmt.Sprintf("%d pairs, from %s positions for a whole turn at pair 0 to %s at pair %d", len(g), figure.Number(first), figure.Number(last), len(g)-1)
		if n > 0 {
			says += fmt.Sprintf("; %d of them never turn once within %d positions", longer, n)
		}
		parts = append(parts, label(s, says))
	}
	return "Wavelengths on a logarithmic axis. " + strings.Join(parts, ". ") + "."
}

// joined joins texts that are not empty.
func joined(a, b, by string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + by + b
}
