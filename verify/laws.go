package verify

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/reference"
)

// lawTolerance bounds what a formula's own laws may be missed by, relative.
var lawTolerance = report.Tolerance{Name: "float64-laws", Value: 1e-12}

// laws checks what must hold of the formulas of a model's encodings: that rotations keep
// norms and depend on distances alone, and the like.
func (c *comparison) laws(m position.Model) {
	for i, s := range m.Sites() {
		scheme := s.Encoding().Scheme
		k := report.Check{Name: report.CheckProperties, Verdict: report.CheckPass, Tolerance: &lawTolerance, Why: fmt.Sprintf("%s: what holds of every %s", position.ID(i), scheme.Name())}
		switch why := reference.Invariants(scheme); {
		case why != "" && c.before != m && slices.ContainsFunc(c.before.Sites(), func(s position.Site) bool { return s.Encoding().Scheme.Equal(scheme) }):
			k.Verdict, k.Why, k.Tolerance = report.CheckSkipped, fmt.Sprintf("%s: %s, as in the old file", position.ID(i), why), nil
		case why != "":
			k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: %s", position.ID(i), why)
		case !isFormula(scheme):
			continue
		}
		c.add(k)
	}
}

// alone runs the attentions of one file and holds them against the formula of its report.
func (c *comparison) alone() {
	all := c.before.Attentions()
	if len(all) == 0 {
		return
	}
	s := &sampled{allLayers: len(all)}
	for _, a := range all {
		s.allHeads += a.Heads
	}
	at := len(c.report.Checks)
	for _, i := range c.o.Sample.layers(len(all)) {
		a := all[i]
		t, err := tried(a, c.o.Sample.positions(c.newLength()), c.o.Sample.heads(a.Heads))
		if err != nil {
			s.leave(fmt.Sprintf("layer %d (%v)", a.Layer, err))
			continue
		}
		r, err := reference.New(c.before, a, t)
		if notRead(err) {
			s.leave(fmt.Sprintf("layer %d (%v)", a.Layer, err))
			continue
		}
		if err != nil {
			c.add(report.Check{Name: report.CheckAttention, Verdict: report.CheckFail, Why: fmt.Sprintf("layer %d: %v", a.Layer, err)})
			continue
		}
		s.ran(t, a.Heads, t.Queries)
		c.compareFormula(r, s, nil)
		c.secondOpinion(r, &t.Heads[0])
	}
	c.reportSample(at, s)
}
