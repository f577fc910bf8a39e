package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelpatch/modelpatch/report"
)

// table prints a line a model, in columns.
type table struct{ rows [][]string }

// add adds a model's line.
func (t *table) add(r report.Inspect) {
	if t.rows == nil {
		t.rows = [][]string{{"FILE", "ENCODING", "STATED", "POSITIONS", "LONGER INPUT", "FINDINGS"}}
	}
	stated, positions := "-", "-"
	if r.Length.Stated != nil {
		stated = fmt.Sprint(*r.Length.Stated)
	}
	switch limit := r.Length.Limit(); {
	case limit.Known():
		positions = fmt.Sprint(int(limit))
		if unit, _ := r.Units(); unit != "positions" {
			positions += " " + unit
		}
	case limit == report.NoLimit || len(r.Encodings) > 0:
		positions = limit.Of("")
	}
	t.rows = append(t.rows, []string{text(r.Path), r.EncodingNames(), stated, positions, beyondWord(r.Length.Beyond), findingsText(r.Findings)})
}

// beyondWord says in a word or two what longer input does.
func beyondWord(beyond string) string {
	switch beyond {
	case report.BeyondError:
		return "fails"
	case report.BeyondClamps:
		return "repeats"
	case report.BeyondWrong:
		return "silently wrong"
	case report.BeyondContinues:
		return "runs"
	}
	return "not known"
}

// findingsText counts findings by level.
func findingsText(all []report.Finding) string {
	count := map[string]int{}
	for _, f := range all {
		count[f.Level]++
	}
	var parts []string
	for _, level := range []string{report.LevelError, report.LevelWarning, report.LevelNote} {
		if n := count[level]; n > 0 {
			parts = append(parts, plural(n, level))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// print writes the table, every column as wide as its longest text.
func (t *table) print(c *console) {
	var width []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
		}
		c.printf("%s\n", strings.TrimRight(line.String(), " "))
	}
}
