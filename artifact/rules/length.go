package rules

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// has reports whether a finding of a rule is there already: the same fact is told once.
func (f *Facts) has(ids ...string) bool {
	for _, found := range f.Report.Findings {
		for _, id := range ids {
			if found.Rule == id {
				return true
			}
		}
	}
	return false
}

// isModel reports whether the file is a whole model that was read.
func (f *Facts) isModel() bool { return f.Report != nil && f.Report.Kind == report.KindModel }

// place is where an encoding's first table, node or key is.
func place(e report.Encoding) *report.Where {
	if len(e.Where) == 0 {
		return nil
	}
	return &e.Where[0]
}

// name is how messages call an encoding.
func name(e report.Encoding) string { return report.EncodingName(e.Scheme) }

func silentlyWrong(f *Facts, found func(report.Finding)) {
	if !f.isModel() {
		return
	}
	for i, e := range f.Report.Encodings {
		if e.Capacity == nil {
			continue
		}
		happens := ""
		switch e.Beyond {
		case report.BeyondClamps:
			happens = "the last row is used again for every position behind it"
		case report.BeyondWrong:
			happens = "the model runs, and its numbers are wrong"
		default:
			continue
		}
		says := report.Finding{Message: fmt.Sprintf("%s: beyond %d positions %s, without a message", name(e), *e.Capacity, happens), Where: place(e)}
		if f.isReadOnly(i) {
			says.Hint = "export the model again with room for more: no verb changes this encoding"
		} else {
			says.Remedies = []report.Remedy{report.Do("extend", "makes room for more", "len", "N")}
		}
		found(says)
	}
}

// isReadOnly reports whether no verb can change an encoding.
func (f *Facts) isReadOnly(encoding int) bool {
	if f.Model == nil || encoding >= len(f.Model.Sites()) {
		return false
	}
	s := f.Model.Sites()[encoding]
	r, ok := s.(position.ReadOnly)
	return ok && r.ReadOnly() == s
}

func belowStated(f *Facts, found func(report.Finding)) {
	if !f.isModel() || f.Report.Length.Stated == nil || f.has("gguf-rows-differ-from-length") {
		return
	}
	stated := *f.Report.Length.Stated
	for _, e := range f.Report.Encodings {
		if e.Capacity != nil && *e.Capacity < stated && len(e.Parameters.Grid) == 0 {
			found(report.Finding{Message: fmt.Sprintf("%d positions are stated, and the %s has %d", stated, name(e), *e.Capacity), Where: place(e),
				Remedies: []report.Remedy{report.Do("extend", "makes it as long as stated", "len", fmt.Sprint(stated))}})
		}
	}
}

func fixedBelowTable(f *Facts, found func(report.Finding)) {
	if !f.isModel() || f.Report.Format != "onnx" || f.Report.Length.Stated == nil {
		return
	}
	stated := *f.Report.Length.Stated
	for _, e := range f.Report.Encodings {
		if e.Capacity != nil && *e.Capacity > stated && len(e.Parameters.Grid) == 0 {
			found(report.Finding{Message: fmt.Sprintf("the graph's input is fixed at %d positions, and the %s has %d", stated, name(e), *e.Capacity), Where: place(e),
				Remedies: []report.Remedy{report.Do("extend", "lets the whole table be used", "len", fmt.Sprint(*e.Capacity))}})
			return
		}
	}
}

func unstated(f *Facts, found func(report.Finding)) {
	if !f.isModel() || f.Report.Length.Stated != nil || f.Report.Length.Capacity != nil || f.Report.Length.Beyond == report.BeyondError || len(f.Stated.Lengths) > 0 || f.has("gguf-context-missing", "gguf-context-value") {
		return
	}
	for _, e := range f.Report.Encodings {
		switch e.Scheme {
		case report.SchemeNone, report.SchemeUnknown, report.SchemeConv:
		default:
			ends := "nothing in the file ends"
			if f.Report.Length.Limit() != report.NoLimit {
				ends = "how far the model reaches is not known"
			}
			found(report.Finding{Message: "neither the file nor a configuration beside it states a length, and " + ends})
			return
		}
	}
}

func unknownEncoding(f *Facts, found func(report.Finding)) {
	if f.Report == nil || f.has("onnx-unread-encoding", "onnx-too-large") {
		return
	}
	for _, e := range f.Report.Encodings {
		if e.Scheme != report.SchemeUnknown {
			continue
		}
		says := "a position encoding could not be recognised"
		if len(e.Evidence) > 0 {
			says += ": " + e.Evidence[0].Says
		}
		found(report.Finding{Message: says, Where: place(e)})
	}
}

// lengthSlack is how far a stated length may be above factor × original and count as the
// same: converters round.
const lengthSlack = 1.01

func yarnLength(f *Facts, found func(report.Finding)) {
	if !f.isModel() || f.Report.Length.Stated == nil || f.has("gguf-original-length-missing", "gguf-original-length-value") {
		return
	}
	stated := float64(*f.Report.Length.Stated)
	for _, e := range f.Report.Encodings {
		s := e.Parameters.Scaling
		if s == nil || s.Type != "yarn" || s.Factor == nil || s.OriginalLength == nil {
			continue
		}
		reaches, at := float64(*s.Factor)*float64(*s.OriginalLength), place(e)
		if i := slices.IndexFunc(e.Where, func(w report.Where) bool { return strings.Contains(w.Key, ".scaling.") }); i >= 0 {
			at = &e.Where[i]
		} else if at != nil && at.Key != "" {
			at = nil // the key of the base says nothing of it
		}
		switch {
		case stated > reaches*lengthSlack:
			found(report.Finding{Message: fmt.Sprintf("%.0f positions are stated, and YaRN ×%g from %d reaches %.0f", stated, float64(*s.Factor), *s.OriginalLength, reaches), Where: at,
				Remedies: []report.Remedy{report.Do("rope", "stretches as far as stated", "scaling", "yarn", "factor", fmt.Sprintf("%g", stated/float64(*s.OriginalLength)), "original-length", fmt.Sprint(*s.OriginalLength))}})
		case stated < reaches/2:
			found(report.Finding{Level: report.LevelNote, Message: fmt.Sprintf("%.0f positions are stated, and YaRN ×%g from %d reaches %.0f", stated, float64(*s.Factor), *s.OriginalLength, reaches), Where: at})
		}
	}
}

func customScaling(f *Facts, found func(report.Finding)) {
	if f.Report == nil || f.has("onnx-cache-unexplained") {
		return
	}
	for _, e := range f.Report.Encodings {
		if s := e.Parameters.Scaling; s != nil && s.Type == "custom" {
			found(report.Finding{Message: "the rotary frequencies follow no known formula", Where: place(e)})
		}
	}
}

func oneList(f *Facts, found func(report.Finding)) {
	if f.Report == nil || f.has("gguf-factor-pair") {
		return
	}
	for _, e := range f.Report.Encodings {
		s := e.Parameters.Scaling
		if s == nil || s.Type != "longrope" || (len(s.ShortFactor) == 0) == (len(s.LongFactor) == 0) {
			continue
		}
		which := "long"
		if len(s.LongFactor) == 0 {
			which = "short"
		}
		found(report.Finding{Message: "LongRoPE has its " + which + " factors alone", Where: place(e)})
	}
}

// amplitudeSlack is how far an attention factor may be from the recipe's: it is stored in
// float32, or in a graph of float16.
const amplitudeSlack = 2e-3

func unusualAmplitude(f *Facts, found func(report.Finding)) {
	if f.Report == nil {
		return
	}
	for _, e := range f.Report.Encodings {
		s := e.Parameters.Scaling
		if s == nil || s.Type != "yarn" || s.Factor == nil || s.AttentionFactor == nil {
			continue
		}
		got, usual := float64(*s.AttentionFactor), 0.1*math.Log(float64(*s.Factor))+1
		if math.Abs(got-usual) > amplitudeSlack*usual && math.Abs(got-1) > amplitudeSlack {
			found(report.Finding{Message: fmt.Sprintf("the attention factor is %.6g; YaRN ×%g usually has %.6g", got, float64(*s.Factor), usual), Where: place(e)})
		}
	}
}
