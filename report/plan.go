package report

import (
	"slices"
	"strings"
)

// Promise says what the model's outputs do with a change.
func (p Plan) Promise() string {
	if strings.HasPrefix(p.Command, "revert ") {
		return "as before the change"
	}
	equal := "stay equal"
	if slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Tolerance > 0 }) {
		equal += " (to float32 rounding)"
	}
	switch Expected(p.Changes) {
	case ExpectChanged:
		return "change, on purpose"
	case ExpectUnknown:
		return "not known: the patch does not say what they do"
	case ExpectSameOnPrefix:
		switch {
		case p.shorter() && p.ofOneLength():
			return equal + " where what filled the old length was hidden, by a mask or causal attention: the graph takes no longer input now"
		case p.shorter():
			return equal + " for inputs within the new length"
		case p.ofOneLength():
			return equal + " where what fills the new length is hidden, by a mask or causal attention: the graph takes no shorter input now"
		}
		if p.fixes() {
			return equal + " for inputs within the old length, where the graph still takes them: sizes that were free are numbers now"
		}
		return equal + " for inputs within the old length"
	}
	return equal
}

// fixes reports whether free axes became numbers.
func (p Plan) fixes() bool {
	return slices.ContainsFunc(p.Changes, func(c Change) bool { return strings.HasPrefix(c.What, "free axes become numbers") })
}

// shorter reports whether positions were cut off.
func (p Plan) shorter() bool {
	const flag = " --shorter"
	return strings.Contains(p.Command, flag) || slices.ContainsFunc(p.Changes, func(c Change) bool { return strings.Contains(c.What, flag) })
}

// ofOneLength reports whether the change gives a graph that takes one length another one.
func (p Plan) ofOneLength() bool {
	return slices.ContainsFunc(p.Edits, func(e Edit) bool { return strings.HasPrefix(e.Why, "fixed length of") })
}

// ToCheck is what the owner should try before trusting the result.
func (p Plan) ToCheck() []string {
	if strings.HasPrefix(p.Command, "apply ") || strings.HasPrefix(p.Command, "revert ") {
		return nil // it was given with the change itself
	}
	var out []string
	picture := p.Request != nil && p.Request.Verb == "grid"
	switch {
	case p.shorter() && p.ofOneLength():
		out = append(out, "the graph was exported for one length: numbers computed from the length stay as they were")
	case p.ofOneLength() && !picture:
		out = append(out, "the graph was exported for one length: whether the model limits attention to a window, or repeats positions, beyond that length cannot be seen in this file; numbers computed from the length stay as they were")
	}
	switch {
	case slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Expect == ExpectChanged }):
		out = append(out, "quality: the model may need fine-tuning")
	case p.shorter():
	case slices.ContainsFunc(p.Changes, func(c Change) bool { return strings.HasPrefix(c.What, "position table") }):
		out = append(out, "quality beyond the old length: the new rows are computed, not trained")
	}
	return out
}
