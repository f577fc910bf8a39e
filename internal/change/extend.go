package change

import (
	"errors"
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/position"
)

// Extend makes a model count to another length; see [position.Extend].
var Extend = newVerb("extend", func(o position.ExtendOptions) *Change {
	c := &Change{command: "extend", length: o.Length, fixes: len(o.Fix) > 0, declares: len(o.Fix) > 0 && o.Length == 0}
	if o.Length > 0 {
		c.command += fmt.Sprintf(" --len %d", o.Length)
	}
	for _, a := range o.Fix {
		c.command += fmt.Sprintf(" --fix %s=%d", a.Name, a.Size)
	}
	if o.Shorter {
		c.command += " --shorter"
	}
	if o.Method != "" {
		c.command += " --method " + o.Method
	}
	if o.Grow.Anchor != "" {
		c.command += " --anchor " + o.Grow.Anchor
	}
	c.decide = func(m position.Model) (position.Outcome, error) { return position.Extend(m, o) }
	c.configure = func(length int) any {
		o.ConfiguredLength = length
		return o
	}
	c.expect = func(m position.Model) error { return errors.Join(reaches(m, o.Length), isFixed(m, o.Fix)) }
	return c
})

// isFixed checks that axes are free no more.
func isFixed(m position.Model, axes []position.Axis) error {
	f, ok := m.(position.Fixer)
	for _, a := range axes {
		if ok && slices.Contains(f.FreeAxes(), a.Name) {
			return fmt.Errorf("the new file leaves %s free", a.Name)
		}
	}
	return nil
}

// reaches checks that a model counts as far as was asked.
func reaches(m position.Model, length int) error {
	l := position.Length(m, m.Describe())
	switch {
	case length == 0:
	case l.Stated != nil && *l.Stated != length:
		return fmt.Errorf("the new file states a length of %d, not %d", *l.Stated, length)
	case l.Stated != nil && m.Describe().Format == position.FormatONNX: // a graph of one length, which was evaluated at it
	case l.Capacity != nil && *l.Capacity < length && !slices.ContainsFunc(m.Sites(), func(s position.Site) bool { e := s.Encoding(); return e.IsGrid() && e.Capacity == *l.Capacity }): // that of a picture beside a text
		return fmt.Errorf("the new file counts to %d, not %d", *l.Capacity, length)
	}
	return nil
}
