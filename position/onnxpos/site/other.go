package site

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Other is an encoding that is recognised and that no verb changes.
type Other struct {
	Base
	Why string // it cannot be changed, where more is to be said
}

// NewOther makes such a site of what is told of it.
func NewOther(e position.Encoding) *Other { return &Other{Base: Base{Detected: e}} }

// Join makes the same mechanism of another layer part of the site, which stands for
// the first that tells its window.
func (o *Other) Join(other *Other) {
	if o.Detected.Scheme.(schemes.Other).Window == nil && other.Detected.Scheme.(schemes.Other).Window != nil {
		o.Detected.Scheme = other.Detected.Scheme
	}
	o.Detected.Where = append(o.Detected.Where, other.Detected.Where...)
}

// Store refuses: nothing here can be given other numbers.
func (o *Other) Store(want position.Want) error {
	if o.Why != "" {
		return &position.Refusal{Why: o.Why, Instead: "export the model for the wanted length"}
	}
	what := "the model's " + position.EncodingName(o.Detected.Scheme)
	if o.Detected.Scheme.Name() == report.SchemeUnknown {
		what = "an encoding that was not recognised"
	}
	if n := o.Detected.Capacity; o.Detected.Scheme.Name() == report.SchemeRelativeTable && n > 0 && want.Positions > n {
		return &position.Refusal{Why: fmt.Sprintf("%s has the distances of %d positions, and what belongs to further ones is not in the file", what, n), Instead: "export the model for the wanted length"}
	}
	return &position.Refusal{Why: what + " cannot be changed in an ONNX file",
		Instead: "export the model again with the wanted configuration"}
}

// ReadOnly returns the site: Store refuses whatever is wanted.
func (o *Other) ReadOnly() position.Site { return o }

// SetEnd bounds a table of distances that nothing seemed to bound.
func (o *Other) SetEnd(positions int, evidence report.Evidence) {
	if o.Detected.Form == report.FormTable {
		o.Detected.Capacity, o.Detected.Beyond = positions, report.BeyondError
		o.Detected.Evidence = append(o.Detected.Evidence, evidence)
	}
}

// Residual is the residual of a fit for reports, nil where it has none (NaN).
func Residual(x float64) *report.Number {
	if math.IsNaN(x) {
		return nil
	}
	n := report.Number(x)
	return &n
}
