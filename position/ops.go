package position

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// OperatorSets are the words for the operators in which a graph may hold a rotation:
// RotaryEmbedding of ai.onnx (opset 23) and of com.microsoft, and operators that every
// engine has.
var OperatorSets = []string{"standard", "contrib", "plain"}

// Operators is implemented by sites of rotary encodings in graphs that can be held in
// other operators.
type Operators interface {
	// ToOperators puts one of OperatorSets in the place of what is there, as
	// edits, and returns how many places have changed. It is a *Refusal where a
	// place is in a form that is not known to be the same.
	ToOperators(set string) (int, error)
}

// ToOperators holds a model's rotations in other operators; outputs stay what they are.
func ToOperators(m Model, set string) (_ Outcome, err error) {
	defer Caught(&err)
	if !slices.Contains(OperatorSets, set) {
		return Outcome{}, &UsageError{What: fmt.Sprintf("--to-ops %q: there are %s", set, strings.Join(OperatorSets, ", "))}
	}
	if err := ready(m); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	rotates := false
	for i, s := range m.Sites() {
		e := s.Encoding()
		if _, ok := e.Scheme.(schemes.Rotary); !ok {
			continue
		}
		rotates = true
		o, ok := s.(Operators)
		if !ok {
			return Outcome{}, &Refusal{Why: fmt.Sprintf("encoding %s cannot be held in other operators", ID(i))}
		}
		n, err := o.ToOperators(set)
		if err != nil {
			return Outcome{}, err
		}
		if n == 0 {
			continue
		}
		out.becomes(Becoming{Site: i, Scheme: e.Scheme}, fmt.Sprintf("%s in %s operators (%d places)", EncodingName(e.Scheme), set, n), report.ExpectSame).Tolerance = rounding
	}
	switch {
	case !rotates:
		return Outcome{}, &Refusal{Why: "the model has no rotary encoding", Instead: "inspect says what it has"}
	case out.Changes == nil:
		out.Nothing = "the model's rotations are in " + set + " operators already"
	}
	return out, nil
}
