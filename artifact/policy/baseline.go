package policy

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/report"
)

// Baseline is what was found when it was written: only what is new counts.
type Baseline map[string]Known

// Known is one finding of a baseline, for people who read the file.
type Known struct {
	Rule string `json:"rule"`
	Path string `json:"path"`
}

// MaxFile bounds a baseline file, in bytes; a finding has some 150. A policy file is bounded below it.
const MaxFile = 64 << 20

// LoadBaseline reads a baseline file; one that is not there is empty.
func LoadBaseline(path string) (Baseline, error) {
	data, _, err := regular.Read(path, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Baseline{}, nil
	}
	if err != nil {
		return nil, &Error{Path: path, What: "the baseline cannot be read: " + reason(err)}
	}
	b := Baseline{}
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, &Error{Path: path, What: "no baseline: " + err.Error(), Hint: "write it anew: modelpatch check --write-baseline " + report.Printable(path)}
	}
	return b, nil
}

// Mark notes which findings the baseline has.
func (b Baseline) Mark(findings []report.CheckedFinding) {
	for i := range findings {
		_, findings[i].Baseline = b[findings[i].Fingerprint]
	}
}

// Write writes a baseline, sorted by fingerprint.
func (b Baseline) Write(w io.Writer) error {
	data, err := json.MarshalIndent(b, "", " ")
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	return err
}
