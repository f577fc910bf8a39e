package position

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// computing is a scaling together with the engine whose numbers are written.
type computing struct {
	as, scaling string
	noTruncate  bool
}

// engineOf is the engine whose numbers a format's files hold unless another is asked for.
func (o computing) engineOf(format string) string {
	switch {
	case o.as != "":
		return o.as
	case format == FormatGGUF && !o.noTruncate:
		return schemes.EngineLlamaCpp
	}
	return schemes.EngineTransformers
}

// checkEngine looks at the engine that was asked for.
func (o computing) checkEngine(t *schemes.ScalingType) error {
	switch {
	case o.as == "":
		return nil
	case !slices.Contains(schemes.Engines, o.as):
		return &UsageError{What: fmt.Sprintf("--as %q: it is one of %s", o.as, strings.Join(schemes.Engines, ", "))}
	case o.scaling == "":
		return &UsageError{What: "--as: it says how a scaling is computed, and none is asked for; every engine computes a base alike"}
	case t.Engines != nil && len(t.Engines) == 0:
		return &UsageError{What: fmt.Sprintf("--as %s: %s is computed by none of these engines, the numbers are those of its paper", o.as, t.Title)}
	case t.Engines != nil && !slices.Contains(t.Engines, o.as):
		return &UsageError{What: fmt.Sprintf("--as %s: of these engines %s alone has %s", o.as, strings.Join(t.Engines, ", "), t.Title)}
	case o.noTruncate && o.as == schemes.EngineLlamaCpp:
		return &UsageError{What: "--as llama.cpp --truncate=false: llama.cpp always rounds the bounds of YaRN's ramp"}
	}
	return nil
}

// ramps reports whether the type that is asked for has a ramp whose bounds engines round
// or not.
func (o computing) ramps() bool {
	return schemes.Scaling{Type: o.scaling}.Kind().Reads(schemes.ParameterNoTruncate.Name)
}

// chooses reports whether the type that is asked for chooses between lists by the length.
func (o computing) chooses() bool {
	t := schemes.Scaling{Type: o.scaling}.Kind()
	return t.Listed && t.ByLength
}

// byEngine is whether the bounds of a ramp stay unrounded, as the engine computes them. It refuses what the engine has in
// a form that the file cannot hold.
func (o computing) byEngine(d report.Inspect) (noTruncate bool, err error) {
	if o.chooses() && d.Format == FormatONNX && o.as == schemes.EngineLlamaCpp {
		return o.noTruncate, &Refusal{Why: "llama.cpp chooses between LongRoPE's lists by the size of the context that it was started with, and a graph does not know that",
			Remedies: []report.Remedy{report.Do("", "chooses by the greatest position", "as", schemes.EngineTransformers)}}
	}
	return o.noTruncate || o.ramps() && o.engineOf(d.Format) == schemes.EngineORTGenAI, nil
}

// builds refuses a ramp at which the model builder of ONNX Runtime GenAI stops, or one
// that it computes with another number of pairs.
func (o computing) builds(to schemes.Rotary) error {
	if o.as != schemes.EngineORTGenAI || !o.ramps() {
		return nil
	}
	if to.HeadDim > 0 && to.HeadDim != to.Dim {
		return &Refusal{Why: fmt.Sprintf("ONNX Runtime GenAI's builder computes YaRN for all %d elements of a head, and this model turns %d of them", to.HeadDim, to.Dim),
			Remedies: []report.Remedy{report.Do("", "computes it for those that turn", "as", schemes.EngineTransformers)}}
	}
	s := to.Scaling
	low, high := schemes.YaRNRamp(to.Base, to.Dim, s.OriginalLength, s.BetaFast, s.BetaSlow, false)
	if !(low > 0 && low < high && high < float64(to.Pairs()-1)) {
		return &Refusal{Why: fmt.Sprintf("ONNX Runtime GenAI's builder stops at this ramp: from pair %s to pair %s, and it must begin after pair 0 and end before pair %d", schemes.Text(low), schemes.Text(high), to.Pairs()-1),
			Remedies: []report.Remedy{report.Do("", "limits the ramp to the pairs that there are", "as", schemes.EngineTransformers)}}
	}
	return nil
}

// whose says whose numbers were written: of YaRN, on which engines differ, always, of
// other types where an engine was asked for.
func (o computing) whose(d report.Inspect) string {
	switch engine := o.engineOf(d.Format); {
	case o.ramps() && o.noTruncate:
		return fmt.Sprintf("YaRN as %s computes it: its ramp begins and ends between two pairs", engine)
	case o.ramps() && d.Format == FormatGGUF:
		return "" // Outcome.deviates tells
	case o.ramps():
		return fmt.Sprintf("YaRN as %s computes it: its ramp begins and ends at a pair, the bounds being rounded to whole numbers", engine)
	case o.as != "" && o.chooses() && d.Format == FormatGGUF:
		return "the file holds LongRoPE's lists, and llama.cpp chooses between them by the size of its context, whatever engine is asked for"
	case o.as != "":
		return fmt.Sprintf("%s as %s computes it", schemes.Scaling{Type: o.scaling}.Kind().Title, engine)
	}
	return ""
}
