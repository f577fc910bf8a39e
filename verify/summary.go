package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// summary is the verdict in a sentence: what differs, and that nothing else does;
// or the first check that failed, and what to pass where that was meant.
func (c *comparison) summary() string {
	switch c.report.Verdict {
	case report.VerdictSame:
		return "the files are the same model, byte for byte in every tensor, key and node"
	case report.VerdictSameOnPrefix:
		if c.declares {
			return declaredAlone
		}
		return c.differences("the new file encodes the old positions as before") + c.rest()
	case report.VerdictConsistent:
		return c.differences("an encoding changed") + c.rest()
	case report.VerdictChangedAsPlanned:
		return c.differences("the planned change is there") + ", as " + c.planner() + c.rest()
	}
	for _, k := range c.report.Checks {
		if k.Verdict == report.CheckFail {
			return k.Name + ": " + k.Why
		}
	}
	return "the files differ"
}

// hints are the command line that makes the plan which a different file follows, where there is one. No plan excuses
// a file that engines refuse.
func (c *comparison) hints() []string {
	if c.report.Verdict != report.VerdictDifferent || c.o.Plan != nil || c.o.Expect != "" || c.o.Remake == "" ||
		slices.ContainsFunc(c.after.Findings(), func(f report.Finding) bool { return f.Level == report.LevelError }) {
		return nil
	}
	return []string{c.o.Remake}
}

// planner says where the plan is from.
func (c *comparison) planner() string {
	if c.o.Record != "" {
		return report.Printable(c.o.Record) + " plans"
	}
	return "was planned"
}

// rest says that nothing else differs, or what else does and matters to nobody.
func (c *comparison) rest() string {
	if c.described {
		return "; everything else is equal byte for byte, but for the producer, version, documentation or metadata that the file states"
	}
	return "; everything else is equal byte for byte"
}

// differences lists what became of the encodings.
func (c *comparison) differences(otherwise string) string {
	var out []string
	if c.window.Positions > 0 && c.changed {
		out = append(out, fmt.Sprintf("queries see %s", c.window))
	}
	for _, p := range c.pairs {
		a, b := p.before.Encoding(), p.after.Encoding()
		switch {
		case !a.Scheme.Equal(b.Scheme) && !p.longer():
			out = append(out, fmt.Sprintf("%s became %s", a.Scheme, b.Scheme))
		case p.rebuilt() && b.Form == report.FormKeys && divided(b):
			out = append(out, fmt.Sprintf("%s is scaled by divisors and was by keys", position.EncodingName(a.Scheme)))
		case p.rebuilt() && b.Form == report.FormKeys:
			out = append(out, fmt.Sprintf("%s is scaled by keys and was by divisors", position.EncodingName(a.Scheme)))
		case p.rebuilt() && b.Form == report.FormRuntime:
			out = append(out, fmt.Sprintf("%s is computed by the model and was stored", position.EncodingName(a.Scheme)))
		case p.rebuilt():
			out = append(out, fmt.Sprintf("%s is stored for %d positions and was computed by the model", position.EncodingName(a.Scheme), b.Capacity))
		case a.Capacity != b.Capacity:
			out = append(out, fmt.Sprintf("%s has %d positions and had %d", position.EncodingName(a.Scheme), b.Capacity, a.Capacity))
		}
	}
	for _, s := range c.added {
		out = append(out, fmt.Sprintf("%s was added", s.Encoding().Scheme))
	}
	for _, s := range c.removed {
		out = append(out, fmt.Sprintf("%s is gone", s.Encoding().Scheme))
	}
	a, b := c.before.Describe().Length.Stated, c.after.Describe().Length.Stated
	if a != nil && b != nil && *a != *b {
		out = append(out, fmt.Sprintf("the stated length is %d and was %d", *b, *a))
	}
	if was, is, differ := c.otherPictures(); differ && len(out) == 0 {
		out = append(out, fmt.Sprintf("it takes pictures of %d×%d pixels", is[0], is[1]))
		if was != [2]int{} {
			out[0] += fmt.Sprintf(" and took %d×%d", was[0], was[1])
		}
	}
	if len(out) == 0 {
		return otherwise
	}
	return strings.Join(out, "; ")
}

// single is the verdict about one file in a sentence.
func (c *comparison) single() string {
	for _, k := range c.report.Checks {
		if k.Verdict == report.CheckFail {
			return k.Name + ": " + k.Why
		}
	}
	if slices.ContainsFunc(c.report.Checks, func(k report.Check) bool {
		return k.Verdict == report.CheckSkipped && strings.Contains(k.Why, rowsUnread)
	}) {
		return "the file is complete; the rows of a table were not read"
	}
	n := 0
	for _, s := range c.before.Sites() {
		e := s.Encoding()
		if r, turns := rotaryOf(e); isFormula(e.Scheme) && (!turns || !r.ByPlace()) { // see formula
			n++
		}
	}
	switch n {
	case 0:
		return "the file is complete and its tables are finite; no formula says what their numbers should be"
	case 1:
		return "the file is complete, and the numbers of its encoding are those of its formula"
	}
	return fmt.Sprintf("the file is complete, and the numbers of %d encodings are those of their formulas", n)
}
