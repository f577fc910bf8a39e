package position

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/position/deviation"
	"github.com/modelpatch/modelpatch/report"
)

// Inspect is the whole report about a model.
func Inspect(m Model) report.Inspect {
	r := m.Describe()
	r.Schema = report.SchemaInspect
	r.Encodings = []report.Encoding{}
	for i, s := range m.Sites() {
		e := attended(m, i, s.Encoding()).Report(ID(i))
		if says := deviation.Chosen(s.Encoding().Scheme, r); says != "" {
			e.Notes = append(e.Notes, says)
		}
		r.Encodings = append(r.Encodings, e)
	}
	r.Findings = m.Findings()
	if r.Findings == nil {
		r.Findings = []report.Finding{}
	}
	if r.Files == nil {
		r.Files = []report.File{}
	}
	r.Length = Length(m, r)
	describePictures(m, &r.Length)
	return r
}

// Deviations adds to a report what an engine, one of deviation.Engines, computes otherwise: each
// sentence once.
func Deviations(m Model, r report.Inspect, engine string) {
	told := map[string]bool{}
	for i, s := range m.Sites() {
		for _, says := range deviation.Notes(engine, s.Encoding().Scheme, r, deviations(s)) {
			if !told[says] {
				told[says] = true
				r.Encodings[i].Notes = append(r.Encodings[i].Notes, says)
			}
		}
	}
}

// ID names the encoding of site i in reports: e0, e1 …
func ID(i int) string { return fmt.Sprintf("e%d", i) }

// FormatONNX and FormatGGUF are the names of formats in reports.
const (
	FormatONNX = "onnx"
	FormatGGUF = "gguf"
)

// Length sums up how far a model counts: the least capacity of its encodings, or how far it runs (Ender), whichever is less. A grid of
// image patches counts where nothing else bounds it: beside text, it is the size of the picture. A fixed dimension, which only ONNX
// has, bounds it as well; a length that GGUF merely states does not.
func Length(m Model, described report.Inspect) report.Length {
	out := report.Length{Stated: described.Length.Stated, Beyond: report.BeyondUnknown}
	sites := m.Sites()
	least := 0
	text := slices.ContainsFunc(sites, func(s Site) bool { return s.Encoding().Bounds() })
	for i, s := range sites {
		e := s.Encoding()
		switch {
		case text && e.IsGrid(), e.Apart:
		case e.Capacity > 0 && (least == 0 || e.Capacity < least):
			least, out.Beyond = e.Capacity, e.Beyond
		case least == 0 && i == 0:
			out.Beyond = e.Beyond
		case least == 0 && out.Beyond != e.Beyond:
			out.Beyond = report.BeyondUnknown
		}
	}
	if n := out.Stated; described.Format == FormatGGUF && n != nil && *n > 0 && *n < least {
		least = *n // the lesser of the two
	}
	if n := out.Stated; described.Format == FormatONNX && n != nil && (least == 0 || *n < least) {
		least, out.Beyond = *n, report.BeyondError
	}
	if f, ok := m.(Ender); ok {
		if least == 0 && f.InputIsFixed() {
			out.Beyond = report.BeyondError
		}
		if n, _ := f.End(); n > 0 && (least == 0 || n < least) {
			least, out.Beyond = n, report.BeyondError
		}
	}
	if least > 0 {
		out.Capacity = report.Pointer(least)
	}
	return out
}

// Ender is implemented by models that may end where no encoding of theirs does.
type Ender interface {
	// InputIsFixed reports whether the main input is of one size alone: what is longer or
	// larger cannot be given to the model, whatever its encodings hold.
	InputIsFixed() bool
	// End is the longest input with which the model runs, where that is less than what its
	// encodings hold, else 0; and how many positions they hold for tokens beside those of the input.
	End() (longest, beside int)
	// Counted is how many positions the graph counts where encoding i meets the data, at the length that was looked at; 0: not told.
	Counted(i int) int
}
