package onnxpos

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
)

var update = flag.Bool("update", false, "write docs/measured/meetings.md anew")

// perKind is how many meetings of a kind are counted in a file: layers are alike.
const perKind = 2

// answers are what origins say of a value, in the order of the table's columns.
var answers = []string{"copies of a constant", "row by row", "mixed", "computed, of no constant", "not evaluated"}

// answer is what the map of a meeting's numbers comes to.
func answer(of *origin.Map) string {
	switch {
	case of == nil:
		return "not evaluated"
	case len(of.Of) > 0:
		return "copies of a constant"
	case len(of.ByRow) > 0 || len(of.ByElement) > 0:
		return "row by row"
	case len(of.Mixed) > 0 || of.Cut:
		return "mixed"
	}
	return "computed, of no constant"
}

// strides reads a table off a map alone: by how much the element rises with the position and with the column, and where the first position
// starts. Not ok where these are not one number each.
func strides(x axes.Meeting, of *origin.Map) (rows, width, offset int, ok bool) {
	if x.Kind != axes.Added || of == nil || len(of.Of) != 1 || len(x.Covers) != 1 || !of.Of[0].Whole() {
		return 0, 0, 0, false
	}
	at, shape, axis := of.Of[0].At, of.Value.Shape, x.Covers[0]
	if last := len(shape) - 1; axis >= last || shape[axis] < 2 || onnx.Size(shape) != shape[axis]*shape[last] {
		return 0, 0, 0, false
	}
	width = shape[len(shape)-1]
	stride := at[width] - at[0]
	for i, k := range at {
		if k != at[0]+i/width*stride+i%width {
			return 0, 0, 0, false
		}
	}
	if stride < width || at[0]%stride != 0 {
		return 0, 0, 0, false
	}
	return int(of.Of[0].Tensor.Len()) / stride, width, at[0] / stride, true
}

// TestMeetings counts what origins answer at the meetings of real exporters' files, and how many tables their strides alone tell as the
// truth has them, against docs/measured/meetings.md.
func TestMeetings(t *testing.T) {
	var page strings.Builder
	page.WriteString(`# Meetings: what origins answer where data meet numbers of positions

Made by ` + "`go test ./position/onnxpos -run TestMeetings -update`" + ` from files of real exporters: every meeting that package ` + "`onnx/axes`" + ` finds, two of a
kind in a file at most. *Copies*: elements of a stored constant. *Row by row*: each number is made of one row of it (normalised, multiplied with
weights). *Mixed*: of a constant in another way (frequencies under a sine, a resampling); formulas are fitted to these, or they are told as
unknown. The last line of each set is how many of the tables that are added to data along one axis have the rows, width and offset of the file's
truth, read off the strides of the map alone, with no encoding in mind.
`)
	seen := false
	for _, set := range []string{"corpus", "hard"} {
		text, err := os.ReadFile("../../../shared/" + set + "/onnx.json")
		if err != nil {
			t.Logf("skipped by name: meetings of %s (../shared is not there)", set)
			continue
		}
		seen = true
		fmt.Fprintf(&page, "\n## %s\n\n%s", set, meetingsOf(t, set, text))
	}
	if !seen {
		t.Skip("../shared is not there: meetings of real exporters' files")
	}
	const path = "../../docs/measured/meetings.md"
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, _ := os.ReadFile(path); string(old) != page.String() {
		t.Errorf("docs/measured/meetings.md is not what origins answer now (write it with -update):\n%s", page.String())
	}
}

func meetingsOf(t *testing.T, set string, manifest []byte) string {
	type entry struct {
		File  string
		Truth struct {
			Encodings []struct {
				Parameters struct{ Rows, Dim, Offset int }
				Accept     struct{ Rows, Dim, Offset []*int }
			}
		}
	}
	var entries []entry
	if err := json.Unmarshal(manifest, &entries); err != nil {
		t.Fatal(err)
	}
	counts := map[axes.Kind]map[string]int{}
	tables, right := 0, 0
	for _, file := range entries {
		m, closed := modelOf(t, filepath.Join("../../../shared", set, file.File))
		if m == nil {
			continue
		}
		maps, of := origin.New(m.graph.Eval), map[axes.Kind]int{}
		for _, x := range m.labels().Meetings {
			if of[x.Kind]++; of[x.Kind] > perKind {
				continue
			}
			if counts[x.Kind] == nil {
				counts[x.Kind] = map[string]int{}
			}
			found := maps.Of(x.Scope, x.Known)
			counts[x.Kind][answer(found)]++
			rows, width, offset, ok := strides(x, found)
			if !ok {
				continue
			}
			tables++
			accepts := func(got, want int, others []*int) bool {
				return got == want || slices.ContainsFunc(others, func(o *int) bool { return o != nil && *o == got })
			}
			before := right
			for _, e := range file.Truth.Encodings {
				if accepts(rows, e.Parameters.Rows, e.Accept.Rows) && accepts(width, e.Parameters.Dim, e.Accept.Dim) && accepts(offset, e.Parameters.Offset, e.Accept.Offset) {
					right++
					break
				}
			}
			if right == before {
				t.Logf("%s: %s reads %d rows of %d from %d on, which the truth has not", file.File, x.Node.Title(), rows, width, offset)
			}
		}
		closed()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d files\n\n| meeting | %s |\n|---|%s\n", len(entries), strings.Join(answers, " | "), strings.Repeat("---|", len(answers)))
	for kind := axes.Added; kind <= axes.Fused; kind++ {
		if counts[kind] == nil {
			continue
		}
		fmt.Fprintf(&out, "| %s |", kind)
		for _, a := range answers {
			fmt.Fprintf(&out, " %d |", counts[kind][a])
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(&out, "\nTables whose rows, width and offset are read off strides alone: %d of %d.\n", right, tables)
	return out.String()
}

// modelOf reads a file; nil where it is not read.
func modelOf(t *testing.T, path string) (m *Model, closed func()) {
	t.Helper()
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err = New(f)
	if err != nil {
		f.Close()
		return nil, nil
	}
	return m, func() { f.Close() }
}
