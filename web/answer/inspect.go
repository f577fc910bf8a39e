// Package answer is what the page in web asks of the library: the report about a
// model with its pictures, and changes as patch files, each as one JSON object. It
// knows nothing of browsers.
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
	// Names are those of the encodings, and Parameters theirs as labels and values, in the
	// order of the report.
	Names      []string      `json:"names"`
	Parameters [][][2]string `json:"parameters"`
	Pictures   []Picture     `json:"pictures"`
	NoPicture  string        `json:"no_picture"` // why there is none
	Failure
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

// Inspect reads a model of any format. What cannot be read is an answer, too; so is a
// panic, which would end the page's worker and is a mistake of ours.
// Pictures are for a screen of a width in pixels; 0: a wide one.
func Inspect(ctx context.Context, r io.ReaderAt, size int64, name string, companions modelpatch.Companions, width float64) (out Inspected) {
	defer func() {
		if p := recover(); p != nil {
			out = Inspected{Failure: Failure{Error: fmt.Sprintf("%s: a mistake in modelpatch: %v", report.Printable(name), p), Hints: []string{"please report it"}}}
		}
	}()
	m, err := modelpatch.OpenReader(ctx, r, size, name, companions)
	if err != nil {
		return Inspected{Failure: failure(err)}
	}
	defer m.Close()
	described := position.Inspect(m)
	described.Path = report.Name(name)
	out = Inspected{Report: &described, Names: []string{}, Parameters: [][][2]string{}, Pictures: []Picture{}}
	for _, e := range described.Encodings {
		out.Names = append(out.Names, report.EncodingName(e.Scheme))
		out.Parameters = append(out.Parameters, page.Parameters(e.Parameters))
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

// failure is an error with its advice.
func failure(err error) Failure {
	f := Failure{Error: report.Printable(err.Error()), Hints: []string{}}
	for _, h := range modelpatch.Hints(err) {
		f.Hints = append(f.Hints, report.Printable(h))
	}
	return f
}
