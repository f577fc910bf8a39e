package report

import (
	"fmt"
	"strconv"
)

// Limit is how far a model or an encoding reaches: a number of positions, [NoLimit] or
// [LimitNotKnown]. A Length without a capacity is one of the latter two, which Beyond alone
// tells apart: whoever says a limit in words takes it from here.
type Limit int

// Limits that are no number.
const (
	NoLimit       Limit = 0
	LimitNotKnown Limit = -1
)

// Limit returns how far the model reaches.
func (l Length) Limit() Limit { return limit(l.Capacity, l.Beyond) }

// Limit returns how far the encoding reaches.
func (e Encoding) Limit() Limit { return limit(e.Capacity, e.Beyond) }

func limit(capacity *int, beyond string) Limit {
	switch {
	case capacity != nil && *capacity > 0:
		return Limit(*capacity)
	case beyond == BeyondContinues:
		return NoLimit
	}
	return LimitNotKnown
}

// Known reports whether the limit is a number.
func (l Limit) Known() bool { return l > 0 }

// Of says the limit as a number of things: "512 positions", "no limit", "not known".
func (l Limit) Of(unit string) string {
	switch l {
	case NoLimit:
		return "no limit"
	case LimitNotKnown:
		return "not known"
	}
	return strconv.Itoa(int(l)) + " " + unit
}

// To says that one limit became another.
func (l Limit) To(other Limit) string {
	const unit = "positions"
	if l.Known() && other.Known() {
		return fmt.Sprintf("%d → %d %s", l, other, unit)
	}
	return l.Of(unit) + " → " + other.Of(unit)
}
