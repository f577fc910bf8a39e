package verify

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify/reference"
)

// Case is one head's attention as plain numbers, for foreign code to compute: out =
// softmax(cap(q·kᵀ·Scale) + Bias)·v with q and k turned. Rows are positions.
type Case struct {
	Layer, Head       int
	Query, Key, Value [][]float64 // not turned
	// Angles are radians, a column a pair: foreign code makes its own cosines and sines of
	// them, times Amplitude. Cos and Sin stand in their place where no formula gives
	// angles. All nil: no rotation.
	Angles, Cos, Sin [][]float64
	Amplitude        float64
	First, Dim       int // the elements that are turned: Dim from First on
	Interleaved      bool
	Scale, Softcap   float64
	Sink             []float64 // a score that has no value, or none
	Causal           bool      // keys behind the query are masked
	// Slope is ALiBi's: −Slope·|query − key| is added.
	Slope float64
	Bias  [][]float64 // query by key, −Inf where masked; nil: none
}

// opinionTolerance bounds the difference between two float64 programs that
// compute the same attention: sums of a few thousand terms.
var opinionTolerance = report.Tolerance{Name: "foreign-float64", Value: 1e-11}

// maxOpinion bounds the positions of a case: its program has matrices of their square.
const maxOpinion = 256

// newCase writes a head's attention out as numbers, by formulas where there are some. The
// reference uses them, too, from then on.
func newCase(r *reference.Reference, h *trial.Head) (Case, error) {
	t, a := r.Trial, r.Attention
	out := Case{Layer: a.Layer, Head: h.Head, Query: h.Query, Key: h.Key, Value: h.Value, Scale: h.Scale, Softcap: h.Softcap, Sink: h.Sink, Amplitude: 1, Causal: a.Causal && t.Past == 0}
	switch {
	case t.Past > 0:
		return out, fmt.Errorf("the second program takes no cache, and %d keys come from one", t.Past)
	case t.Keys > maxOpinion:
		return out, fmt.Errorf("the second program takes at most %d positions, and these are %d", maxOpinion, t.Keys)
	}
	formula := r.Formula()
	rotary, cos, sin, turns, err := r.Rotation()
	if err != nil {
		return out, err
	}
	if turns {
		out.First, out.Dim, out.Interleaved = t.First, rotary.Dim, rotary.Layout == schemes.LayoutInterleaved
		if out.Cos, out.Sin = cos, sin; formula {
			out.Cos, out.Sin, out.Amplitude = nil, nil, rotary.Amplitude()
			f := rotary.InverseFrequencies()
			for p := range max(t.Queries, t.Keys) {
				row := make([]float64, len(f))
				for i := range f {
					row[i] = float64(p) * f[i]
				}
				out.Angles = append(out.Angles, row)
			}
		}
	}
	return out, r.Biases(h, &out.Slope, &out.Bias)
}

// secondOpinion has foreign code compute a head of the new file, and compares.
func (c *comparison) secondOpinion(r *reference.Reference, h *trial.Head) {
	if c.o.SecondOpinion == nil {
		if why := c.o.Absent; why != "" && !c.has(report.CheckSecondOpinion) {
			c.skip(report.CheckSecondOpinion, why)
		}
		return
	}
	k := report.Check{Name: report.CheckSecondOpinion, Verdict: report.CheckPass, Inputs: "weights", Tolerance: &opinionTolerance,
		Why: fmt.Sprintf("layer %d, head %d", r.Attention.Layer, h.Head)}
	var own, other [][]float64
	job, err := newCase(r, h)
	if err == nil {
		own, err = r.Output(h)
	}
	if err == nil {
		other, err = c.o.SecondOpinion(job)
	}
	if err != nil {
		k.Verdict, k.Why, k.Tolerance = report.CheckSkipped, k.Why+": "+err.Error(), nil
		c.add(k)
		return
	}
	var d difference
	if d.rows(own, other, func(p int) { k.At = place(r.Attention.Layer, h.Head, p) }); d.shapes || math.IsNaN(d.abs) {
		k.Verdict, k.Why = report.CheckFail, k.Why+": the outputs have different shapes, or are not finite"
	}
	if k.Measure = d.measure(); !(float64(k.Measure.MaxRel) <= float64(opinionTolerance.Value)) {
		k.Verdict = report.CheckFail
	}
	c.add(k)
}

func place(layer, head, position int) *report.At {
	return &report.At{Layer: report.Pointer(layer), Head: report.Pointer(head), Position: report.Pointer(position)}
}
