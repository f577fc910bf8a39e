package verify

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Inspect checks one file against itself: that its data are there, its tables
// finite and of the formula that they seem to be, its rotations of one length.
func Inspect(m position.Model, o Options) report.Verify {
	c := &comparison{before: m, after: m, o: Options{SecondOpinion: o.SecondOpinion, Absent: o.Absent, Sample: o.Sample}}
	path := m.Describe().Path
	c.report = report.Verify{Schema: report.SchemaVerify, Before: path, After: path}
	c.parts(m)
	for i, s := range m.Sites() {
		c.properties(pair{i, i, s, s})
	}
	c.step(report.CheckAttention, func() {
		c.laws(m)
		c.alone()
	})
	c.report.Verdict = report.VerdictConsistent
	if c.failed {
		c.report.Verdict = report.VerdictBroken
	}
	c.report.Summary = c.single()
	return c.report
}

// parts reads the place of every part: data that are missing show here.
func (c *comparison) parts(m position.Model) {
	k := report.Check{Name: report.CheckStructure, Verdict: report.CheckPass}
	if p, ok := m.(position.Parted); ok {
		if _, err := p.Parts(); err != nil {
			k.Verdict, k.Why = report.CheckFail, err.Error()
		}
	}
	for _, f := range m.Findings() {
		if f.Level == report.LevelError && k.Verdict == report.CheckPass {
			k.Verdict, k.Why = report.CheckFail, f.Message
			if f.Where != nil {
				k.At = &report.At{Where: f.Where}
			}
		}
	}
	c.add(k)
}

// properties checks what must hold for an encoding's own numbers.
func (c *comparison) properties(p pair) {
	e := p.before.Encoding()
	if rows, ok := p.before.(position.Rows); ok && rows.Len() > 0 {
		c.finite(p, rows)
	}
	rotator, ok := p.before.(position.Rotator)
	rotary, isRotary := rotaryOf(e)
	if !ok || !isRotary {
		return
	}
	k := report.Check{Name: report.CheckProperties, Verdict: report.CheckPass, Tolerance: &float32Angle,
		Why: fmt.Sprintf("%s: cos² + sin² is the attention factor squared", position.ID(p.index))}
	n := rotary.Pairs()
	cos, sin := make([]float64, n), make([]float64, n)
	storage := float64(storageTolerance(e.Dtype).Value)
	var d difference
	var amplitude float64
	for i, pos := range samplePositions(places(e, c.newLength())) {
		if err := rotator.Rotation(pos, c.newLength(), cos, sin); err != nil {
			k = withoutRow(k, p.index, err)
			break
		}
		for j := range n {
			a := math.Hypot(cos[j], sin[j])
			if i == 0 && j == 0 {
				amplitude = a
			}
			if d.look(a, amplitude) {
				k.At = &report.At{Position: report.Pointer(pos), Where: firstWhere(p.before)}
			}
		}
	}
	if k.Verdict == report.CheckSkipped {
		c.add(k)
		return
	}
	k.Measure = d.measure()
	if d.abs > (storage+float64(float32Angle.Value))*4*math.Max(amplitude, 1) {
		k.Verdict = report.CheckFail
	}
	c.add(k)
	if !rotary.Scaling.IsCustom() {
		c.formula(p, rotator, rotary, false, false)
	}
}

// finite checks that no row holds NaN or an infinity.
func (c *comparison) finite(p pair, rows position.Rows) {
	k := report.Check{Name: report.CheckTable, Verdict: report.CheckPass, Why: fmt.Sprintf("%s: %d rows are finite", position.ID(p.index), rows.Len())}
	row := make([]float64, rows.Dim())
	for i := range rows.Len() {
		if err := rows.Row(i, row); err != nil {
			k = withoutRow(k, p.index, err)
			break
		}
		for j, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				k.Verdict, k.Why = report.CheckFail, fmt.Sprintf("%s: row %d, column %d is not finite", position.ID(p.index), i, j)
				k.At = &report.At{Position: report.Pointer(i - offsetOf(p.before.Encoding())), Where: firstWhere(p.before)}
				c.add(k)
				return
			}
		}
	}
	c.add(k)
}
