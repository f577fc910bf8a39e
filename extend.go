package modelpatch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/position"
)

// ExtendOptions say how far a model should count; see position.Extend.
type ExtendOptions = position.ExtendOptions

// Extend makes a model count to another length.
func Extend(ctx context.Context, path string, o ExtendOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return extending(path, o, open, w).run(ctx)
}

func extending(path string, o ExtendOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("extend", o), command: "extend"}
	if o.Length > 0 {
		c.command += fmt.Sprintf(" --len %d", o.Length)
	}
	for _, a := range o.Fix {
		c.command += fmt.Sprintf(" --fix %s=%d", a.Name, a.Size)
	}
	if o.Shorter {
		c.command += " --shorter"
	}
	c.fixes, c.declares = len(o.Fix) > 0, len(o.Fix) > 0 && o.Length == 0
	if o.Method != "" {
		c.command += " --method " + o.Method
	}
	if o.Grow.Anchor != "" {
		c.command += " --anchor " + o.Grow.Anchor
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Extend(m, o) }
	c.configure = func(length int) {
		o.ConfiguredLength = length
		c.request = request("extend", o)
	}
	c.expect, c.length = func(m position.Model) error { return errors.Join(reaches(m, o.Length), isFixed(m, o.Fix)) }, o.Length
	return c
}

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
	case l.Capacity != nil && *l.Capacity < length:
		return fmt.Errorf("the new file counts to %d, not %d", *l.Capacity, length)
	}
	return nil
}
