package output

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/report"
)

// maxAnnotations is how many errors, and how many warnings, a step of GitHub Actions
// shows; the rest is dropped without a word.
const maxAnnotations = 10

// github is workflow commands of GitHub Actions, escaped as @actions/core does.
type github struct {
	w    *bufio.Writer
	o    Options
	kept [4]gravest // by weight
}

func newGitHub(w *bufio.Writer, o Options) Writer {
	g := &github{w: w, o: o}
	for i := range g.kept {
		g.kept[i].most = maxAnnotations
	}
	return g
}

// File keeps the first findings of each level.
func (g *github) File(c report.Checked) {
	for _, f := range counting(c) {
		g.kept[rules.Weight(f.Level)].add(c.Path, f)
	}
}

var (
	githubData     = sync.OnceValue(func() *strings.Replacer { return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A") })
	githubProperty = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	})
)

// Close writes the annotations, gravest first, and how many there were more.
func (g *github) Close(s Summary) error {
	dropped := 0
	for i := len(g.kept) - 1; i > 0; i-- {
		command := map[int]string{3: "error", 2: "warning", 1: "notice"}[i]
		for _, p := range g.kept[i].all() {
			title := p.finding.Rule
			if r, ok := rules.Find(p.finding.Rule); ok {
				title = r.Title
			}
			fmt.Fprintf(g.w, "::%s file=%s,title=%s::%s\n", command, githubProperty().Replace(filepath.ToSlash(report.Printable(p.path))), githubProperty().Replace(title),
				githubData().Replace(sentences(message(p.finding), g.o.advice(p.finding))+" ["+p.finding.Rule+"]"))
		}
		dropped += g.kept[i].dropped
	}
	tail := ""
	if dropped > 0 {
		tail = fmt.Sprintf("; %d findings more than are shown here", dropped)
	}
	fmt.Fprintf(g.w, "::notice title=modelpatch check::%s\n", githubData().Replace(s.Verdict+": "+s.String()+tail))
	return g.w.Flush()
}
