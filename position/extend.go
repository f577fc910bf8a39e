package position

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// MethodNone states another length and changes no encoding.
const MethodNone = "none"

// RopeMethods are the words of ExtendOptions.Method for rotary encodings.
// Those for learned tables are schemes.GrowMethods.
func RopeMethods() []string {
	others := schemes.ScalingNames(func(t *schemes.ScalingType) bool { return t.Extends && t.Name != defaultMethod })
	return append(append([]string{defaultMethod}, others...), MethodNone)
}

// defaultMethod scales RoPE that an engine computes from keys.
const defaultMethod = schemes.ScalingYaRN

// MaxLength is the largest length: engines count positions in 31 bits.
const MaxLength = math.MaxInt32

// ExtendOptions say how far a model should count, and by which method.
type ExtendOptions struct {
	Length int // 0: as it is, where axes are fixed
	// Fix are free axes of inputs that become numbers.
	Fix []Axis
	// Shorter cuts what lies beyond the length, and makes nothing longer.
	Shorter bool
	// Method is for the encodings that it applies to; the others, and all
	// when it is empty, take their default: repeated rows for learned
	// tables, the same formula for sinusoids and RoPE caches, YaRN for RoPE
	// that an engine computes from keys.
	Method string
	// OriginalLength is the length that the model was trained with, where
	// the file does not tell.
	OriginalLength int
	// ConfiguredLength is the length that the configuration beside a model states
	// (max_position_embeddings), where the model neither states nor bounds one; 0: none.
	ConfiguredLength int
	// Grow are parameters of growing learned tables.
	Grow schemes.GrowOptions
}

// Substituter is implemented by sites that may hold what was asked for in an
// equivalent of their own: what Store stored, in the words of the scheme.
type Substituter interface {
	Stored() schemes.Scheme
}

// Switcher is implemented by sites of which the engine has two, and takes one
// by the length that the file states.
type Switcher interface {
	// Switches reports whether another is taken at the new length.
	Switches(old, new int) bool
}

// Extend makes a model count to another length: every encoding that bounds it holds more positions, RoPE from keys is scaled, and
// the stated length follows.
func Extend(m Model, o ExtendOptions) (out Outcome, err error) {
	defer Caught(&err)
	x := &extension{m: m, o: o, d: m.Describe()}
	if err := x.check(); err != nil {
		return Outcome{}, err
	}
	if n := x.d.Length.Stated; n != nil && (*n < 1 || int64(*n) > MaxLength) {
		x.d.Length.Stated = nil // no length: whatever is asked for takes its place
	}
	if err := whole(m); err != nil {
		return Outcome{}, err
	}
	if o.Length > 0 {
		if x.out, err = x.lengthen(); err != nil {
			return Outcome{}, err
		}
	}
	if len(o.Fix) > 0 {
		if err := x.fix(); err != nil {
			return Outcome{}, err
		}
	}
	return x.out, nil
}

// lengthen does what the length asks for.
func (x *extension) lengthen() (Outcome, error) {
	m := x.m
	if done, err := x.compare(); done || err != nil {
		return x.out, err
	}
	if err := x.unknown(); err != nil {
		return Outcome{}, err
	}
	if x.scales() {
		if err := oneGlobal(m, globals(m)); err != nil {
			return Outcome{}, err
		}
	}
	for i, s := range m.Sites() {
		if err := x.site(i, s); err != nil {
			return Outcome{}, err
		}
	}
	if err := x.unused(); err != nil {
		return Outcome{}, err
	}
	return x.finish()
}

// extension is one run of Extend.
type extension struct {
	m            Model
	o            ExtendOptions
	d            report.Inspect
	present      int  // positions that the model counts now; 0: nothing tells
	ends         int  // where the graph ends before its encodings do; 0: nowhere
	beside       int  // positions that the graph counts beside those of the length: of tokens that it puts before them, or of another input
	counts       int  // positions that the encoding that is looked at is to count
	bounded      bool // a text encoding bounds the length
	cut          bool // the length becomes less
	configured   bool // present is ConfiguredLength: nothing in the file holds it
	used         bool // Method applied to something
	originalUsed bool // OriginalLength did
	reaches      bool // a scaling of RoPE is made for the length already
	out          Outcome
}

// check looks at the options and at the kind of file.
func (x *extension) check() error {
	if x.o.Length < 0 || x.o.Length == 0 && len(x.o.Fix) == 0 || int64(x.o.Length) > MaxLength {
		return &UsageError{What: fmt.Sprintf("a length of %d: it must be between 1 and %d", x.o.Length, MaxLength)}
	}
	if m := x.o.Method; m != "" && !slices.Contains(RopeMethods(), m) && !slices.Contains(schemes.GrowMethods, m) {
		return &UsageError{What: fmt.Sprintf("no method %q: there are %s for tables and %s for RoPE", m, strings.Join(schemes.GrowMethods, ", "), strings.Join(RopeMethods(), ", "))}
	}
	if x.o.Grow.Keep != 0 && x.o.Method != schemes.GrowStretch {
		return &UsageError{What: "keep is for the method " + schemes.GrowStretch}
	}
	if a := x.o.Grow.Anchor; a != "" && (x.o.Method != schemes.GrowHierarchical || !slices.Contains(schemes.Anchors, a)) {
		return &UsageError{What: fmt.Sprintf("--anchor %s: it is for the method %s, and one of %s", a, schemes.GrowHierarchical, strings.Join(schemes.Anchors, ", "))}
	}
	if x.o.OriginalLength < 0 || int64(x.o.OriginalLength) > MaxLength {
		return &UsageError{What: fmt.Sprintf("an original length of %d: it must be between 1 and %d", x.o.OriginalLength, MaxLength)}
	}
	return needsModel(x.d)
}

// needsModel refuses files that have no length of their own.
func needsModel(d report.Inspect) error {
	switch d.Kind {
	case report.KindModel, report.KindVocabulary, report.KindProjector:
		return nil
	case report.KindOther:
		return &Refusal{Why: "the program that reads this file is not known, and with it what its tables of positions are used for", Instead: "change the model in the format of that program, and convert it again"}
	}
	return &Refusal{Why: fmt.Sprintf("this file is of kind %q and has no positions of its own", d.Kind), Instead: "change the model that it belongs to"}
}

// compare sets the wanted length against the present one. done: there is
// nothing to do, and Outcome says why.
func (x *extension) compare() (done bool, err error) {
	grids, enough := 0, true
	for _, s := range x.m.Sites() {
		e := s.Encoding()
		switch {
		case e.Capacity == 0, e.Apart:
		case e.IsGrid():
			grids++
		case e.Form == report.FormBaked && x.d.Length.Stated != nil && x.d.Format == FormatONNX:
			x.bounded, x.present = true, *x.d.Length.Stated // of the input, whatever of it is counted
			enough = enough && x.present >= x.o.Length
		default:
			x.bounded = true
			enough = enough && e.Capacity >= x.o.Length
			x.present = min(cmp.Or(x.present, e.Capacity), e.Capacity)
		}
	}
	traced := 0 // where a graph of no other bound ends, behind the wanted length
	if e, ok := x.m.(Ender); ok {
		n, beside := e.End()
		switch first := n > 0 && (n < x.present || !x.bounded); {
		case beside > 0 && x.bounded:
			x.beside, x.present = beside, n
		case first && x.o.Shorter && n > x.o.Length:
			traced = n
		case first:
			x.ends, enough = n, enough && n >= x.o.Length
			x.out.note(fmt.Sprintf("the graph ended at %d positions, before its encodings: constants that held this length follow", n))
		}
	}
	if grids > 0 && !x.bounded {
		return false, &Refusal{Why: "what bounds this model is a grid of image patches, not a length", Remedies: []report.Remedy{report.Do("extend", "", "image", "SIZE"), report.Do("extend", "", "grid", "HxW")}}
	}
	if stated := x.d.Length.Stated; stated != nil && (x.present == 0 || x.d.Format == FormatONNX) {
		enough = enough && *stated >= x.o.Length
		x.present = min(cmp.Or(x.present, *stated), *stated)
	}
	if x.present == 0 {
		x.present, x.configured = x.o.ConfiguredLength, x.o.ConfiguredLength > 0
	}
	has := map[bool]string{true: "by the configuration beside it the model has", false: "the model has"}[x.configured]
	switch n, present := x.o.Length, cmp.Or(x.ends, x.present, traced); {
	case x.o.Shorter && present == 0 && x.d.Length.Beyond == report.BeyondError:
		return false, &Refusal{Why: "its inputs have one size, and what of it is a length is not known", Instead: "export the model for the wanted size"}
	case x.o.Shorter && n > present:
		x.out.Nothing = map[bool]string{true: "nothing in the file bounds its length", false: fmt.Sprintf("%s %d positions, no more than %d", has, present, n)}[present == 0]
		return true, nil
	case n < present && !x.o.Shorter:
		return false, &Refusal{Why: fmt.Sprintf("%s %d positions, more than %d", has, present, n), Remedies: []report.Remedy{report.Do("", "cuts the others off", "shorter", "")}}
	case n < present && (x.o.Method != "" && x.o.Method != MethodNone || x.o.OriginalLength != 0):
		return false, &UsageError{What: fmt.Sprintf("%d positions are fewer than the %d that there are: they are cut off, by no method and no scaling", n, present)}
	case n < present:
		x.cut = true
	case n == present && enough && (x.d.Length.Stated == nil || *x.d.Length.Stated == n):
		x.out.Nothing = fmt.Sprintf("%s %d positions already", has, n)
		return true, nil
	}
	return false, nil
}

// unknown refuses a model of which it is not known how it encodes positions, nor what happens to more of them. What cannot be
// named and goes on by itself may stay.
func (x *extension) unknown() error {
	for _, s := range x.m.Sites() {
		e := s.Encoding()
		if e.Scheme.Name() != report.SchemeUnknown || e.Capacity > 0 || e.Beyond == report.BeyondContinues {
			continue
		}
		why := "how this model encodes positions is not known"
		if len(e.Evidence) > 0 {
			why += ": " + e.Evidence[0].Says
		}
		return &Refusal{Why: why, Instead: "export the model again for the wanted length"}
	}
	return nil
}

// site decides what one encoding needs.
func (x *extension) site(i int, s Site) error {
	e := s.Encoding()
	x.counts = x.o.Length + x.beside
	r, resizes := s.(DistanceResizer)
	end, ends := x.m.(Ender)
	if stated := x.d.Length.Stated; x.beside == 0 && stated != nil && (resizes && r.Folded() || ends && e.Form == report.FormBaked && e.Capacity > 0 && end.Counted(i) == e.Capacity) { // folded for the input's length
		if x.counts += e.Capacity - *stated; *stated%e.Capacity == 0 {
			x.counts = x.o.Length / (*stated / e.Capacity)
		}
		if x.counts < 1 {
			return &Refusal{Why: fmt.Sprintf("of its %d tokens %d positions are counted, and of %d none would be", *stated, e.Capacity, x.o.Length), Instead: "a greater length, or export the model for the wanted one"}
		}
	}
	rotary, isRotary := e.Scheme.(schemes.Rotary)
	switch {
	case e.IsGrid(), e.Apart:
		return nil
	case x.cut:
		return x.cutSite(i, s, e)
	case isRotary && (e.Form == report.FormKeys || e.Capacity == 0 && !x.bounded):
		return x.keys(i, s, rotary)
	case isRotary && x.scales() && !x.slides(i, s):
		return x.scale(i, s, rotary, x.o.Method)
	case e.Capacity == 0 || e.Capacity >= x.counts:
		return nil
	}
	if resizes && (!r.Folded() || e.Scheme.(schemes.Other).Ends(x.counts-1)) {
		return resizeDistances(r, i, x.counts-1, x.counts, &x.out)
	}
	switch scheme := e.Scheme.(type) {
	case schemes.Learned:
		return x.grow(i, s, scheme)
	case schemes.Sinusoid:
		if scheme.Rows > 0 {
			scheme.Rows = x.counts + scheme.Offset
		}
		return x.same(i, s, e, scheme)
	}
	return x.same(i, s, e, e.Scheme)
}

// cutSite takes the positions beyond the length from an encoding that bounds the present one. What reaches farther, or gives distances numbers, may stay.
func (x *extension) cutSite(i int, s Site, e Encoding) error {
	if r, ok := s.(DistanceResizer); ok && !r.Folded() || e.Capacity == 0 || e.Capacity > x.present+x.beside || e.Capacity <= x.counts {
		return nil
	}
	want := Want{Scheme: e.Scheme, Positions: x.counts, Cut: true}
	switch scheme := e.Scheme.(type) {
	case schemes.Learned:
		scheme.Rows = x.counts + scheme.Offset
		old, ok := s.(Rows)
		if !ok {
			return &Refusal{Why: "the learned table's rows cannot be read"}
		}
		want.Scheme, want.Rows = scheme, schemes.FirstRows{Rows: old, N: scheme.Rows}
	case schemes.Sinusoid:
		if scheme.Rows > 0 {
			scheme.Rows = x.counts + scheme.Offset
		}
		want.Scheme = scheme
	case schemes.Buckets:
		if e.Form == report.FormTable {
			return &Refusal{Why: fmt.Sprintf("its buckets are looked up in a matrix of %d positions, which is not cut", e.Capacity), Instead: "leave it: the model takes shorter input as it is"}
		}
	}
	if err := s.Store(want); err != nil {
		return err
	}
	x.out.decide(x.m, i, want, fmt.Sprintf("%s %d → %d positions, the first ones as they are", EncodingName(e.Scheme), e.Capacity, x.counts), report.ExpectSameOnPrefix)
	return nil
}

// slides reports whether a rotation acts inside a window alone, and others do not: what is scaled is meant for those.
func (x *extension) slides(i int, s Site) bool {
	w, ok := s.(Windower)
	return ok && w.Window().Positions > 0 && x.others(i)
}

// scales reports whether the method changes frequencies.
func (x *extension) scales() bool {
	return x.o.Method != MethodNone && slices.Contains(RopeMethods(), x.o.Method)
}

// same asks a site to go on with its own formula.
func (x *extension) same(i int, s Site, e Encoding, scheme schemes.Scheme) error {
	want := Want{Scheme: scheme, Positions: x.counts}
	if err := s.Store(want); err != nil {
		return err
	}
	x.out.decide(x.m, i, want, fmt.Sprintf("%s %d → %d positions, by the same formula", EncodingName(e.Scheme), e.Capacity, x.counts), report.ExpectSameOnPrefix)
	return nil
}

// grow makes a learned table longer.
func (x *extension) grow(i int, s Site, l schemes.Learned) error {
	old, ok := s.(Rows)
	if !ok {
		if err := s.Store(Want{Scheme: l, Positions: x.counts}); err != nil {
			return err // the site knows why
		}
		return &Refusal{Why: "the learned table's rows cannot be read"}
	}
	if x.o.Method == MethodNone {
		return &Refusal{Why: fmt.Sprintf("the position table ends at %d positions: a length of %d cannot be stated without rows for it", l.Rows-l.Offset, x.o.Length),
			Remedies: []report.Remedy{report.Do("", "makes rows", "method", strings.Join(schemes.GrowMethods, "|"))}}
	}
	method := schemes.DefaultGrow
	switch {
	case slices.Contains(schemes.GrowMethods, x.o.Method):
		method, x.used = x.o.Method, true
	case s.Encoding().Beyond == report.BeyondWrong:
		method = schemes.GrowHierarchical
		x.out.note(fmt.Sprintf("longer input runs already, on wrong rows, which may be those that %s would repeat: new rows are by the method %s", schemes.GrowTile, method))
	default:
		x.out.note(fmt.Sprintf("new rows repeat the table (%s), measured best of what keeps old outputs; %s changes those, and was better for a decoder's longer texts (docs/measured/methods.md)", schemes.GrowTile, schemes.GrowStretch))
	}
	return x.growBy(method, i, s, l, old)
}

// growBy makes a learned table longer by one method.
func (x *extension) growBy(method string, i int, s Site, l schemes.Learned, old Rows) error {
	rows, err := schemes.GrowRows(method, old, l.Offset, x.counts+l.Offset, x.o.Grow)
	if err != nil {
		others := slices.DeleteFunc(slices.Clone(schemes.GrowMethods), func(other string) bool { return other == method })
		return &Refusal{Why: err.Error(), Remedies: []report.Remedy{report.Do("", "makes other rows", "method", strings.Join(others, "|"))}}
	}
	was := l.Rows
	l.Rows = x.counts + l.Offset
	want := Want{Scheme: l, Positions: x.counts, Rows: rows}
	if err := s.Store(want); err != nil {
		return err
	}
	expect := report.ExpectSameOnPrefix
	if rows.Kept() < old.Len() {
		expect = report.ExpectChanged
	}
	x.out.decide(x.m, i, want, fmt.Sprintf("position table %d → %d rows, %s", was, l.Rows, method), expect)
	return nil
}

// keys extends RoPE that an engine computes from keys.
func (x *extension) keys(i int, s Site, r schemes.Rotary) error {
	if x.o.Method == MethodNone {
		return nil
	}
	if w, ok := s.(Windower); ok && w.Window().Positions > 0 {
		// Distances within a window do not grow; where other layers see
		// everything, a method is meant for those.
		if x.others(i) || !x.scales() && w.Window().Positions <= x.present {
			return nil
		}
	}
	method := defaultMethod
	switch t := r.Scaling.Kind(); {
	case x.scales():
		method = x.o.Method
	case x.made(r.Scaling):
		x.reaches = true // as it is: only the stated length was less
		return nil
	case t.Continues:
		method = t.Name
	}
	return x.scale(i, s, r, method)
}

// made reports whether a scaling was made for the wanted length already: from its own original length
// or, where it tells none, from the one that is asked for.
func (x *extension) made(s schemes.Scaling) bool {
	s.OriginalLength = cmp.Or(s.OriginalLength, x.o.OriginalLength)
	x.originalUsed = x.originalUsed || s.OriginalLength == x.o.OriginalLength
	reach := s.Kind().Reach
	return reach != nil && (x.o.OriginalLength == 0 || s.OriginalLength == x.o.OriginalLength) && reach(s) >= float64(x.o.Length)
}

// others reports whether another site than i rotates without a window.
func (x *extension) others(i int) bool {
	for j, s := range x.m.Sites() {
		w, ok := s.(Windower)
		if _, rotary := s.Encoding().Scheme.(schemes.Rotary); j != i && rotary && (!ok || w.Window().Positions == 0) {
			return true
		}
	}
	return false
}

// scale gives a rotation another scaling, from its original length on.
func (x *extension) scale(i int, s Site, r schemes.Rotary, method string) error {
	from := r
	if r.BaseAssumed {
		return unknownBase(x.unscaled(), report.Do("rope", "says the base", "base", "B", "scaling", method))
	}
	r = r.Rebased() // what comes now comes on top of that
	scaling, err := x.scaling(r, method)
	if err != nil {
		return err
	}
	x.used = x.used || method == x.o.Method
	to := r.WithScaling(scaling).Rebased() // NTK is a change of base; what was scaled before is undone
	want := Want{Scheme: to, Positions: x.o.Length}
	if err := s.Store(want); err != nil {
		return err
	}
	x.out.decide(x.m, i, want, from.Becoming(stored(s, to)), report.ExpectChanged)
	x.out.note(to.Scaling.Unprecedented())
	x.out.deviates(s, stored(s, to), x.d)
	return nil
}

// scaling works out the scaling that reaches the wanted length. A file that is
// scaled already is scaled anew from its original length.
func (x *extension) scaling(r schemes.Rotary, method string) (schemes.Scaling, error) {
	was := r.Scaling
	original := x.original(was)
	switch t := was.Kind(); {
	case t.NoFurther != "" && len(was.ShortFactor)+len(was.LongFactor) > 0:
		return was, &Refusal{Why: t.NoFurther,
			Remedies: []report.Remedy{x.unscaled(), report.Do("rope", "replaces the factors", "scaling", "yarn", "factor", "S", "original-length", "L")}}
	case t.NoFurther != "":
		return was, &Refusal{Why: t.NoFurther, Remedies: []report.Remedy{x.unscaled(), report.Do("rope", "sets another scaling", "scaling", "TYPE", "factor", "S")}}
	case original == 0:
		return was, &Refusal{Why: "nothing says with which length the model was trained, so that no factor can be worked out",
			Remedies: []report.Remedy{report.Do("", "is the length that it was trained with", "original-length", "L"), x.unscaled()}}
	}
	factor := float64(x.o.Length) / float64(original)
	if was.Kind().Uniform && x.o.OriginalLength == 0 && was.OriginalLength == 0 && x.present > 0 {
		factor = was.Factor * float64(x.o.Length) / float64(x.present) // the original need not be a whole number
	}
	if factor < 1 {
		return was, &Refusal{Why: fmt.Sprintf("the model was trained with %d positions, more than %d", original, x.o.Length), Remedies: []report.Remedy{x.unscaled()}}
	}
	return anew(was, method, factor, float64(x.o.Length)/float64(max(x.present, 1)), original)
}

// unscaled is the remedy of leaving RoPE as it is.
func (x *extension) unscaled() report.Remedy {
	if x.d.Length.Stated == nil && x.d.Format == FormatONNX {
		return report.Do("", "leaves RoPE as it is", "method", MethodNone)
	}
	return report.Do("", "states the length only", "method", MethodNone)
}

// anew is a scaling by another factor in place of the one that was.
func anew(was schemes.Scaling, method string, factor, longer float64, original int) (schemes.Scaling, error) {
	t, err := schemes.ScalingNamed(method)
	if err != nil {
		return was, &UsageError{What: err.Error()}
	}
	if t.Anew == nil {
		return schemes.Scaling{Type: method, Factor: factor, OriginalLength: original, AttentionFactor: was.OwnAttentionFactor()}, nil
	}
	if method != was.Type {
		was.AttentionFactor = was.OwnAttentionFactor()
	}
	s, err := t.Anew(was, factor, longer, original)
	if err != nil {
		with := []string{"scaling", t.Name, "factor", "S"}
		for _, p := range t.Parameters {
			value := "L"
			if p.Default != 0 {
				value = schemes.Text(p.Default)
			}
			with = append(with, p.Name, value)
		}
		return was, &Refusal{Why: err.Error(), Remedies: []report.Remedy{report.Do("rope", "", append(with, "len", "N")...)}}
	}
	return s, nil
}

// original is the length that the model was trained with, 0: not known.
func (x *extension) original(s schemes.Scaling) int {
	if x.o.OriginalLength > 0 {
		x.originalUsed = true
		return x.o.OriginalLength
	}
	stated := 0
	if x.d.Length.Stated != nil {
		stated = *x.d.Length.Stated
	}
	return s.TrainedLength(x.present, stated)
}

// stored returns the rotation that a site stored for the wanted one: an engine may want
// a part of it elsewhere (DeepSeek's amplitude is in the scale of its scores).
func stored(s Site, wanted schemes.Rotary) schemes.Rotary {
	if h, ok := s.(Substituter); ok {
		if r, ok := h.Stored().(schemes.Rotary); ok {
			return r
		}
	}
	return wanted
}

// unused refuses a method, or an original length, that applied to nothing.
func (x *extension) unused() error {
	if x.o.OriginalLength != 0 && !x.originalUsed {
		return &UsageError{What: "--original-length says where a scaling of RoPE begins, and no RoPE of this model gets one"}
	}
	if x.o.Method == "" || x.o.Method == MethodNone || x.used {
		return nil
	}
	what, others := "position tables", RopeMethods()
	if slices.Contains(RopeMethods(), x.o.Method) {
		what, others = "RoPE", schemes.GrowMethods
	}
	return &UsageError{What: fmt.Sprintf("the method %s is for %s, and this model has none that becomes longer by it", x.o.Method, what), Hint: "leave --method out, or take one of " + strings.Join(others, ", ")}
}

// finish states the new length and tells whether anything changed.
func (x *extension) finish() (Outcome, error) {
	held := cmp.Or(x.ends, x.present)
	if x.configured {
		held = 0
	}
	if err := x.m.SetLength(held, x.o.Length); err != nil {
		return Outcome{}, err
	} else if _, err := x.out.follow(x.m, nil); err != nil {
		return Outcome{}, err
	}
	mend(x.m, &x.out)
	plan, err := x.m.Edits()
	if err != nil {
		return Outcome{}, err
	}
	if len(plan.Edits) == 0 {
		x.out.Nothing = "nothing in the file bounds its length"
		if present := cmp.Or(x.ends, x.present); x.o.Shorter && present > x.o.Length {
			x.out.Nothing = fmt.Sprintf("what has rows for %d positions has them by distance, and they are not cut off", present)
		}
		if x.reaches {
			x.out.Nothing = fmt.Sprintf("the scaling of its RoPE reaches %d positions, and nothing else in the file bounds its length", x.o.Length)
		}
		return x.out, nil
	}
	if old := x.d.Length.Stated; old == nil && x.d.Format == FormatGGUF || old != nil && *old != x.o.Length {
		change := report.Change{What: report.LengthBecomes(old, x.present, x.o.Length), Expect: report.ExpectSameOnPrefix}
		if slices.ContainsFunc(x.m.Sites(), func(s Site) bool { w, ok := s.(Switcher); return ok && w.Switches(x.present, x.o.Length) }) {
			change.What += fmt.Sprintf(", where the engine takes LongRoPE's %s factors for every position", map[bool]string{true: "short", false: "long"}[x.cut])
			change.Expect = report.ExpectChanged
		}
		x.out.Changes = append(x.out.Changes, change)
	}
	for i, s := range x.m.Sites() {
		e := attended(x.m, i, s.Encoding())
		x.out.note("", e.Attending.Longer(x.o.Length, e.Layers)...)
	}
	return x.out, nil
}
