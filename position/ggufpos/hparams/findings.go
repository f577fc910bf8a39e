package hparams

import (
	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/report"
)

// oddities passes on what is unusual about the container.
func (m *Model) oddities() {
	for _, o := range m.File.Oddities() {
		level := report.LevelWarning
		if o.Refused && m.Kind == report.KindOther { // what llama.cpp refuses is no fault of another program's file
			continue
		}
		if o.Refused {
			level = report.LevelError
		}
		w := &report.Where{Key: report.Name(o.Key), Tensor: report.Name(o.Tensor)}
		if o.At > 0 {
			w.Range = &[2]int64{o.At, o.At}
		}
		m.Report(o.Rule, level, o.Says, "", w)
	}
}

// WhereTensor is the place of a tensor's data.
func (m *Model) WhereTensor(t *gguf.Tensor) report.Where {
	r := m.File.Range(t)
	w := report.Where{Tensor: report.Name(t.Name), Range: &r}
	if t.Part > 0 {
		w.File = report.Name(m.File.Parts[t.Part].Path)
	}
	return w
}

// WhereKey is the place of a key's value, or its name alone where it is not there.
func (m *Model) WhereKey(suffix string) *report.Where {
	w := &report.Where{Key: report.Name(m.Key(suffix))}
	if p := m.Pair(suffix); p != nil {
		w.Range = &[2]int64{p.ValueAt, p.End}
	}
	return w
}

// Report adds a finding of a rule; level is one of report.LevelError, … . where is nil
// where no place is meant.
func (m *Model) Report(rule, level, message, hint string, where *report.Where, remedies ...report.Remedy) {
	m.Reported = append(m.Reported, report.Finding{Rule: rule, Level: level, Message: report.Name(message), Hint: report.Name(hint), Where: where, Remedies: remedies})
}

// Warn adds a warning about a key of the architecture, given without its prefix.
func (m *Model) Warn(rule, suffix, message, hint string, remedies ...report.Remedy) {
	m.Report(rule, report.LevelWarning, message, hint, m.WhereKey(suffix), remedies...)
}

// Fault adds an error about a key of the architecture, given without its prefix.
func (m *Model) Fault(rule, suffix, message, hint string, remedies ...report.Remedy) {
	m.Report(rule, report.LevelError, message, hint, m.WhereKey(suffix), remedies...)
}
