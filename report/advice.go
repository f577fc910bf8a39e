package report

import (
	"errors"
)

// Hints are the lines of advice that an error of any package carries.
func Hints(err error) []string {
	var h interface{ Hints() []string }
	if errors.As(err, &h) {
		return h.Hints()
	}
	return nil
}

// Advice returns the advice that an error carries: sentences, and remedies as
// values for callers who word them; Hints words them itself.
func Advice(err error) (sentences []string, remedies []Remedy) {
	var a interface {
		Advice() (string, []Remedy)
	}
	if !errors.As(err, &a) {
		return Hints(err), nil
	}
	sentence, remedies := a.Advice()
	if sentence != "" {
		sentences = []string{sentence}
	}
	return sentences, remedies
}
