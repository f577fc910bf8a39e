package verify

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Options say what a comparison may expect.
type Options struct {
	// Plan is what the change said it would do; nil: not known.
	Plan *report.Plan
	// Expect is report.ExpectSame, …SameOnPrefix or …Changed; "": taken from
	// Plan, or judged from the files.
	Expect string
	// SecondOpinion computes one attention case by foreign code; nil: that
	// check is skipped, saying Absent.
	SecondOpinion func(Case) ([][]float64, error)
	Absent        string
	// Sample is how much of the attention is run.
	Sample Sample
	// Again is the old file with the change made again: the plan's, or without a plan
	// the one that comes nearest to the new file, as Command says it. The new file is
	// held against it part by part. nil: not made, since NotMade.
	Again            position.Model
	Command, NotMade string
	// Record names the file beside the models in which Plan was found; "": it was given.
	Record string
	// Remake is a command line that makes the plan of Again and compares by it; "": there is none.
	Remake string
	// Compared is told of the bytes of large tensors that were compared, and of how many there
	// are, one call at a time; an error ends the comparison, whose verdict says nothing then. nil: not told.
	Compared func(done, total int64) error
	// Unfit says why the plan is not one for the old file; "": it is.
	Unfit string
}

// Compare says whether after is before, but for a change of position encoding.
func Compare(before, after position.Model, o Options) report.Verify {
	c := &comparison{before: before, after: after, o: o, expect: o.expectation(), window: plannedWindow(o.Plan)}
	if o.Plan == nil && o.Expect == "" {
		c.window = AddedWindow(before, after)
	}
	c.report = report.Verify{Schema: report.SchemaVerify, Before: before.Describe().Path, After: after.Describe().Path}
	c.step(report.CheckPlan, c.plan)
	c.declares = DeclaresAlone(before, after)
	c.step(report.CheckStructure, c.structure)
	identical := false
	c.step(report.CheckBytes, func() { identical = c.bytes() })
	c.faults(identical)
	same := "the files are the same"
	if c.declares = c.declares && !identical && !c.failed; c.declares {
		same = declaredAlone
	}
	if !identical && !c.declares {
		c.step(report.CheckTable, c.tables)
		c.step(report.CheckAttention, c.attention)
	} else {
		c.skip(report.CheckTable, same)
		c.skip(report.CheckAttention, same)
		c.skip(report.CheckSecondOpinion, same)
	}
	c.report.Verdict = c.verdict(identical)
	c.report.Summary, c.report.Hints = c.summary(), c.hints()
	return c.report
}

// declaredAlone is why nothing is computed where no node and no constant differs. Encodings that are read otherwise
// at other sizes, or not at all, are the same all the same.
const declaredAlone = "declared sizes differ, and no constant or node does"

// step makes one check. Two files that have nothing to do with each other may
// contradict what a check takes for granted: that is a failed check, no crash.
func (c *comparison) step(name string, check func()) {
	defer func() {
		r := recover()
		if a, ok := r.(position.Abandoned); ok {
			c.skip(name, a.Error())
		} else if r != nil {
			c.add(report.Check{Name: name, Verdict: report.CheckFail, Why: fmt.Sprintf("the two files cannot be compared here (%v): please report it", r)})
		}
	}()
	check()
}

// comparison is one run of Compare.
type comparison struct {
	before, after position.Model
	o             Options
	expect        string
	window        schemes.SlidingWindow // that the plan announces, or that was added without one
	report        report.Verify
	pairs         []pair
	added         []position.Site
	removed       []position.Site
	alike         bool // an encoding is another one, and the same for all inputs of the new file
	changed       bool // numbers of some position differ
	failed        bool
	declares      bool                      // nothing differs but declared sizes
	described     bool                      // who made the file, and what for, is said otherwise
	again         map[partKey]position.Part // of Options.Again; nil: not made
	large         compared                  // parts of both files
}

// plan takes the parts of the change that was made again.
func (c *comparison) plan() {
	if c.o.Unfit != "" {
		c.add(report.Check{Name: report.CheckPlan, Verdict: report.CheckFail, Why: c.o.Unfit})
	}
	if c.o.Again == nil {
		if c.o.Plan != nil && c.o.Unfit == "" {
			c.skip(report.CheckPlan, "the change was not made again to be compared: "+c.o.NotMade)
		}
		return
	}
	again, err := partsOf(c.o.Again)
	if err != nil {
		c.skip(report.CheckPlan, "the change that was made again cannot be taken apart: "+err.Error())
		return
	}
	c.again = again
}

// pair is an encoding of the one file and its successor in the other.
type pair struct {
	index         int // in before
	afterIndex    int
	before, after position.Site
}

// expectation is the strongest change that a plan announces.
func (o Options) expectation() string {
	if o.Expect != "" || o.Plan == nil {
		return o.Expect
	}
	if all := report.Expected(o.Plan.Changes); all != report.ExpectUnknown {
		return all
	}
	return ""
}

func (c *comparison) add(k report.Check) {
	if k.Verdict == report.CheckFail {
		c.failed = true
	}
	c.report.Checks = append(c.report.Checks, k)
}

func (c *comparison) skip(name, why string) {
	c.add(report.Check{Name: name, Verdict: report.CheckSkipped, Why: why})
}

// otherPictures are the sizes of pictures of both files where they differ: windows that a picture is cut into, and their tables, may be the
// same.
func (c *comparison) otherPictures() (was, is [2]int, differ bool) {
	a, okA := c.before.(position.Sized)
	b, okB := c.after.(position.Sized)
	if !okA || !okB {
		return was, is, false
	}
	was, _, _ = a.Sizes()
	is, _, _ = b.Sizes()
	return was, is, was != is && is != [2]int{} && (was != [2]int{} || c.expect == report.ExpectChanged)
}

// structure pairs the encodings of both files.
func (c *comparison) structure() {
	a, b := c.before.Describe(), c.after.Describe()
	k := report.Check{Name: report.CheckStructure, Verdict: report.CheckPass}
	fail := func(where *report.Where, why string, args ...any) {
		if k.Verdict != report.CheckPass {
			return // the first one is told
		}
		if k.Verdict, k.Why = report.CheckFail, fmt.Sprintf(why, args...); where != nil {
			k.At = &report.At{Where: where}
		}
	}
	switch {
	case a.Format != b.Format:
		fail(nil, "one file is %s and the other %s", a.Format, b.Format)
	case a.Kind != b.Kind && (c.o.Again == nil || c.o.Again.Describe().Kind != b.Kind): // divisors make a vocabulary file one of tensors
		fail(nil, "one file is of kind %s and the other %s", a.Kind, b.Kind)
	case text(a.Architecture) != text(b.Architecture):
		fail(nil, "architectures differ: %q and %q", text(a.Architecture), text(b.Architecture))
	}
	if c.pairSites(); c.declares {
		c.added, c.removed, c.changed = nil, nil, false
	}
	_, _, pictures := c.otherPictures()
	c.changed = c.changed || pictures
	for _, p := range c.pairs {
		if p.before.Encoding().Scheme.Name() == report.SchemeLearned {
			x := p.before.Encoding().Scheme.(schemes.Learned)
			y, ok := p.after.Encoding().Scheme.(schemes.Learned)
			if !ok {
				continue
			}
			if x.Dim != y.Dim || x.Offset != y.Offset {
				fail(firstWhere(p.after), "%s: rows of %d elements, the first %d before position 0, became rows of %d, the first %d", position.ID(p.index), x.Dim, x.Offset, y.Dim, y.Offset)
			}
		}
	}
	if c.expect != report.ExpectChanged {
		if len(c.removed) > 0 {
			fail(firstWhere(c.removed[0]), "an encoding is gone: %s", c.removed[0].Encoding().Scheme)
		}
		if len(c.added) > 0 {
			fail(firstWhere(c.added[0]), "an encoding was added: %s", c.added[0].Encoding().Scheme)
		}
	}
	c.add(k)
}

// faults fails a new file that an engine refuses, or in which it computes something
// else than was meant: findings of level error. A file that differs from the old
// one only in having them is no copy either; of two that are the same in all that counts,
// those of both are no difference.
func (c *comparison) faults(identical bool) {
	for _, f := range c.after.Findings() {
		if f.Level != report.LevelError || identical && slices.ContainsFunc(c.before.Findings(), func(g report.Finding) bool { return g.Rule == f.Rule }) {
			continue
		}
		k := report.Check{Name: report.CheckProperties, Verdict: report.CheckFail, Why: f.Message}
		if f.Where != nil {
			k.At = &report.At{Where: f.Where}
		}
		c.add(k)
		return // the first one is told; verify of the file alone tells all
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// pairSites finds which encodings of the old file are which of the new one.
func (c *comparison) pairSites() {
	before, after := c.before.Sites(), c.after.Sites()
	for _, p := range Pairs(before, after) {
		switch {
		case p.After < 0:
			c.removed = append(c.removed, before[p.Before])
		case p.Before < 0:
			c.added = append(c.added, after[p.After])
		default:
			c.pairs = append(c.pairs, pair{p.Before, p.After, before[p.Before], after[p.After]})
		}
	}
	if len(c.added)+len(c.removed) > 0 {
		c.changed = true
	}
}

// lengthAlone reports whether all that a plan says of other outputs comes from
// the stated length, by which an engine chooses: the numbers of no encoding
// change then.
func (o Options) lengthAlone() bool {
	return o.Plan != nil && !slices.ContainsFunc(o.Plan.Changes, func(ch report.Change) bool {
		return ch.Expect == report.ExpectChanged && ch.Encoding != ""
	})
}

// verdict sums the checks up against what was expected.
func (c *comparison) verdict(identical bool) string {
	switch {
	case c.failed:
		return report.VerdictDifferent
	case identical:
		if c.expect == report.ExpectChanged {
			return c.missing()
		}
		return report.VerdictSame
	case !c.changed && c.o.Expect == report.ExpectSame:
		c.add(report.Check{Name: report.CheckProperties, Verdict: report.CheckFail, Why: "the files are not the same, though the old positions are encoded as before"})
		return report.VerdictDifferent
	case !c.changed:
		if c.expect == report.ExpectChanged {
			switch {
			case c.o.lengthAlone():
				return report.VerdictChangedAsPlanned
			case c.alike:
				return report.VerdictSameOnPrefix
			}
			return c.missing()
		}
		return report.VerdictSameOnPrefix
	case c.expect == report.ExpectChanged:
		return report.VerdictChangedAsPlanned
	case c.expect == "":
		return report.VerdictConsistent
	}
	c.add(report.Check{Name: report.CheckProperties, Verdict: report.CheckFail, Why: "positions within the old length are encoded differently, which was not planned"})
	return report.VerdictDifferent
}

func (c *comparison) missing() string {
	c.add(report.Check{Name: report.CheckProperties, Verdict: report.CheckFail, Why: "the planned change is not there: positions are encoded as before"})
	return report.VerdictDifferent
}

func offsetOf(e position.Encoding) int {
	switch s := e.Scheme.(type) {
	case schemes.Learned:
		return s.Offset
	case schemes.Sinusoid:
		return s.Offset
	}
	return 0
}

func rotaryOf(e position.Encoding) (schemes.Rotary, bool) {
	r, ok := e.Scheme.(schemes.Rotary)
	return r, ok && r.Dim > 0
}

// difference is the largest difference of two lists of numbers so far.
type difference struct {
	abs, scale float64
	at         int  // the row of the largest
	shapes     bool // what was compared is of different shapes
	seen       bool
	bits       bool // a number is another one, or another form of zero or of NaN
}

// look compares two numbers; it reports whether this is the largest difference
// so far.
func (d *difference) look(a, b float64) bool {
	d.scale = math.Max(d.scale, math.Max(math.Abs(a), math.Abs(b)))
	x := math.Abs(a - b)
	if math.IsNaN(a) != math.IsNaN(b) {
		x = math.Inf(1)
	}
	d.bits = d.bits || math.Float64bits(a) != math.Float64bits(b)
	if x > d.abs {
		d.abs, d.seen = x, true
		return true
	}
	return false
}

// rows compares two lists of rows, and tells the row of the largest difference.
func (d *difference) rows(x, y [][]float64, tell func(row int)) {
	if d.shapes = len(x) != len(y); d.shapes {
		return
	}
	for r := range x {
		if len(x[r]) != len(y[r]) {
			d.shapes = true
			return
		}
		for i := range x[r] {
			if d.look(x[r][i], y[r][i]) {
				d.at = r
				tell(r)
			}
			if math.IsNaN(x[r][i]) || math.IsNaN(y[r][i]) {
				d.abs = math.NaN()
				return
			}
		}
	}
}

func (d difference) measure() *report.Measure {
	rel := 0.0
	if d.scale > 0 {
		rel = d.abs / d.scale
	}
	return &report.Measure{MaxAbs: report.Number(d.abs), MaxRel: report.Number(rel)}
}
