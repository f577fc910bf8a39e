// Package page writes a report and its figures as one HTML file: no script, no
// network, nothing beside it. It is read by people who were sent the file.
package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/layout"
	"github.com/modelpatch/modelpatch/picture/svg"
	"github.com/modelpatch/modelpatch/report"
)

// Content is what a page shows.
type Content struct {
	Title   string           // of the page: the model's name
	Version string           // of the tool
	Reports []report.Inspect // of one model, or of those compared
	Figures []figure.Figure
	// Why says why there are no figures.
	Why string
}

// Write returns the page.
func Write(c Content) ([]byte, error) {
	w := &writer{}
	w.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	// Names out of a model are escaped; should one escape all the same, it can load and run nothing.
	w.raw(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">` + "\n")
	w.raw(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n<meta name=\"color-scheme\" content=\"light dark\">\n")
	w.element("title", "", c.Title+" – position encodings")
	w.raw("<style>\n" + style + svg.Style() + "</style>\n</head>\n<body>\n<main>\n")
	w.element("h1", "", c.Title)
	for _, r := range c.Reports {
		if len(c.Reports) > 1 {
			w.element("h2", "", r.Path)
		}
		w.element("p", "headline", r.Headline())
		w.list(Facts(r))
		w.encodings(r)
		w.findings(r.Findings)
	}
	w.figures(c)
	for _, r := range c.Reports {
		line, err := report.Line(r)
		if err != nil {
			return nil, err
		}
		w.raw("<details><summary>")
		w.text("The report as JSON (" + r.Path + ")")
		w.raw("</summary>\n")
		w.element("pre", "", string(line))
		w.raw("</details>\n")
	}
	w.raw("</main>\n<footer>")
	w.text("modelpatch " + c.Version)
	w.raw("</footer>\n</body>\n</html>\n")
	return []byte(w.String()), nil
}

const style = `:root{color-scheme:light dark;--paper:#fff;--ink:#1a1a1a;--muted:#595959;--line:#d8d8d8;--shade:#f5f5f5;--error:#b34700;--warning:#8a5a00}
@media (prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#f0f0f0;--muted:#b4b8be;--line:#3a3f46;--shade:#1f2227;--error:#ff8a3d;--warning:#f0c442}}
@media print{:root{--paper:#fff;--ink:#000;--muted:#444;--line:#bbb;--shade:#f5f5f5}figure,table{break-inside:avoid}details:not([open]){display:none}}
body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;margin:0}
main,footer{max-width:800px;margin:0 auto;padding:0 16px}
svg.modelpatch{max-width:100%;height:auto}.headline{font-size:1.1rem;font-weight:600}
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2rem;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--muted)}dd{margin:0;overflow-wrap:anywhere}
figure{margin:1.5rem 0;overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}th,td{padding:.15rem .7rem;border-bottom:1px solid var(--line);text-align:right}th{color:var(--muted);font-weight:600}
.scroll{overflow-x:auto;max-height:24rem}details{margin:.5rem 0}summary{cursor:pointer}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--shade);padding:.7rem;font-size:.8rem}
.error{color:var(--error)}.warning{color:var(--warning)}footer{color:var(--muted);font-size:.85rem;padding-bottom:2rem}
.narrow{display:none}@media screen and (max-width:700px){.broad{display:none}.narrow{display:block}figure{margin:1.5rem -16px}figcaption{margin:0 16px}}
@media (max-width:500px){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.4rem}}
`

type writer struct{ strings.Builder }

// raw writes markup of ours; what is from a model goes through text.
func (w *writer) raw(s string) { w.WriteString(s) }

func (w *writer) text(s string) { w.WriteString(svg.Escape(s)) }

// element writes a text as an element, class "" for none.
func (w *writer) element(name, class, text string) {
	w.raw("<" + name)
	if class != "" {
		w.raw(` class="` + class + `"`)
	}
	w.raw(">")
	w.text(text)
	w.raw("</" + name + ">\n")
}

// list writes labelled values.
func (w *writer) list(pairs [][2]string) {
	w.raw("<dl>\n")
	for _, p := range pairs {
		w.element("dt", "", p[0])
		w.element("dd", "", p[1])
	}
	w.raw("</dl>\n")
}

func (w *writer) encodings(r report.Inspect) {
	for _, e := range r.Encodings {
		w.element("h2", "", e.Name())
		w.list(EncodingFacts(e))
		w.raw("<details><summary>Where it is, and on what this rests</summary>\n<ul>\n")
		for _, says := range Reasons(e) {
			w.element("li", "", says)
		}
		w.raw("</ul>\n</details>\n")
	}
}

func (w *writer) findings(all []report.Finding) {
	if len(all) == 0 {
		return
	}
	const most = 200
	w.element("h2", "", "Findings")
	w.raw("<ul>\n")
	for i, f := range all {
		if i == most {
			w.element("li", "", fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		w.raw("<li>")
		w.raw(`<strong class="` + level(f.Level) + `">`)
		w.text(f.Level)
		w.raw("</strong> ")
		w.text(f.Message + " [" + f.Rule + "]")
		if f.Hint != "" {
			w.raw("<br>")
			w.text(f.Hint)
		}
		for _, r := range f.Remedies {
			w.raw("<br>")
			w.text(r.String())
		}
		w.raw("</li>\n")
	}
	w.raw("</ul>\n")
}

// level is the class of a finding.
func level(s string) string {
	switch s {
	case report.LevelError, report.LevelWarning:
		return s
	}
	return report.LevelNote
}

// figures writes each figure with its numbers in tables below.
func (w *writer) figures(c Content) {
	w.element("h2", "", "Pictures")
	if len(c.Figures) == 0 {
		w.element("p", "", "There are none: "+c.Why+".")
	}
	for i, f := range c.Figures {
		w.raw("<figure>\n")
		for _, size := range []struct {
			class string
			width float64
		}{{"broad", layout.Width}, {"narrow", layout.Narrow}} { // of which the style shows one
			w.raw(`<div class="` + size.class + `">` + "\n")
			w.raw(string(svg.Write([]figure.Figure{f}, svg.Options{Inside: size.class + strconv.Itoa(i), Width: size.width})))
			w.raw("</div>\n")
		}
		w.raw("<figcaption>")
		w.text(f.Description)
		w.raw("</figcaption>\n</figure>\n")
		for _, p := range f.Panels {
			w.table(p)
		}
	}
}

func (w *writer) table(p figure.Panel) {
	t := p.Table()
	if len(t.Rows) == 0 {
		return
	}
	w.raw("<details><summary>")
	w.text("Numbers: " + p.Title)
	w.raw("</summary>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>")
	for _, h := range t.Heads {
		w.raw(`<th scope="col">`)
		w.text(h)
		w.raw("</th>")
	}
	w.raw("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		w.raw("<tr>")
		for _, cell := range row {
			w.raw("<td>")
			w.text(cell)
			w.raw("</td>")
		}
		w.raw("</tr>\n")
	}
	w.raw("</tbody></table></div>\n</details>\n")
}
