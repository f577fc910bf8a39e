package verify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/reference"
)

// attention runs the attentions of both files on the same states and compares scores and
// outputs; then it holds what the new file computes against the formula that its report
// tells.
func (c *comparison) attention() {
	before, after := c.before.Attentions(), c.after.Attentions()
	switch {
	case len(before) == 0:
		c.skip(report.CheckAttention, "the model has no softmax attention")
		c.skip(report.CheckSecondOpinion, "the model has no softmax attention")
		return
	case len(before) != len(after):
		c.add(report.Check{Name: report.CheckAttention, Verdict: report.CheckFail, Why: fmt.Sprintf("%d attentions became %d", len(before), len(after))})
		return
	}
	s := &sampled{allLayers: len(before)}
	for _, a := range before {
		s.allHeads += a.Heads
	}
	at := len(c.report.Checks)
	for _, i := range c.o.Sample.layers(len(before)) {
		a, b := before[i], after[i]
		if _, _, differ := c.otherPictures(); differ && a.Heads != b.Heads && a.HeadDim == b.HeadDim && a.Heads*b.KVHeads == a.KVHeads*b.Heads && (b.Heads%max(a.Heads, 1) == 0 || a.Heads%max(b.Heads, 1) == 0) {
			s.leave(fmt.Sprintf("layer %d (its heads stand in one axis with what is as many more as the picture is larger: windows, say)", a.Layer))
			continue
		}
		if a.Heads != b.Heads || a.KVHeads != b.KVHeads || a.HeadDim != b.HeadDim {
			c.add(report.Check{Name: report.CheckAttention, Verdict: report.CheckFail, At: &report.At{Layer: report.Pointer(a.Layer)},
				Why: fmt.Sprintf("%d heads (%d of keys) of %d elements became %d (%d) of %d", a.Heads, a.KVHeads, a.HeadDim, b.Heads, b.KVHeads, b.HeadDim)})
			return
		}
		c.layer(before[i], after[i], s)
	}
	c.laws(c.after)
	c.reportSample(at, s)
}

// reportSample adds what all attentions and second opinions come to in front of the checks of the layers, in one statement:
// the first that failed, or what the second opinion is, and what was run.
func (c *comparison) reportSample(at int, s *sampled) {
	k := report.Check{Name: report.CheckAttention, Verdict: report.CheckPass, Why: s.String()}
	if s.layers == 0 {
		k.Verdict = report.CheckSkipped
		if !c.has(report.CheckSecondOpinion) {
			c.skip(report.CheckSecondOpinion, "no attention was run")
		}
	}
	var failed, others []report.Check // second opinions
	agree := 0
	for _, x := range c.report.Checks[at:] {
		switch {
		case x.Verdict == report.CheckFail && x.Name != report.CheckProperties:
			failed = append(failed, x)
		case x.Name != report.CheckSecondOpinion:
		case x.Verdict == report.CheckPass:
			agree++
		default:
			others = append(others, x)
		}
	}
	if agree > 0 {
		k.Why += fmt.Sprintf("; a second opinion agrees in %d layers", agree)
	}
	if len(others) > 0 && s.layers > 0 {
		k.Why += "; no second opinion: " + others[0].Why
		if len(others) > 1 {
			k.Why += fmt.Sprintf(" (and %d more)", len(others)-1)
		}
	}
	if len(failed) > 0 {
		why := failed[0].Why
		if failed[0].Name == report.CheckSecondOpinion {
			why = "a second opinion differs: " + why
		}
		if len(failed) > 1 {
			why += fmt.Sprintf(" (and %d more)", len(failed)-1)
		}
		k.Verdict, k.Measure, k.At, k.Why = report.CheckFail, failed[0].Measure, failed[0].At, why+"; "+k.Why
	}
	c.report.Checks = append(c.report.Checks[:at:at], append([]report.Check{k}, c.report.Checks[at:]...)...)
}

// tried runs an attention over so many positions, or fewer where it cannot.
func tried(a *position.Attention, positions int, heads []int) (*trial.Trial, error) {
	if a.Run == nil {
		return nil, fmt.Errorf("%s", a.Unsupported)
	}
	t, err := a.Run(positions, heads)
	for err != nil && positions > usualPositions {
		positions = max(positions/2, usualPositions)
		t, err = a.Run(positions, heads)
	}
	if err != nil && positions > leastPositions {
		t, err = a.Run(leastPositions, heads)
	}
	if err == nil && len(t.Heads) == 0 {
		err = fmt.Errorf("none of its heads was run")
	}
	return t, err
}

// beside reads the two files at the same time.
func (c *comparison) beside(before, after func()) {
	if c.before == c.after { // one model serves one goroutine at a time
		before()
		after()
		return
	}
	together(before, after)
}

// layer compares one attention of both files.
func (c *comparison) layer(before, after *position.Attention, s *sampled) {
	positions, heads := c.o.Sample.positions(c.prefix()), c.o.Sample.heads(before.Heads)
	if c.o.Sample.Positions == 0 {
		positions = max(positions, min(behind(c.window), c.prefix()))
	}
	var t, u *trial.Trial
	var err1, err2 error
	c.beside(func() { t, err1 = tried(before, positions, heads) }, func() { u, err2 = tried(after, positions, heads) })
	k := report.Check{Name: report.CheckAttention, Verdict: report.CheckPass, Inputs: "weights", Tolerance: &float64Roundoff, At: &report.At{Layer: report.Pointer(before.Layer)}}
	switch {
	case err1 != nil && err2 != nil:
		s.leave(fmt.Sprintf("layer %d (%v)", before.Layer, err2))
		return
	case err1 != nil:
		s.leave(fmt.Sprintf("layer %d (of the old file: %v)", before.Layer, err1))
		return
	case err2 != nil:
		if limit, ok := errors.AsType[*trial.Limit](err2); ok {
			s.leave(fmt.Sprintf("layer %d (of the new file: %v)", before.Layer, limit))
			return
		}
		k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("layer %d ran in the old file and does not in the new one: %v", before.Layer, err2)
		c.add(k)
		return
	}
	if t.Together && u.Together && t.Keys != u.Keys {
		s.leave(fmt.Sprintf("layer %d (its activations are quantised together, those of %d positions in one file and of %d in the other)", before.Layer, t.Keys, u.Keys))
		return
	}
	var old, now *reference.Reference
	c.beside(func() { old, err1 = reference.New(c.before, before, t) }, func() { now, err2 = reference.New(c.after, after, u) })
	for _, err := range []error{err1, err2} {
		if err != nil && !notRead(err) {
			k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("layer %d: %v", before.Layer, err)
			c.add(k)
			return
		}
	}
	if err := firstOf(err1, err2); err != nil {
		s.leave(fmt.Sprintf("layer %d (%v)", before.Layer, err))
		return
	}
	shared := min(t.Queries, u.Queries)
	s.ran(t, before.Heads, shared)
	k.Why = fmt.Sprintf("layer %d, %s of %d, positions 0 to %d: scores and outputs", before.Layer, headsText(len(t.Heads)), before.Heads, shared-1)
	err := checkWindow(after, c.window)
	if c.window.Positions >= shared {
		c.changed = true
		k.Why += fmt.Sprintf("; %s ends behind them, and was read off the file", c.window)
	}
	if err = cmp.Or(err, c.compareHeads(&k, old, now)); err != nil {
		k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("layer %d: %v", before.Layer, err)
	}
	c.add(k)
	c.compareFormula(now, s, old)
	c.secondOpinion(now, &u.Heads[0])
}

func headsText(n int) string {
	if n == 1 {
		return "1 head"
	}
	return fmt.Sprintf("%d heads", n)
}

// compareHeads measures in the check how the heads of two files differ, and judges it by
// what is expected.
func (c *comparison) compareHeads(k *report.Check, old, now *reference.Reference) error {
	if len(old.Trial.Heads) != len(now.Trial.Heads) {
		return fmt.Errorf("%d heads became %d", len(old.Trial.Heads), len(now.Trial.Heads))
	}
	var worst difference
	for i := range old.Trial.Heads {
		head := old.Trial.Heads[i].Head
		for _, compare := range []func(*difference, int) error{
			func(d *difference, i int) error { return c.compareScores(d, old, now, i, k, head) },
			func(d *difference, i int) error { return c.compareOutputs(d, old, now, i, k, head) },
		} {
			var d difference
			if err := compare(&d, i); err != nil {
				return err
			}
			if d.scale > 0 && (worst.scale == 0 || d.abs/d.scale > worst.abs/worst.scale || math.IsNaN(d.abs)) {
				worst = d
				if d.abs > 0 {
					k.At = place(old.Attention.Layer, head, d.at)
				}
			}
		}
	}
	k.Measure = worst.measure()
	if math.IsNaN(worst.abs) || math.IsInf(worst.abs, 0) {
		return fmt.Errorf("head %d, position %d: a score or output is not finite, or masked in one file alone", *k.At.Head, *k.At.Position)
	}
	allowed := float64Roundoff
	if slices.ContainsFunc(c.pairs, pair.rebuilt) {
		allowed = storedNumbers
		k.Tolerance = &storedNumbers
	}
	if float64(k.Measure.MaxRel) > float64(allowed.Value) {
		c.changed = true
		switch {
		case c.expect == report.ExpectChanged && c.window.Positions == 0:
			k.Why += ": differs, as was planned"
		case c.expect == "" && c.anyExplained():
			k.Why += ": differs, as a changed encoding does"
		default:
			k.Verdict, k.Why = report.CheckFail, k.Why+": the output differs"
		}
	}
	return nil
}

// scoresOf are a head's scores: the file's own where it computes them. Of many positions they are those of the usual
// sample, so that more positions never say less: matrices grow by their square.
func scoresOf(r *reference.Reference, i int) ([][]float64, error) {
	h := r.Trial.Heads[i]
	if h.Scores != nil {
		return h.Scores, nil
	}
	if r.Trial.Keys > usualPositions*4 {
		h.Query, h.Key = h.Query[:min(usualPositions, len(h.Query))], h.Key[:usualPositions]
	}
	return r.Scores(&h)
}

// compareScores compares scores on the positions that both files ran, less that of a
// query's first key: what is added to all scores of a query has no effect. Keys outside of a planned window have
// to be hidden.
func (c *comparison) compareScores(d *difference, old, now *reference.Reference, i int, k *report.Check, head int) error {
	x, err1 := scoresOf(old, i)
	y, err2 := scoresOf(now, i)
	if err := firstOf(err1, err2); err != nil {
		return err
	}
	for q := range min(len(x), len(y)) {
		first := -1
		for key := range min(len(x[q]), len(y[q])) {
			a, b, shown := x[q][key], y[q][key], shown(c.window, old.Attention, q+now.Trial.Past, key)
			switch m, n := old.Masked(&old.Trial.Heads[i], q, key), now.Masked(&now.Trial.Heads[i], q, key); {
			case m && n:
				continue
			case !shown && !n:
				return fmt.Errorf("head %d: position %d sees position %d, which was to be hidden", head, q, key)
			case !shown:
				c.changed = true
				continue
			case m != n:
				d.abs, d.at, d.scale = math.Inf(1), q, 1
				k.At = place(old.Attention.Layer, head, q)
				return nil
			case first < 0:
				first = key
			}
			d.scale = math.Max(d.scale, math.Max(math.Abs(a), math.Abs(b)))
			if d.look(a-x[q][first], b-y[q][first]) {
				d.at = q
			}
		}
	}
	return nil
}

// outputsOf are a head's outputs: the file's own where it computes them.
func outputsOf(r *reference.Reference, i int) ([][]float64, error) {
	if h := &r.Trial.Heads[i]; h.Output != nil {
		return h.Output, nil
	}
	return r.Output(&r.Trial.Heads[i])
}

// compareOutputs compares the outputs of the queries that see the same keys in both files.
func (c *comparison) compareOutputs(d *difference, old, now *reference.Reference, i int, k *report.Check, head int) error {
	x, err1 := outputsOf(old, i)
	y, err2 := outputsOf(now, i)
	if err := firstOf(err1, err2); err != nil {
		return err
	}
	shared := min(old.Trial.Keys, now.Trial.Keys)
	for q := range min(len(x), len(y)) {
		if !seesOnly(old, i, q, shared) || !seesOnly(now, i, q, shared) || !allShown(c.window, old.Attention, q+now.Trial.Past, shared) {
			continue
		}
		if len(x[q]) != len(y[q]) {
			return fmt.Errorf("outputs of %d elements became such of %d", len(x[q]), len(y[q]))
		}
		for e := range x[q] {
			if d.look(x[q][e], y[q][e]) {
				d.at = q
			}
			if math.IsNaN(x[q][e]) || math.IsNaN(y[q][e]) {
				d.abs, d.at, d.scale = math.NaN(), q, 1
				k.At = place(old.Attention.Layer, head, q)
				return nil
			}
		}
	}
	return nil
}

// seesOnly reports whether a query sees none of the keys from one on.
func seesOnly(r *reference.Reference, i, query, from int) bool {
	h := &r.Trial.Heads[i]
	if from >= r.Trial.Keys || r.Attention.Causal && query+r.Trial.Past < from {
		return true
	}
	if h.Bias == nil {
		return false
	}
	for k := from; k < len(h.Bias[query]); k++ {
		if !h.Masked(query, k) {
			return false
		}
	}
	return true
}

// compareFormula compares what a file computes with the formula of its report. What the formula
// does not make is told; what it makes otherwise is a fault, unless the old file was so.
func (c *comparison) compareFormula(now *reference.Reference, s *sampled, old *reference.Reference) {
	before, turned := false, ""
	e, err := now.Explain()
	if old != nil {
		was, failed := old.Explain()
		_, _, _, one, several := now.Rotation()
		if before = failed != nil || was.Wrong != ""; !before && err == nil && was.Unturned != e.Unturned && (one || several != nil) { // none is left where its removal was planned
			turned = fmt.Sprintf("other queries and keys are turned than before: %s, and before %s", cmp.Or(e.Unturned, "all"), cmp.Or(was.Unturned, "all"))
		}
	}
	layer := now.Attention.Layer
	k := report.Check{Name: report.CheckAttention, Verdict: report.CheckPass, Tolerance: &float64Roundoff, At: &report.At{Layer: report.Pointer(layer)}}
	switch {
	case err != nil:
		k.Verdict, k.Why = report.CheckSkipped, fmt.Sprintf("layer %d against its formula: %v", layer, err)
	case len(now.Trial.Heads) > 0 && now.Trial.Heads[0].Scores == nil:
		s.formula++
		return // the formula is what was run
	case turned != "" && e.Wrong == "":
		k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("layer %d: %s", layer, turned)
	case e.Wrong != "" && !before:
		k.Verdict, k.Why, k.At = report.CheckFail, fmt.Sprintf("layer %d: %s", layer, e.Wrong), place(layer, e.Head, e.Position)
	case e.Wrong != "":
		k.Verdict, k.Why = report.CheckSkipped, fmt.Sprintf("layer %d against its formula: %s, and so it did before", layer, e.Wrong)
	case e.Unknown != "":
		k.Verdict, k.Why = report.CheckSkipped, fmt.Sprintf("layer %d against its formula: %s; it was taken as the file makes it", layer, e.Unknown)
	default:
		s.formula++
		k.Why = fmt.Sprintf("layer %d is its formula: %s", layer, termsText(e.Terms))
		k.Measure = &report.Measure{MaxAbs: report.Number(e.Difference), MaxRel: report.Number(e.Difference)}
		k.Tolerance = &report.Tolerance{Name: "float32-terms", Value: report.Number(math.Max(e.Allowed, e.Difference))}
	}
	if k.Verdict == report.CheckSkipped {
		k.Tolerance = nil
	}
	c.add(k)
}

func termsText(terms []string) string {
	if len(terms) == 0 {
		return "softmax(scale·query·key)·value"
	}
	out := terms[0]
	for _, t := range terms[1:] {
		out += ", " + t
	}
	return out
}

func (c *comparison) has(name string) bool {
	for _, k := range c.report.Checks {
		if k.Name == name {
			return true
		}
	}
	return false
}
