package position

import "errors"

// Abandoned is implemented by what a model panics with when it gives up in the middle
// of a question that has no place for an error: a context has ended, which Unwrap
// returns then, or the model is too large to be looked at whole. Verbs return it as
// their error.
type Abandoned interface {
	error
	Abandoned()
}

// Caught, deferred, makes what a model gave up the error of a verb: a refusal, unless a context
// has ended.
func Caught(err *error) {
	r := recover()
	if r == nil {
		return
	}
	a, ok := r.(Abandoned)
	switch {
	case !ok:
		panic(r)
	case errors.Unwrap(a) != nil:
		*err = errors.Unwrap(a)
	default:
		*err = &Refusal{Why: a.Error(), Instead: tooLarge}
	}
}

// Partial is implemented by models that may be too large to be looked at whole. GaveUp
// says why, "" where they were; nothing is changed where they were not.
type Partial interface{ GaveUp() string }

// whole refuses a model that was not looked at whole.
func whole(m Model) error {
	if p, ok := m.(Partial); ok && p.GaveUp() != "" {
		return &Refusal{Why: p.GaveUp(), Instead: tooLarge}
	}
	return nil
}

const tooLarge = "simplify the graph (onnxslim), or export the model again"
