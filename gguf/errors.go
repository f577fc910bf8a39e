package gguf

import (
	"fmt"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// FormatError says why a file cannot be read as GGUF, and where.
type FormatError struct {
	Path   string
	What   string // what was being read: "header", "tensor data" …
	Why    string
	At     int64 // byte offset, −1 when there is none
	Key    string
	Tensor string
	Hint   string // what to do about it
	Err    error  // cause, when another package reported it
}

// Error says it in one line: path: what: why (byte, key or tensor).
func (e *FormatError) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(report.Printable(e.Path) + ": ")
	}
	fmt.Fprintf(&b, "%s: %s", e.What, e.Why)
	var place []string
	if e.At >= 0 {
		place = append(place, fmt.Sprintf("byte %d", e.At))
	}
	if e.Key != "" {
		place = append(place, "key "+clip(e.Key))
	}
	if e.Tensor != "" {
		place = append(place, "tensor "+clip(e.Tensor))
	}
	if len(place) > 0 {
		b.WriteString(" (" + strings.Join(place, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// Hints returns what to do about it: of bytes that are no GGUF, at least where to get others.
func (e *FormatError) Hints() []string {
	switch {
	case e.Hint != "":
		return []string{e.Hint}
	case e.At >= 0 && e.Err == nil:
		return []string{"the file is damaged, cut off or written wrongly: download it again, or convert the model again"}
	}
	return nil
}

// clip makes a name from a file printable and short enough for a line.
func clip(s string) string {
	const most = 120
	s = report.Printable(s)
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}
