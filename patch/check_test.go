package patch

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

// onePlan is a plan of edits to one file of the given size.
func onePlan(size int64, edits ...Edit) Plan {
	return Plan{
		Inputs:  []Input{{Path: "in", Size: size}},
		Outputs: []Output{{Input: 0}},
		Edits:   edits,
	}
}

func TestCheck(t *testing.T) {
	two := onePlan(10)
	two.Inputs = append(two.Inputs, Input{Path: "b", Size: 4})
	with := func(p Plan, outputs ...Output) Plan { p.Outputs = outputs; return p }
	for _, c := range []struct {
		name string
		plan Plan
		want string // "" : sound
	}{
		{"nothing", onePlan(10), ""},
		{"whole file", onePlan(10, Edit{Old: 10}), ""},
		{"insert at end", onePlan(10, Edit{At: 10, New: Text("x")}), ""},
		{"touching", onePlan(10, Edit{At: 5, Old: 5}, Edit{At: 0, Old: 5}), ""},
		{"inserts at both ends of a replacement",
			onePlan(10, Edit{At: 5, New: Text("z")}, Edit{At: 2, Old: 3}, Edit{At: 2, New: Text("a")}), ""},
		{"two inserts at one place", onePlan(10, Edit{At: 5, New: Text("a")}, Edit{At: 5, New: Text("b")}), ""},
		{"same bytes twice", onePlan(10, Edit{At: 5, Old: 1}, Edit{At: 5, Old: 1}), "edit 1: overlaps edit 0"},
		{"insert inside", onePlan(10, Edit{At: 5, New: Text("x")}, Edit{At: 4, Old: 2}), "edit 0: overlaps edit 1"},
		{"before start", onePlan(10, Edit{At: -1}), "outside of 10 bytes"},
		{"past end", onePlan(10, Edit{At: 8, Old: 3}), "outside of 10 bytes"},
		{"offset plus size wraps", onePlan(10, Edit{At: 8, Old: math.MaxInt64}), "outside of 10 bytes"},
		{"negative old", onePlan(10, Edit{At: 8, Old: -1}), "outside of 10 bytes"},
		{"negative new", onePlan(10, Edit{New: Zeros(-1)}), "-1 new bytes"},
		{"result overflows", onePlan(10, Edit{New: Zeros(math.MaxInt64 - 3)}), "overflows"},
		{"results overflow", onePlan(10, Edit{New: Zeros(math.MaxInt64 - 9)}, Edit{New: Zeros(math.MaxInt64 - 9)}), "overflows"},
		{"no output", with(two), "no output"},
		{"no such input", with(two, Output{Input: 2}), "no input 2"},
		{"two outputs of one input", with(two, Output{}, Output{Name: "x"}), "has an output already"},
		{"path as name", with(two, Output{}, Output{Input: 1, Name: "../x"}), "no name"},
		{"edit without output", with(onePlan(10, Edit{File: 1}), Output{}), "edit 0: input 1 has no output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.plan.Check()
			if c.want == "" && err == nil {
				return
			}
			if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if !errors.As(err, new(*PlanError)) {
				t.Errorf("%T is no *PlanError", err)
			}
		})
	}
}

func TestInsertsKeepPlanOrder(t *testing.T) {
	p := onePlan(4,
		Edit{At: 2, Old: 1, New: Text("C")},
		Edit{At: 2, New: Text("1")},
		Edit{At: 4, New: Text("end")},
		Edit{At: 2, New: Text("2")},
	)
	got := readPlan(t, p, 0, "abcd")
	if want := "ab12Cdend"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func readPlan(t *testing.T, p Plan, output int, in string) string {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(p.NewReader(output, strings.NewReader(in)))
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b)) != p.OutputSize(output) {
		t.Errorf("%d bytes, OutputSize says %d", len(b), p.OutputSize(output))
	}
	return string(b)
}

func TestView(t *testing.T) {
	in := strings.Repeat("0123456789", 1000)
	large := bytes.Repeat([]byte("largenew"), keptSource/4)
	p := onePlan(int64(len(in)),
		Edit{At: 100, Old: 17, New: Text("seventeen?")},
		Edit{At: 5000, New: Bytes(large)},
		Edit{At: 6000, Old: 1000},
		Edit{At: int64(len(in)), New: Zeros(3)},
	)
	want := readPlan(t, p, 0, in)
	view := p.View(0, strings.NewReader(in))
	section := io.NewSectionReader(view, 0, p.OutputSize(0))
	if err := iotest.TestReader(section, []byte(want)); err != nil {
		t.Error(err)
	}
}

func TestSourcesThatLie(t *testing.T) {
	for _, c := range []struct {
		name   string
		source Source
		want   string
	}{
		{"short", Func(5, func() io.Reader { return strings.NewReader("abc") }), "end after 3 of 5"},
		{"long", Func(2, func() io.Reader { return strings.NewReader("abc") }), "more than 2"},
		{"failing", Func(2, func() io.Reader { return iotest.ErrReader(errors.New("row 7 overflows")) }), "row 7 overflows"},
		{"region past end", Region(strings.NewReader("abc"), 2, 4), "became shorter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := onePlan(1, Edit{New: c.source})
			if _, err := io.ReadAll(p.NewReader(0, strings.NewReader("x"))); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestConcatAndRegion(t *testing.T) {
	s := Concat(Text("ab"), Zeros(0), Region(strings.NewReader("xyz"), 1, 2), Concat(), Zeros(1))
	if err := iotest.TestReader(s.Open(), []byte("abyz\x00")); err != nil {
		t.Error(err)
	}
	if s.Size() != 5 {
		t.Error(s.Size())
	}
}
