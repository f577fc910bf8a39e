// Package answer is what the page in web asks of the library: the report about a
// model with its pictures, what a patch file changes, and changes as patch files, each as
// one JSON object. It knows nothing of browsers.
package answer

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/picture"
	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/layout"
	"github.com/modelpatch/modelpatch/picture/page"
	"github.com/modelpatch/modelpatch/picture/svg"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Inspected is the answer about one model.
type Inspected struct {
	Report *report.Inspect `json:"report"` // nil where there is an error
	// Headline says in a sentence what was found; Facts are labels and values.
	Headline  string      `json:"headline"`
	Facts     [][2]string `json:"facts"`
	Encodings []Encoding  `json:"encodings"`
	Findings  []Finding   `json:"findings"`
	Pictures  []Picture   `json:"pictures"`
	NoPicture string      `json:"no_picture"` // why there is none
	Failure
}

// Encoding is an encoding of the report in words.
type Encoding struct {
	Name    string      `json:"name"`
	Facts   [][2]string `json:"facts"`
	Reasons []string    `json:"reasons"` // where it is, and on what that rests
}

// Finding is a finding of the report in words, with what would mend it.
type Finding struct {
	Level   string   `json:"level"`
	Message string   `json:"message"`
	Hints   []string `json:"hints"`
}

// Failure is why there is no answer; empty where there is one.
type Failure struct {
	Error string   `json:"error"`
	Hints []string `json:"hints"`
}

// Picture is one figure as SVG, and in words and numbers.
type Picture struct {
	Kind        string  `json:"kind"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	SVG         string  `json:"svg"`
	Tables      []Table `json:"tables"`
}

// Table is the numbers of a panel.
type Table struct {
	Title string     `json:"title"`
	Heads []string   `json:"heads"`
	Rows  [][]string `json:"rows"`
}

// mostNumbers bounds what is read of a table for its picture: it may come over a network.
const mostNumbers = 1 << 22

// Inspect reads a model of any format. What cannot be read is an answer, too, and so is a
// panic. Pictures are for a screen of a width in pixels; 0: a wide one.
func Inspect(ctx context.Context, r io.ReaderAt, size int64, name string, companions modelpatch.Companions, width float64) (out Inspected) {
	defer func() {
		if p := recover(); p != nil {
			out = Inspected{Failure: mistake(fmt.Sprintf("%s: %v", name, p))}
		}
	}()
	m, err := modelpatch.OpenReader(ctx, r, size, name, companions)
	if err != nil {
		return Inspected{Failure: failure(err)}
	}
	defer m.Close()
	described := position.Inspect(m)
	described.Path = report.Name(name)
	out = Inspected{Report: &described, Headline: report.Printable(described.Headline()), Facts: printable(page.Facts(described)),
		Encodings: []Encoding{}, Findings: []Finding{}, Pictures: []Picture{}}
	for _, e := range described.Encodings {
		words := Encoding{Name: e.Name(), Facts: printable(page.EncodingFacts(e)), Reasons: []string{}}
		for _, says := range page.Reasons(e) {
			words.Reasons = append(words.Reasons, report.Printable(says))
		}
		out.Encodings = append(out.Encodings, words)
	}
	for _, f := range described.Findings {
		out.Findings = append(out.Findings, finding(f))
	}
	figures, err := picture.Of(m, name, picture.Options{Numbers: mostNumbers})
	if n, ok := errors.AsType[*picture.Nothing](err); ok {
		out.NoPicture = n.Error()
		return out
	} else if err != nil {
		out.NoPicture = report.Printable(err.Error())
		return out
	}
	for _, f := range figures {
		out.Pictures = append(out.Pictures, drawn(f, width))
	}
	return out
}

// finding is a finding in words.
func finding(f report.Finding) Finding {
	out := Finding{Level: f.Level, Message: sentence(f.Message + " [" + f.Rule + "]"), Hints: []string{}}
	if f.Hint != "" {
		out.Hints = append(out.Hints, sentence(f.Hint))
	}
	for _, r := range f.Remedies {
		out.Hints = append(out.Hints, report.Printable(remedy(r)))
	}
	return out
}

// printable makes values fit to be shown.
func printable(facts [][2]string) [][2]string {
	for i := range facts {
		facts[i][1] = report.Printable(facts[i][1])
	}
	return facts
}

// drawn is a figure as the page shows it.
func drawn(f figure.Figure, width float64) Picture {
	p := Picture{Kind: f.Kind, Title: report.Printable(f.Title), Description: report.Printable(f.Description), SVG: string(svg.Write([]figure.Figure{f}, svg.Options{Width: min(width, layout.Width)})), Tables: []Table{}}
	for _, panel := range f.Panels {
		t := panel.Table()
		if len(t.Rows) == 0 {
			continue
		}
		for i := range t.Heads {
			t.Heads[i] = report.Printable(t.Heads[i])
		}
		p.Tables = append(p.Tables, Table{Title: report.Printable(panel.Title), Heads: t.Heads, Rows: t.Rows})
	}
	return p
}
