package schemes

import (
	"fmt"
	"slices"
)

// Name is the scheme's Kind.
func (o Other) Name() string { return o.Kind }

// Equal reports whether other is of the same kind with the same parameters.
func (o Other) Equal(other Scheme) bool {
	p, ok := other.(Other)
	if !ok || !slices.Equal(o.Window, p.Window) {
		return false
	}
	return o.Kind == p.Kind && o.Rows == p.Rows && o.Dim == p.Dim && near(o.Base, p.Base) &&
		o.Heads == p.Heads && o.Buckets == p.Buckets && o.MaxDistance == p.MaxDistance && o.way() == p.way()
}

// way is the direction in which buckets look, in a word; "" where it is not known.
func (o Other) way() string {
	switch {
	case o.Bidirectional == nil:
		return ""
	case *o.Bidirectional:
		return ", bidirectional"
	}
	return ", causal"
}

// String says the encoding in a line.
func (o Other) String() string {
	said := o.Kind
	for _, p := range []struct {
		name  string
		value int
	}{{"rows", o.Rows}, {"dim", o.Dim}, {"heads", o.Heads}, {"buckets", o.Buckets}, {"max distance", o.MaxDistance}} {
		if p.value != 0 {
			said += fmt.Sprintf(", %s %d", p.name, p.value)
		}
	}
	if o.Base != 0 {
		said += ", base " + Text(o.Base)
	}
	if o.Window != nil {
		said += ", window " + Sizes(o.Window)
	}
	return said + o.way()
}

// Ends reports whether a table of as many distances before as behind has no row for a distance, and nothing clips it.
func (o Other) Ends(distance int) bool { return o.MaxDistance == 0 && (o.Rows-1)/2 < distance }
