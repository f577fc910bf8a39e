package position

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/internal/ranges"
	"github.com/modelpatch/modelpatch/position/deviation"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// RescaleOptions say how a rotary encoding should turn. Zero values are not
// asked for.
type RescaleOptions struct {
	Base            float64
	Scaling         string // one of ScalingTypes
	Factor          float64
	OriginalLength  int
	LowFreqFactor   float64 // llama3
	HighFreqFactor  float64 // llama3
	BetaFast        float64 // yarn
	BetaSlow        float64 // yarn
	AttentionFactor float64 // amplitude of cos and sin as computed
	NoTruncate      bool    // yarn: bounds are not rounded
	// Length states a length as well. Where no factor is given it is that length over the
	// original one; dynamic is frozen at it.
	Length int
	// ConfiguredLength is the length that the configuration beside a model states, where the
	// model neither states nor bounds one; 0: none.
	ConfiguredLength int
	// MScale and MScaleAllDim give YaRN's amplitude as m(factor, MScale) / m(factor,
	// MScaleAllDim), m as in schemes.YaRNAmplitude; both or none.
	MScale, MScaleAllDim float64
	// ShortFactors and LongFactors are LongRoPE's divisors, one a pair: for inputs
	// up to the original length, and beyond.
	ShortFactors, LongFactors []float64
	// Use takes one of the two lists of LongRoPE that the model has for all lengths:
	// schemes.ListShort or ListLong; "": both stay.
	Use string
	// Layers chooses one of two rotations: LayersGlobal, LayersLocal, or "" for the
	// first where there is one; or layers by number, as 0-11,14.
	Layers string
	// As is the engine whose numbers are written where engines differ: one of schemes.Engines;
	// "": transformers in a graph, llama.cpp in GGUF.
	As string
	// From is the name of the model that base and scaling were taken from, for the
	// plan; see RescaleOptions.Like.
	From string
}

// AttentionScaler is implemented by sites of rotary encodings whose engine may have
// YaRN's amplitude in the scale of its scores (DeepSeek's mscale_all_dim).
type AttentionScaler interface{ ScalesAttention() bool }

// Misstater is implemented by sites whose file may state a rotation in values that no
// engine takes: stored again, the same rotation is a change.
type Misstater interface{ Misstated() bool }

// ScalingTypes are the words of RescaleOptions.Scaling.
func ScalingTypes() []string {
	return schemes.ScalingNames(func(t *schemes.ScalingType) bool { return t.Settable })
}

// Rescale changes base and scaling of the model's rotary encodings: those of
// layers that see everything, or where there are none, those that slide.
func Rescale(m Model, o RescaleOptions) (_ Outcome, err error) {
	defer Caught(&err)
	if err := o.check(); err != nil {
		return Outcome{}, err
	}
	d := m.Describe()
	if err := cmp.Or(needsModel(d), whole(m)); err != nil {
		return Outcome{}, err
	}
	chosen, parts, err := o.rotations(m)
	if err != nil {
		return Outcome{}, err
	}
	global := chosen
	if o.byNumber() {
		global = nil
	}
	if err := cmp.Or(o.unread(m, chosen), oneGlobal(m, global), o.ignored(m)); err != nil {
		return Outcome{}, err
	}
	if o.NoTruncate, err = o.computing().byEngine(d); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	for _, i := range chosen {
		if err := o.applyTo(m, i, parts[i], d, &out); err != nil {
			return Outcome{}, err
		}
	}
	if len(out.Changes) > 0 {
		out.note(o.computing().whose(d))
	}
	var others *Refusal
	if o.Layers != "" {
		others = &Refusal{Why: "layers that were not named read the same keys, and the engine has none for one kind of them", Instead: "leave --layers out: both change"}
	}
	if _, err := out.follow(m, others); err != nil {
		return Outcome{}, err
	} else if err := o.state(m, d, &out); err != nil {
		return Outcome{}, err
	}
	return finished(m, out, o.already())
}

// computing is the scaling and whose numbers are written.
func (o RescaleOptions) computing() computing { return computing{o.As, o.Scaling, o.NoTruncate} }

// check looks at the options alone.
func (o RescaleOptions) check() error {
	wrong := func(format string, args ...any) error { return &UsageError{What: fmt.Sprintf(format, args...)} }
	given := o.Parameters()
	for _, p := range slices.Concat(schemes.ScalingNumbers, []schemes.Parameter{
		{Name: "mscale", Get: func(schemes.Scaling) float64 { return o.MScale }}, {Name: "mscale-all-dim", Get: func(schemes.Scaling) float64 { return o.MScaleAllDim }}}) {
		if v := p.Get(given); p.Name != schemes.ParameterOriginalLength.Name && (!(v >= 0) || v > math.MaxFloat32) {
			return wrong("--%s %g: it must be above 0 and at most %.3g, the greatest number of float32", p.Name, v, math.MaxFloat32)
		}
	}
	scaling := schemes.Scaling{Type: o.Scaling}.Kind()
	switch {
	case o.Base == 0 && o.Scaling == "":
		return wrong("nothing asked for: a base or a scaling is needed")
	case o.Base != 0 && (!(o.Base > 1) || o.Base > math.MaxFloat32):
		return wrong("--base %g: it must be above 1 and at most %.3g, the greatest number of float32", o.Base, math.MaxFloat32)
	case o.Scaling != "" && !slices.Contains(ScalingTypes(), o.Scaling):
		return wrong("no scaling %q: there are %s", o.Scaling, strings.Join(ScalingTypes(), ", "))
	case o.Use != "":
		return cmp.Or(o.checkUse(scaling), o.checkLayers())
	case scaling.Listed && len(o.ShortFactors)+len(o.LongFactors) == 0:
		return o.checkLists(scaling)
	case scaling.NeedsFactor && o.Factor == 0 && !o.determinesFactor(scaling):
		return &UsageError{What: fmt.Sprintf("scaling %s needs a factor", o.Scaling), Hint: "--factor S, or --len N: by how much the original length grows, or how far it is to reach"}
	case o.Factor != 0 && !scaling.NeedsFactor:
		what := "a factor needs a scaling"
		if o.Scaling != "" {
			what = "--factor: scaling " + o.Scaling + " has none"
		}
		return wrong("%s; those with a factor are %s", what, strings.Join(schemes.ScalingNames(func(t *schemes.ScalingType) bool { return t.Settable && t.NeedsFactor }), ", "))
	case o.Factor != 0 && !(o.Factor >= 1):
		return wrong("a factor of %g: it must be at least 1; fewer positions need no scaling", o.Factor)
	case o.OriginalLength < 0 || o.Length < 0 || int64(o.OriginalLength) > MaxLength || int64(o.Length) > MaxLength:
		return wrong("a length must be between 1 and %d", MaxLength)
	}
	return cmp.Or(o.checkBounds(scaling), o.checkAmplitude(scaling), o.checkLists(scaling), o.checkLayers(), o.computing().checkEngine(scaling))
}

// checkUse looks at the list that is to be used; the model has all that belongs to it.
func (o RescaleOptions) checkUse(t *schemes.ScalingType) error {
	only := RescaleOptions{Use: o.Use, Scaling: o.Scaling, Length: o.Length, ConfiguredLength: o.ConfiguredLength, Layers: o.Layers}
	switch {
	case o.Use != schemes.ListShort && o.Use != schemes.ListLong:
		return &UsageError{What: fmt.Sprintf("--use %q: it is %s or %s", o.Use, schemes.ListShort, schemes.ListLong)}
	case !t.Listed:
		return &UsageError{What: "--use: it is for scaling " + schemes.ScalingLongRoPE}
	case !reflect.DeepEqual(o, only):
		return &UsageError{What: "--use takes factors, original length and amplitude as the model has them: only --len and --layers go with it"}
	}
	return nil
}

// using is a rotation with one of its two lists at every length.
func (o RescaleOptions) using(from schemes.Rotary) (schemes.Rotary, error) {
	s, ok := from.Scaling.Using(o.Use)
	switch {
	case ok:
		from.Scaling = s
	case !from.Scaling.Kind().Listed:
		return from, &Refusal{Why: fmt.Sprintf("the model's scaling is %s: it has no two lists to choose from", from.Scaling.Words()), Remedies: []report.Remedy{report.Do("", "gives it two", "scaling", schemes.ScalingLongRoPE, "factors", "FILE")}}
	default:
		return from, &Refusal{Why: "the model holds one list of LongRoPE, which it uses at every length", Remedies: []report.Remedy{report.Do("", "replaces it", "scaling", schemes.ScalingLongRoPE, "factors", "FILE")}}
	}
	return from, nil
}

// checkBounds looks at what lies below what; bounds that are not given are the type's.
func (o RescaleOptions) checkBounds(t *schemes.ScalingType) error {
	fast, slow := o.BetaFast, o.BetaSlow
	low, high := o.LowFreqFactor, o.HighFreqFactor
	if t.Reads(schemes.ParameterBetaFast.Name) {
		fast, slow = cmp.Or(fast, schemes.DefaultBetaFast), cmp.Or(slow, schemes.DefaultBetaSlow)
	}
	for _, p := range t.Parameters {
		switch p.Name {
		case schemes.ParameterLowFreq.Name:
			low = cmp.Or(low, p.Default)
		case schemes.ParameterHighFreq.Name:
			high = cmp.Or(high, p.Default)
		}
	}
	switch {
	case fast != 0 && fast <= slow:
		return &UsageError{What: fmt.Sprintf("--beta-fast %g is not above --beta-slow %g: pairs that turn more than beta-fast times stay, those that turn less than beta-slow times are divided", fast, slow)}
	case high != 0 && low > high:
		return &UsageError{What: fmt.Sprintf("--low-freq-factor %g is above --high-freq-factor %g: frequencies below the first are divided, those above the second stay", low, high)}
	}
	return nil
}

// checkAmplitude looks at the ways to give YaRN's amplitude.
func (o RescaleOptions) checkAmplitude(t *schemes.ScalingType) error {
	switch {
	case o.MScale == 0 && o.MScaleAllDim == 0:
		return nil
	case t.MScale == nil:
		return &UsageError{What: "--mscale, --mscale-all-dim: they are for scaling " + strings.Join(schemes.ScalingNames(func(t *schemes.ScalingType) bool { return t.MScale != nil }), ", ")}
	case o.MScale == 0 || o.MScaleAllDim == 0:
		return &UsageError{What: "--mscale and --mscale-all-dim go together: the amplitude is the quotient of what both give, and one alone is not read"}
	case o.AttentionFactor != 0:
		return &UsageError{What: "--attention-factor is the amplitude itself: it cannot go with --mscale and --mscale-all-dim"}
	}
	return nil
}

// checkLists looks at LongRoPE's factors.
func (o RescaleOptions) checkLists(t *schemes.ScalingType) error {
	listed := func(t *schemes.ScalingType) bool { return t.Settable && t.Listed }
	switch given := len(o.ShortFactors) > 0 || len(o.LongFactors) > 0; {
	case given && !listed(t):
		return &UsageError{What: "--factors: they are for scaling " + strings.Join(schemes.ScalingNames(listed), ", ")}
	case listed(t) && (len(o.ShortFactors) == 0 || len(o.LongFactors) == 0):
		return &UsageError{What: "scaling " + o.Scaling + " needs --factors FILE, JSON with short_factor and long_factor: they are trained, no formula gives them"}
	case t.Freezes() && o.Scaling != "" && o.Length == 0:
		return &UsageError{What: "scaling " + o.Scaling + " needs --len: it gives another base for each length, and the file will have that of one"}
	}
	for _, list := range [][]float64{o.ShortFactors, o.LongFactors} {
		for i, f := range list {
			if !(f > 0) || f > math.MaxFloat32 {
				return &UsageError{What: fmt.Sprintf("factor %d of a list is %g: it must be above 0", i, f)}
			}
		}
	}
	return nil
}

func (o RescaleOptions) checkLayers() error {
	switch o.Layers {
	case "", LayersGlobal, LayersLocal:
		return nil
	}
	_, err := layerSet(o.Layers)
	return err
}

// rotations picks the sites to change: globals, or those that were asked for.
// parts are the layers of those of which others stay.
func (o RescaleOptions) rotations(m Model) (chosen []int, parts map[int][]int, err error) {
	full, sliding := split(m)
	layers := "of attentions that see everything"
	chosen = globals(m)
	both := slices.Sorted(slices.Values(slices.Concat(full, sliding)))
	if o.byNumber() && both != nil {
		wanted, err := layerSet(o.Layers)
		if err != nil {
			return nil, nil, err
		}
		return ofLayers(m, both, wanted)
	}
	switch o.Layers {
	case LayersGlobal:
		chosen = full
	case LayersLocal:
		chosen, layers = sliding, "of layers with a sliding window alone"
	}
	switch {
	case len(full)+len(sliding) == 0:
		return nil, nil, &Refusal{Why: "the model has no rotary encoding that could be changed", Instead: "inspect says what it has"}
	case slices.ContainsFunc(chosen, func(i int) bool { r, _ := m.Sites()[i].Encoding().Scheme.(schemes.Rotary); return r.Given }):
		return nil, nil, &Refusal{Why: "the caller gives cosines and sines: the file holds no base and no scaling", Instead: "give the model those of the wanted frequencies"}
	case chosen == nil:
		return nil, nil, &Refusal{Why: "the model has no rotation " + layers, Instead: "without --layers the one rotation that it has is changed"}
	}
	return chosen, nil, nil
}

// ignored refuses unrounded bounds for one of two rotations of a graph: transformers 5
// reads truncate outside the settings of a kind of layers, and rounds whatever these
// say (facts/NUMERICS §4).
func (o RescaleOptions) ignored(m Model) error {
	full, sliding := split(m)
	if !o.NoTruncate || o.As == schemes.EngineORTGenAI || m.Describe().Format != FormatONNX || full == nil || sliding == nil {
		return nil
	}
	return &Refusal{Why: "the model has a rotation for each kind of its layers, and transformers rounds the bounds of YaRN's ramp then, whatever the configuration says of truncate: frequencies of unrounded bounds would be those of no such configuration",
		Instead: "leave --truncate=false out", Remedies: []report.Remedy{report.Do("", "writes unrounded bounds all the same, as that program computes them", "as", schemes.EngineORTGenAI)}}
}

// byNumber reports whether layers were given by number.
func (o RescaleOptions) byNumber() bool {
	return !slices.Contains([]string{"", LayersGlobal, LayersLocal}, o.Layers)
}

// oneGlobal refuses to take two rotations of a graph for global ones that turn
// with different bases: models have those for layers that slide and layers that
// do not, and which is which would show in their masks alone.
func oneGlobal(m Model, chosen []int) error {
	if m.Describe().Format != FormatONNX {
		return nil // where an architecture says which layers slide
	}
	var said []string
	bases := map[float64]bool{}
	for _, i := range chosen {
		e := m.Sites()[i].Encoding()
		base := e.Scheme.(schemes.Rotary).Base
		if base == 0 || e.IsGrid() || bases[base] {
			continue
		}
		bases[base] = true
		where := ID(i)
		if len(e.Where) > 0 {
			where = cmp.Or(e.Where[0].Node, e.Where[0].Tensor, where)
		}
		said = append(said, fmt.Sprintf("base %.7g at %s", base, where))
	}
	if len(said) < 2 {
		return nil
	}
	return &Refusal{Why: "the model has rotations of different bases, and it cannot be told which one is global: " + strings.Join(said, ", "),
		Instead: "export the model so that its masks show the sliding window (with a free length, or a longer one)"}
}

// applyTo changes one site, or the given layers of it.
func (o RescaleOptions) applyTo(m Model, i int, layers []int, d report.Inspect, out *Outcome) error {
	before := len(out.Becomes)
	if err := o.apply(m, i, layers, d, out); err != nil || len(out.Becomes) == before {
		return err
	}
	which := kindOfLayers(m, i)
	if layers != nil {
		out.Becomes[before].Split, which = true, " in layers "+ranges.Text(layers)
	}
	out.Changes[len(out.Changes)-1].What += which
	return nil
}

// apply changes one site.
func (o RescaleOptions) apply(m Model, i int, layers []int, d report.Inspect, out *Outcome) error {
	s := m.Sites()[i]
	from := s.Encoding().Scheme.(schemes.Rotary)
	capacity := s.Encoding().Capacity
	o, err := o.settled(from, d, capacity)
	if err != nil {
		return err
	}
	to, err := o.scheme(from)
	if err != nil {
		return err
	}
	if m, ok := s.(Misstater); to.Equal(from) && !(ok && o.Scaling != "" && m.Misstated()) {
		return nil
	}
	assumed, err := o.assumed(from)
	if err != nil {
		return err
	}
	if err := cmp.Or(o.computing().builds(to), computable(to)); err != nil {
		return err
	}
	if err := o.scales(s, d, out); err != nil {
		return err
	}
	positions := 0
	if capacity > 0 {
		positions = max(capacity, o.Length)
	}
	if layers != nil {
		if positions > capacity {
			return &Refusal{Why: "a table that some layers keep as it is cannot become longer for the others", Instead: "extend first, and then rope --layers"}
		}
		if err := s.(Splitter).Split(layers); err != nil {
			return err
		}
	}
	want := Want{Scheme: to, Positions: positions, Anew: o.Scaling != ""}
	if err := s.Store(want); err != nil {
		return err
	}
	what := from.Becoming(stored(s, to))
	if o.Use != "" {
		what += fmt.Sprintf(": the %s factors at every length", o.Use)
	}
	expect := report.ExpectChanged
	if n := d.Length.Stated; stored(s, to).Equal(from) || o.Use == schemes.ListShort && d.Format == FormatGGUF && n != nil && deviation.LoadedContext(*n) <= from.Scaling.OriginalLength {
		expect = report.ExpectSame // the stated length does not reach the other list
	}
	out.decide(m, i, want, what, expect)
	out.note(assumed)
	then := d
	if o.Length > 0 {
		then.Length.Stated = &o.Length
	}
	out.note(deviation.Chosen(to, then))
	if d.Format == FormatONNX && o.Use == "" && o.Scaling != "" && o.Base == 0 && from.Scaling.Kind().Listed {
		out.note(fmt.Sprintf("the base is taken to be %s, unless it is given: a list of divisors tells none", schemes.Text(from.Base)))
	}
	asked := deviation.Asked{Factor: o.Factor, Length: o.Length, Original: o.OriginalLength, Capacity: capacity}
	out.note(asked.Capped(from, to, d, MaxLength))
	out.deviates(s, stored(s, to), d)
	if o.Scaling != "" {
		out.note(to.Scaling.Unprecedented(), asked.Doubts(from, to, d)...)
	}
	if t := (schemes.Scaling{Type: o.Scaling}).Kind(); o.Scaling != "" && t.Freezes() {
		out.note(fmt.Sprintf("%s is frozen at %d positions, as base %s: shorter and longer inputs turn by that as well", t.Title, o.Length, schemes.Text(to.Base)))
	}
	return nil
}

// computable refuses a rotation whose numbers no engine has in float32: what the options ask for and what
// the file states may go together badly.
func computable(to schemes.Rotary) error {
	t := to.Scaling.Kind()
	if t.Settable && t.Reads(schemes.ParameterOriginalLength.Name) && to.Scaling.OriginalLength <= 0 {
		return &Refusal{Why: t.Title + " without a length that the model was trained with", Remedies: []report.Remedy{report.Do("rope", "states one", "scaling", "TYPE", "factor", "S", "original-length", "L")}}
	}
	return turns(to)
}

// scheme is the rotation asked for.
func (o RescaleOptions) scheme(from schemes.Rotary) (schemes.Rotary, error) {
	switch {
	case o.Use != "":
		return o.using(from)
	case o.Scaling == "":
		return o.rebase(from)
	}
	to := from
	switch {
	case o.Base != 0:
		to.Base, to.BaseAssumed = o.Base, false
	case from.BaseAssumed:
		return from, unknownBase(report.Do("", "says which", "base", "B", "scaling", o.Scaling))
	default:
		to = from.Rebased() // what comes now comes on top of that
	}
	return o.scaled(to)
}

// determinesFactor reports whether the factor follows from what else is asked for, once the original
// length is known.
func (o RescaleOptions) determinesFactor(t *schemes.ScalingType) bool {
	return o.Length > 0 && !t.Freezes() || o.AttentionFactor > 0 && t.FactorOf != nil
}

// settled has the original length and the factor that follow from the rest, for one rotation.
func (o RescaleOptions) settled(from schemes.Rotary, d report.Inspect, capacity int) (RescaleOptions, error) {
	if o.Scaling == "" || o.Use != "" {
		return o, nil
	}
	t := schemes.Scaling{Type: o.Scaling}.Kind()
	if o.OriginalLength == 0 {
		stated := o.ConfiguredLength
		if d.Length.Stated != nil {
			stated = *d.Length.Stated
		}
		o.OriginalLength = from.Scaling.TrainedLength(capacity, stated)
	}
	if claimed := o.OriginalLength; int64(claimed) > MaxLength {
		if o.OriginalLength = 0; t.Reads(schemes.ParameterOriginalLength.Name) {
			return o, &Refusal{Why: fmt.Sprintf("the file states an original length of %d, more than engines count: with which length the model was trained is not known", claimed),
				Remedies: []report.Remedy{report.Do("", "says it", "original-length", "L")}}
		}
	}
	switch original := o.OriginalLength; {
	case o.Factor != 0 || !t.NeedsFactor:
	case original == 0:
		return o, &Refusal{Why: "nothing says with which length the model was trained, so that no factor can be worked out",
			Remedies: []report.Remedy{report.Do("", "is the length that it was trained with", "original-length", "L"), report.Do("", "says the factor itself", "factor", "S")}}
	case o.Length == 0:
		o.Factor = t.FactorOf(o.AttentionFactor, original)
	case o.Length < original:
		return o, &UsageError{What: fmt.Sprintf("a length of %d, and the model was trained with %d: fewer positions need no scaling", o.Length, original)}
	default:
		o.Factor = float64(o.Length) / float64(original)
	}
	return o, nil
}

// unknownBase refuses to scale frequencies that no formula gives: what they were before is not known.
func unknownBase(instead ...report.Remedy) error {
	return &Refusal{Why: "the frequencies follow no formula: from which base they come is not known", Remedies: instead}
}

// scaled is a rotation with the scaling asked for.
func (o RescaleOptions) scaled(to schemes.Rotary) (schemes.Rotary, error) {
	asked, t := o.Parameters(), schemes.Scaling{Type: o.Scaling}.Kind()
	if o.MScaleAllDim > 0 {
		asked.AttentionFactor = t.MScale(o.Factor, o.MScale) / t.MScale(o.Factor, o.MScaleAllDim)
	}
	to = to.WithScaling(t.With(asked))
	if t.Listed {
		for _, list := range [][]float64{o.ShortFactors, o.LongFactors} {
			if len(list) != to.Pairs() {
				return to, &UsageError{What: fmt.Sprintf("a list of %d factors: the model turns %d pairs, and each has one", len(list), to.Pairs())}
			}
		}
		to.Scaling.ShortFactor, to.Scaling.LongFactor = o.ShortFactors, o.LongFactors
	}
	for _, p := range t.Parameters {
		if p.Needed && p.Get(to.Scaling) == 0 {
			return to, &Refusal{Why: fmt.Sprintf("scaling %s needs the %s: the file does not tell with which length the model was trained", o.Scaling, strings.ReplaceAll(p.Name, "-", " ")),
				Remedies: []report.Remedy{report.Do("", "is the length that it was trained with", p.Name, "L")}}
		}
	}
	if t.Freezes() {
		base := t.Base(to, o.Length)
		to = to.WithScaling(schemes.Scaling{AttentionFactor: o.AttentionFactor})
		to.Base = base
	}
	return to.Rebased(), nil
}

// scales says what becomes of DeepSeek's mscale_all_dim, which is in the amplitude
// of cosines and sines and, in its own code, in the scale of the scores as well.
func (o RescaleOptions) scales(s Site, d report.Inspect, out *Outcome) error {
	if o.MScaleAllDim == 0 {
		return nil
	}
	a, ok := s.(AttentionScaler)
	m := schemes.Scaling{Type: o.Scaling}.Kind().MScale
	switch {
	case ok && a.ScalesAttention():
		return &Refusal{Why: "llama.cpp has YaRN's amplitude in the scale of this architecture's scores, and no key for an mscale other than 1",
			Remedies: []report.Remedy{report.Do("", "without mscale is DeepSeek's own recipe, mscale and mscale_all_dim 1", "scaling", "yarn", "factor", schemes.Text(o.Factor))}}
	case d.Format == FormatONNX:
		out.note(fmt.Sprintf("cos and sin have the amplitude %s; the scale of the scores stays, which DeepSeek's own code multiplies by %s² for this mscale_all_dim",
			schemes.Text(m(o.Factor, o.MScale)/m(o.Factor, o.MScaleAllDim)), schemes.Text(m(o.Factor, o.MScaleAllDim))))
	}
	return nil
}

// state sets the stated length when it was asked for.
func (o RescaleOptions) state(m Model, d report.Inspect, out *Outcome) error {
	if o.Length == 0 {
		return nil
	}
	for i, s := range m.Sites() {
		e := s.Encoding()
		if _, rotary := e.Scheme.(schemes.Rotary); !rotary && e.Capacity > 0 && e.Capacity < o.Length {
			return &Refusal{Why: fmt.Sprintf("encoding %s ends at %d positions", ID(i), e.Capacity), Remedies: []report.Remedy{report.Do("extend", "", "len", strconv.Itoa(o.Length))}}
		}
	}
	old := 0
	if d.Length.Stated != nil {
		old = *d.Length.Stated
	} else if d.Format == FormatONNX && !slices.ContainsFunc(m.Sites(), func(s Site) bool { return s.Encoding().Capacity > 0 }) {
		if t := (schemes.Scaling{Type: o.Scaling}).Kind(); o.ConfiguredLength > 0 || t.NeedsFactor && (t.Freezes() || o.Factor == 0) {
			return nil // the configuration states it, or the rotation follows from it
		}
		out.note(fmt.Sprintf("nothing in the graph states a length: %d stands nowhere in the new file", o.Length))
		return nil
	}
	if old == o.Length {
		return nil
	}
	if err := m.SetLength(old, o.Length); err != nil {
		return err
	}
	out.Changes = append(out.Changes, report.Change{What: report.LengthBecomes(d.Length.Stated, 0, o.Length), Expect: report.ExpectSameOnPrefix})
	return nil
}

// already says what the model has that was asked for.
func (o RescaleOptions) already() string {
	switch {
	case o.Scaling == "":
		return "the model already has this RoPE base"
	case o.Base == 0:
		return "the model already has this RoPE scaling"
	}
	return "the model already has this RoPE base and scaling"
}
