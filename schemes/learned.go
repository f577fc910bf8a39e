package schemes

import (
	"fmt"
	"slices"
)

// Name is "learned".
func (Learned) Name() string { return NameLearned }

// Positions is how many positions the table has rows for.
func (l Learned) Positions() int { return l.Rows - l.Offset - l.Prefix }

// Equal reports whether other is a table of the same shape and use; its
// numbers are not part of a scheme.
func (l Learned) Equal(other Scheme) bool {
	o, ok := other.(Learned)
	return ok && l.Rows == o.Rows && l.Dim == o.Dim && l.Offset == o.Offset &&
		l.Prefix == o.Prefix && slices.Equal(l.Grid, o.Grid)
}

// String says the encoding in a line.
func (l Learned) String() string {
	said := fmt.Sprintf("position table of %d rows of %d", l.Rows, l.Dim)
	if l.Offset > 0 {
		said += fmt.Sprintf(", position 0 at row %d", l.Offset)
	}
	if l.Grid != nil {
		said += ", grid " + Sizes(l.Grid)
	}
	switch {
	case l.Prefix == 1:
		said += ", 1 row before it"
	case l.Prefix > 1:
		said += fmt.Sprintf(", %d rows before it", l.Prefix)
	}
	return said
}
