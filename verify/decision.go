package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// CheckDecision checks that a new model is what a verb decided: every encoding that was
// given a scheme has its numbers, every other one has those that it had, and
// there are no more and no fewer. before are the schemes of the old model's
// sites. The error says which encoding is another, and how.
func CheckDecision(before []schemes.Scheme, after position.Model, decided []position.Becoming) error {
	h := decisionCheck{c: &comparison{before: after, after: after}, after: after, decided: map[int][]position.Becoming{}}
	for _, b := range decided {
		if _, linear := b.Scheme.(schemes.ALiBi); linear || b.Site < 0 { // in all attentions, or in none
			h.added = append(h.added, b)
		} else {
			h.decided[b.Site] = append(h.decided[b.Site], b)
		}
	}
	if len(h.added) > 0 || slices.ContainsFunc(decided, func(b position.Becoming) bool { return b.Scheme == nil }) {
		return h.structure(before)
	}
	sites := after.Sites()
	if slices.ContainsFunc(decided, func(b position.Becoming) bool { return b.Split || len(h.decided[b.Site]) > 1 }) || len(sites) < len(before) && len(decided) > 0 {
		return h.regrouped(before)
	}
	if len(sites) != len(before) {
		return fmt.Errorf("the new file has %d encodings, and %d were to stay", len(sites), len(before))
	}
	for i, s := range sites {
		decided := h.decided[i]
		switch {
		case decided != nil:
			if err := h.numbers(i, s, decided[0]); err != nil {
				return err
			}
		case !s.Encoding().Scheme.Equal(before[i]):
			return fmt.Errorf("encoding %s was to stay %s and is %s", position.ID(i), before[i], s.Encoding().Scheme)
		}
	}
	return nil
}

// regrouped holds encodings against what they were to become where there may be more or
// fewer of them: some layers keep what others lose, or come to turn as others do. Each
// that was to be has to be found, in whatever order, and no other.
func (h *decisionCheck) regrouped(before []schemes.Scheme) error {
	sites := h.after.Sites()
	found := map[int]bool{}
	find := func(want schemes.Scheme, fits func(i int) bool) error {
		at := -1
		for i := range sites {
			if fits(i) {
				found[i], at = true, i
			}
		}
		if at < 0 {
			return fmt.Errorf("no encoding of the new file is %s", want)
		}
		return nil
	}
	for i, was := range before {
		stays := h.decided[i] == nil
		for _, b := range h.decided[i] {
			if err := find(b.Scheme, func(k int) bool { return h.numbers(k, sites[k], b) == nil }); err != nil {
				return err
			}
			stays = stays || b.Split
		}
		if stays {
			if err := find(was, func(k int) bool { return sites[k].Encoding().Scheme.Equal(was) }); err != nil {
				return err
			}
		}
	}
	for i, s := range sites {
		if !found[i] {
			return fmt.Errorf("encoding %s of the new file is %s, and none was to be", position.ID(i), s.Encoding().Scheme)
		}
	}
	return nil
}

// decisionCheck is one run of CheckDecision.
type decisionCheck struct {
	c       *comparison
	after   position.Model
	decided map[int][]position.Becoming // several of one whose layers come to differ
	added   []position.Becoming
}

// numbers holds a site against what it was to become.
func (h *decisionCheck) numbers(i int, s position.Site, b position.Becoming) error {
	e := s.Encoding()
	if e.Scheme.Name() != b.Scheme.Name() {
		return fmt.Errorf("encoding %s was to become %s and is %s", position.ID(i), b.Scheme, e.Scheme)
	}
	if e.Capacity > 0 && e.Capacity < b.Positions {
		return fmt.Errorf("encoding %s was to encode %d positions and encodes %d", position.ID(i), b.Positions, e.Capacity)
	}
	if b.Cut && e.Capacity > b.Positions {
		return fmt.Errorf("encoding %s was to end at %d positions and encodes %d", position.ID(i), b.Positions, e.Capacity)
	}
	switch want := b.Scheme.(type) {
	case schemes.Rotary:
		return h.rotation(i, s, want)
	case schemes.Sinusoid:
		if rows, ok := s.(position.Rows); ok && rows.Len() > 0 && want.Base > 0 {
			h.c.newRows(pair{i, i, s, s}, 0, rows, want)
			return h.failure()
		}
	case schemes.Learned:
		if rows, ok := s.(position.Rows); ok && b.Rows != nil {
			return h.rows(i, e, rows, b.Rows)
		}
	case schemes.ALiBi:
		return h.bias(i, s, want)
	}
	return nil
}

func (h *decisionCheck) rotation(i int, s position.Site, want schemes.Rotary) error {
	got, ok := rotaryOf(s.Encoding())
	rotator, rotates := s.(position.Rotator)
	switch {
	case !ok || got.Pairs() != want.Pairs():
		return fmt.Errorf("encoding %s was to become %s and is %s", position.ID(i), want, s.Encoding().Scheme)
	case !rotates || want.ByPlace():
		return nil // its numbers cannot be read one by one
	}
	k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Why: fmt.Sprintf("%s: %s by its formula", position.ID(i), want)}
	if k = h.c.against(k, s, rotator, want); k.Verdict == report.CheckFail {
		return fmt.Errorf("encoding %s", k.Why)
	}
	return nil
}

// failure is the first check that failed, as an error.
func (h *decisionCheck) failure() error {
	for _, k := range h.c.report.Checks {
		if k.Verdict == report.CheckFail {
			return fmt.Errorf("encoding %s", k.Why)
		}
	}
	return nil
}

// checkedRows is how many of the rows that no formula gives are looked at: the first,
// the last, and others between.
const checkedRows = 64

// rows compares rows of a learned table with those that were decided. Types that
// store blocks of fewer than eight bits are not compared number by number.
func (h *decisionCheck) rows(i int, e position.Encoding, got position.Rows, want position.RowSource) error {
	if got.Len() < want.Len() {
		return fmt.Errorf("encoding %s was to have %d rows and has %d", position.ID(i), want.Len(), got.Len())
	}
	if !slices.Contains([]string{"float32", "float16", "bfloat16", "float64", "q8_0", "int8", "uint8"}, e.Dtype) {
		return nil
	}
	tolerance := float64(storageTolerance(e.Dtype).Value)
	x, y := make([]float64, got.Dim()), make([]float64, got.Dim())
	step := max((want.Len()-want.Kept())/checkedRows, 1)
	for r := want.Kept(); r < want.Len(); r += step {
		if r+step >= want.Len() {
			r = want.Len() - 1
		}
		if err := firstOf(got.Row(r, x), want.Row(r, y)); err != nil {
			return err
		}
		largest := 0.0
		for _, v := range y {
			largest = math.Max(largest, math.Abs(v))
		}
		for k := range y {
			if !(math.Abs(x[k]-y[k]) <= tolerance*formulaSlack*largest) {
				return fmt.Errorf("encoding %s: row %d, column %d was to be %g and is %g", position.ID(i), r, k, y[k], x[k])
			}
		}
	}
	return nil
}

// bias compares a linear bias with the slopes that were decided.
func (h *decisionCheck) bias(i int, s position.Site, want schemes.ALiBi) error {
	b, ok := s.(position.Biaser)
	got, linear := s.Encoding().Scheme.(schemes.ALiBi)
	if !ok || !linear || got.Heads != want.Heads {
		return fmt.Errorf("encoding %s was to become %s and is %s", position.ID(i), want, s.Encoding().Scheme)
	}
	for _, head := range want.Sample() {
		slope := want.Slope(head)
		x, err := b.Bias(head, 1, 0, 2)
		if err != nil {
			return err
		}
		if !(math.Abs(x+slope) <= float64(slopeTolerance.Value)*slope) {
			return fmt.Errorf("encoding %s: head %d was to have a slope of %g and has %g", position.ID(i), head, slope, -x)
		}
	}
	return nil
}

// structure checks a change after which there are other encodings: those that came
// act in every attention, and those that were taken away have no effect.
func (h *decisionCheck) structure(before []schemes.Scheme) error {
	sites := h.after.Sites()
	for _, b := range h.added {
		want, _ := b.Scheme.(schemes.ALiBi)
		if at := biasOf(sites, want.Heads, nil); at < 0 {
			return fmt.Errorf("%s was to be added and is not there", b.Scheme)
		} else if err := h.bias(at, sites[at], want); err != nil {
			return err
		}
		for _, a := range h.after.Attentions() {
			own := want
			if a.Heads > 0 && want.Slopes == nil { // each attention has slopes for its own heads
				own.Heads = a.Heads
			}
			at := biasOf(sites, own.Heads, append([]int{}, a.Encodings...))
			switch {
			case a.Crosses:
			case at < 0:
				return fmt.Errorf("%s was to act in every attention and does not in that of layer %d", own, a.Layer)
			case own.Heads != want.Heads:
				if err := h.bias(at, sites[at], own); err != nil {
					return err
				}
			}
		}
	}
	for i, scheme := range before {
		decided := h.decided[i]
		if decided == nil || decided[0].Scheme != nil || scheme.Name() == report.SchemeAlibi {
			continue
		}
		for j, s := range sites {
			if s.Encoding().Scheme.Name() == scheme.Name() && s.Encoding().Scheme.Equal(scheme) && acts(s) && h.expected(before, scheme) == 0 {
				return fmt.Errorf("encoding %s (%s) was to have no effect and has one (%s)", position.ID(i), scheme, position.ID(j))
			}
		}
	}
	return nil
}

// expected is how many encodings equal to a scheme were to stay.
func (h *decisionCheck) expected(before []schemes.Scheme, scheme schemes.Scheme) int {
	n := 0
	for i, s := range before {
		if decided := h.decided[i]; s.Equal(scheme) && (decided == nil || decided[0].Scheme != nil) {
			n++
		}
	}
	return n
}

// acts reports whether a site's numbers do anything: rows that are not all zeros,
// a rotation that turns.
func acts(s position.Site) bool {
	switch s := s.(type) {
	case position.Rows:
		row := make([]float64, s.Dim())
		for i := range s.Len() {
			if s.Row(i, row) != nil || slices.ContainsFunc(row, func(x float64) bool { return x != 0 }) {
				return true
			}
		}
		return s.Len() == 0
	case position.Rotator:
		r, ok := rotaryOf(s.(position.Site).Encoding())
		if !ok {
			return true
		}
		cos, sin := make([]float64, r.Pairs()), make([]float64, r.Pairs())
		return s.Rotation(1, 2, cos, sin) != nil || slices.ContainsFunc(sin, func(x float64) bool { return x != 0 })
	}
	return true
}
