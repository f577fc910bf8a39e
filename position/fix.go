package position

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// Axis is a free axis of a model's inputs and the number that it is to become: by the name that the
// file gives it, which may stand at several inputs, or by an input and the axis' place, INPUT:1.
type Axis struct {
	Name string
	Size int
}

// Fixer is implemented by models whose inputs may have free axes.
type Fixer interface {
	// FreeAxes are what the free axes of inputs are called: names, and INPUT:PLACE.
	FreeAxes() []string
	// Fix gives axes their numbers, through the whole graph as it is planned: inputs, outputs and values
	// between. length is how many tokens an input has then, 0 where that stays free.
	Fix(axes []Axis) (length int, err error)
}

// fix turns free axes into numbers.
func (x *extension) fix() error {
	f, ok := x.m.(Fixer)
	if !ok {
		return &Refusal{Why: "files of this format have no axes of inputs: engines choose them when the model runs", Instead: "leave --fix out"}
	}
	free := f.FreeAxes()
	said := make([]string, len(x.o.Fix))
	for i, a := range x.o.Fix {
		if a.Size < 1 || int64(a.Size) > MaxLength {
			return &UsageError{What: fmt.Sprintf("%s=%d: a size must be between 1 and %d", a.Name, a.Size, MaxLength)}
		}
		if !slices.Contains(free, a.Name) {
			return noAxis(a.Name, free)
		}
		if slices.ContainsFunc(x.o.Fix[:i], func(b Axis) bool { return a.Name == b.Name }) {
			return &UsageError{What: fmt.Sprintf("the axis %s gets two numbers", report.Printable(a.Name))}
		}
		said[i] = fmt.Sprintf("%s = %d", report.Printable(a.Name), a.Size)
	}
	length, err := f.Fix(x.o.Fix)
	has := x.o.Length
	if n := Length(x.m, x.d).Capacity; has == 0 && n != nil {
		has = *n
	}
	switch {
	case x.o.Length > 0 && length > 0 && length != x.o.Length:
		return &UsageError{What: fmt.Sprintf("inputs of %d tokens with a length of %d: they are to be one", length, x.o.Length)}
	case has > 0 && length > has:
		return &Refusal{Why: fmt.Sprintf("inputs of %d tokens, and the model has %d positions", length, has), Remedies: []report.Remedy{report.Do("extend", "makes them", "len", fmt.Sprint(length))}}
	case err != nil:
		return err
	}
	x.out.Nothing = ""
	x.out.Changes = append(x.out.Changes, report.Change{What: "free axes become numbers: " + strings.Join(said, ", "), Expect: report.ExpectSame})
	return nil
}

// noAxis says which axes there are in place of one that there is not.
func noAxis(name string, free []string) error {
	u := &UsageError{What: fmt.Sprintf("no free axis of an input is called %q", name), Hint: "all of them are numbers already"}
	if len(free) > 0 {
		shown := make([]string, len(free))
		for i, n := range free {
			shown[i] = report.Printable(n)
		}
		u.Hint = "there are " + strings.Join(shown, ", ")
	}
	return u
}
