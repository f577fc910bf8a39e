// Package policy reads the policy file of modelpatch check: which rules count how much,
// what a model must be, and which findings are accepted until when.
//
// A policy is YAML (go.yaml.in/yaml/v3, which tells lines): what is common is declared by
// field, the rest is an expression of expr-lang. Everything in it is checked when it is
// read; a mistake is an *Error with the line, never a rule that silently does not hold.
package policy

import (
	_ "embed" // Template
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/internal/glob"
	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/report"
)

// Template is a policy file to begin with: a version, and everything else as comments.
//
//go:embed template.yaml
var Template []byte

// Off is the level of a rule that a policy switches off.
const Off = "off"

// Error is a mistake in a policy or baseline file.
type Error struct {
	Path string
	Line int // 0: of the whole file
	What string
	Hint string
}

// Error says file, line and what is wrong.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", report.Printable(e.Path), e.What)
	}
	return fmt.Sprintf("%s:%d: %s", report.Printable(e.Path), e.Line, e.What)
}

// Hints returns what to do about it.
func (e *Error) Hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// Policy is a policy file. The zero value is that of no file: every rule at its own level.
type Policy struct {
	Path     string
	Baseline string // path of the baseline file, relative to the policy's folder; "": none
	levels   map[string]string
	entries  []entry
	waivers  []*waiver
	folder   string
	today    time.Time
}

// entry is what holds for some files.
type entry struct {
	files  []pattern
	levels map[string]string
	expect []expectation
}

// waiver accepts findings of one rule in some files until a day.
type waiver struct {
	rule, reason, owner string
	files               []pattern
	until               time.Time
	line                int
	used                bool
	matched             bool // a file of this run is among files
}

// The keys of the file, for what is misspelt.
var (
	topKeys    = []string{"version", "rules", "for", "waivers", "baseline"}
	entryKeys  = []string{"files", "rules", "expect"}
	waiverKeys = []string{"rule", "files", "reason", "until", "owner"}
)

// pattern is a pattern of paths.
type pattern struct {
	*glob.Pattern
	text    string
	line    int
	matched bool // a file that was judged matches
}

// What a policy may be made of: it is read before anybody has looked at it.
const (
	maxPolicy   = 1 << 20 // bytes
	maxPatterns = 4096
)

// Load reads a policy file. today decides which waivers have ended.
func Load(file string, today time.Time) (*Policy, error) {
	data, _, err := regular.Read(file, maxPolicy)
	if err != nil {
		return nil, &Error{Path: file, What: "the policy cannot be read: " + reason(err)}
	}
	return Parse(file, data, today)
}

func reason(err error) string {
	if e, ok := err.(*os.PathError); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// Parse reads the content of a policy file that lies at the given path.
func Parse(file string, data []byte, today time.Time) (*Policy, error) {
	p := &Policy{Path: file, folder: filepath.Dir(file), today: today, levels: map[string]string{}}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, &Error{Path: file, What: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	if len(root.Content) == 0 {
		return nil, &Error{Path: file, What: "the policy is empty", Hint: "the least one is: version: 1"}
	}
	r := reader{path: file}
	version := 0
	r.fields(root.Content[0], topKeys, func(key string, v *yaml.Node) {
		switch key {
		case "version":
			r.decode(v, &version, "a number")
		case "rules":
			p.levels = r.levels(v)
		case "for":
			r.each(v, func(n *yaml.Node) { p.entries = append(p.entries, r.entry(n)) })
		case "waivers":
			r.each(v, func(n *yaml.Node) { p.waivers = append(p.waivers, r.waiver(n)) })
		case "baseline":
			r.decode(v, &p.Baseline, "a path")
		}
	})
	if r.err == nil && version != 1 {
		r.fail(root.Content[0], fmt.Sprintf("version %d is not known", version), "write version: 1")
	}
	if r.err != nil {
		return nil, r.err
	}
	if p.Baseline != "" && !filepath.IsAbs(p.Baseline) {
		p.Baseline = filepath.Join(p.folder, p.Baseline)
	}
	return p, nil
}

// reader reads a policy and keeps the first mistake.
type reader struct {
	path string
	err  error
	compiler
	patterns int
}

func (r *reader) fail(n *yaml.Node, what, hint string) {
	if r.err == nil {
		r.err = &Error{Path: r.path, Line: n.Line, What: what, Hint: hint}
	}
}

// fields walks a mapping whose keys are known.
func (r *reader) fields(n *yaml.Node, known []string, visit func(key string, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "a mapping is expected here, with "+strings.Join(known, ", "), "")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i].Value
		switch {
		case !slices.Contains(known, key):
			r.fail(n.Content[i], fmt.Sprintf("unknown key %q", report.Printable(key)), spelling.Words(key, known))
		case seen[key]:
			r.fail(n.Content[i], fmt.Sprintf("%q stands here twice", key), "")
		default:
			seen[key] = true
			visit(key, n.Content[i+1])
		}
	}
}

func (r *reader) each(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind != yaml.SequenceNode {
		r.fail(n, "a list is expected here", "begin each entry with a dash")
		return
	}
	for _, c := range n.Content {
		visit(c)
	}
}

func (r *reader) decode(n *yaml.Node, into any, what string) {
	if n.Decode(into) != nil {
		r.fail(n, fmt.Sprintf("%q is not %s", report.Printable(n.Value), what), "")
	}
}

// strings reads one string or a list of them.
func (r *reader) strings(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var out []string
	r.decode(n, &out, "a string or a list of strings")
	return out
}

// globs reads patterns of paths.
func (r *reader) globs(n *yaml.Node) []pattern {
	var out []pattern
	for _, g := range r.strings(n) {
		if r.patterns++; r.patterns > maxPatterns {
			r.fail(n, fmt.Sprintf("more than %d patterns of paths in a policy", maxPatterns), "** stands for any folders, * for any name")
			break
		}
		p, err := glob.Parse(g)
		if err != nil {
			r.fail(n, fmt.Sprintf("%q is no pattern of paths: %v", report.Printable(g), err), "** stands for any folders, * for any name")
			break
		}
		out = append(out, pattern{Pattern: p, text: g, line: n.Line})
	}
	return out
}

// levels reads rule: level.
func (r *reader) levels(n *yaml.Node) map[string]string {
	out := map[string]string{}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "rules and their levels are expected here", "")
		return out
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		r.rule(key)
		level := v.Value
		if v.Tag == "!!bool" && level == "off" { // YAML 1.1 reads off as false
			level = Off
		}
		r.level(v, level)
		out[key.Value] = level
	}
	return out
}

func (r *reader) level(n *yaml.Node, level string) {
	if rules.Weight(level) == 0 && level != Off {
		r.fail(n, fmt.Sprintf("%q is no level", report.Printable(level)), "error, warning, note or off")
	}
}

func (r *reader) rule(n *yaml.Node) {
	if _, ok := rules.Find(n.Value); ok {
		return
	}
	r.fail(n, fmt.Sprintf("no rule is called %q", report.Printable(n.Value)), rules.Hint(n.Value))
}

// words reads strings that are all of a list; what names it in messages.
func (r *reader) words(n *yaml.Node, what string, known []string) []string {
	out := r.strings(n)
	for _, w := range out {
		if !slices.Contains(known, w) {
			r.fail(n, fmt.Sprintf("no %s is called %q", what, report.Printable(w)), spelling.Words(w, known))
		}
	}
	return out
}

func (r *reader) entry(n *yaml.Node) (e entry) {
	r.fields(n, entryKeys, func(key string, v *yaml.Node) {
		switch key {
		case "files":
			e.files = r.globs(v)
		case "rules":
			e.levels = r.levels(v)
		case "expect":
			r.each(v, func(n *yaml.Node) { e.expect = append(e.expect, r.expectation(n)) })
		}
	})
	if len(e.files) == 0 {
		r.fail(n, "the entry names no files", `files: ["**/*.gguf"]`)
	}
	return e
}

func (r *reader) waiver(n *yaml.Node) *waiver {
	w := &waiver{line: n.Line}
	r.fields(n, waiverKeys, func(key string, v *yaml.Node) {
		switch key {
		case "rule":
			r.rule(v)
			w.rule = v.Value
		case "files":
			w.files = r.globs(v)
		case "reason":
			w.reason = strings.TrimSpace(v.Value)
		case "owner":
			w.owner = v.Value
		case "until":
			day, err := time.Parse(time.DateOnly, v.Value)
			if err != nil {
				r.fail(v, fmt.Sprintf("%q is no day", report.Printable(v.Value)), "write it as 2027-03-01")
			}
			w.until = day
		}
	})
	switch {
	case w.rule == "" || len(w.files) == 0:
		r.fail(n, "a waiver needs a rule and files", "")
	case w.reason == "":
		r.fail(n, "a waiver needs a reason", "say why the finding is accepted")
	case w.until.IsZero():
		r.fail(n, "a waiver needs an end", "until: 2027-03-01, the last day on which it holds")
	}
	return w
}

// matches reports whether a path is meant by patterns, and notes in each whether it is. They are
// matched against the path as it was found, the path below the policy's folder, and its last name
// where the pattern has no folder.
func (p *Policy) matches(patterns []pattern, file string) (any bool) {
	candidates := []string{path.Clean(filepath.ToSlash(file))}
	if below, err := filepath.Rel(absolute(p.folder), absolute(file)); err == nil {
		candidates = append(candidates, filepath.ToSlash(below))
	}
	for i := range patterns {
		g := &patterns[i]
		if (!any || !g.matched) && slices.ContainsFunc(candidates, g.MatchFile) {
			any, g.matched = true, true
		}
	}
	return any
}

// Saw notes that a file was among those of this run, for the findings of [Policy.Own]; Judge does so itself.
func (p *Policy) Saw(file string) {
	for _, e := range p.entries {
		p.matches(e.files, file)
	}
}

// below reports whether a file below the policy's folder matches one of the patterns.
func (p *Policy) below(files []pattern) (found bool) {
	tried := 0
	// The function returns no error but the one that ends a walk.
	_ = filepath.WalkDir(p.folder, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		found = p.matches(files, file)
		if tried += len(file); found || tried > maxTried>>10 {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// maxTried bounds the search for files that patterns match: bytes of pattern times bytes of path.
const maxTried = 1 << 28

// unmet are the patterns of entries that match no file: none of this run, and none below the
// policy's folder, since a run may look at a few files alone. Patterns of addresses are left
// out, and all are where the folder has too many files for maxTried.
func (p *Policy) unmet() (out []pattern) {
	left := func() bool {
		out = nil
		for _, e := range p.entries {
			for _, g := range e.files {
				if !g.matched && !source.IsAddress(g.text) {
					out = append(out, g)
				}
			}
		}
		return len(out) > 0
	}
	if !left() {
		return nil
	}
	perFile, tried := 0, 0
	for _, g := range out {
		perFile += len(g.text)
	}
	// The function returns no error but the two that end a walk.
	_ = filepath.WalkDir(p.folder, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		if tried += perFile * len(file); tried > maxTried {
			return fs.SkipAll
		}
		p.Saw(file)
		return nil
	})
	if tried > maxTried || !left() {
		return nil
	}
	return out
}

// named is a path as fingerprints have it: below the policy's folder where it lies there, so that
// a finding is known again by runs in other folders.
func (p *Policy) named(file string) string {
	if source.IsAddress(file) || file == source.Stdin {
		return file
	}
	if below, err := filepath.Rel(absolute(p.folder), absolute(file)); err == nil && filepath.IsLocal(below) {
		file = below
	}
	return path.Clean(filepath.ToSlash(file))
}

func absolute(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		return abs
	}
	return file
}

// Judge is what the policy makes of a file's findings: levels changed, those that are off
// left out, what was expected and does not hold added, waivers noted.
func (p *Policy) Judge(f *rules.Facts, found []report.Finding) ([]report.CheckedFinding, error) {
	left := &budget{maxSteps}
	levels := map[string]string{}
	for rule, level := range p.levels {
		levels[rule] = level
	}
	for _, e := range p.entries {
		if !p.matches(e.files, f.Path) {
			continue
		}
		for rule, level := range e.levels { // the last entry that matches wins
			levels[rule] = level
		}
		for _, x := range e.expect {
			unmet, err := x.unmet(p.Path, f, left)
			if err != nil {
				return nil, err
			}
			if unmet != nil {
				found = append(found, *unmet)
			}
		}
	}
	for _, w := range p.waivers {
		w.matched = w.matched || p.matches(w.files, f.Path)
	}
	var out []report.CheckedFinding
	repeats := map[string]int{}
	for _, finding := range found {
		// An entry that sets the level of expectations does so for those without one of their own.
		if level, ok := levels[finding.Rule]; ok && level != Off {
			finding.Level = level
		} else if ok {
			continue
		}
		mark := rules.Fingerprint(p.named(f.Path), finding)
		if repeats[mark]++; repeats[mark] > 1 {
			mark = fmt.Sprintf("%s:%d", mark, repeats[mark])
		}
		out = append(out, report.CheckedFinding{Finding: finding, Fingerprint: mark, Waived: p.waived(finding.Rule, f.Path)})
	}
	slices.SortStableFunc(out, func(a, b report.CheckedFinding) int { return rules.Weight(b.Level) - rules.Weight(a.Level) })
	return out, nil
}

// waived is the reason of the waiver that covers a finding, nil where none does or it has
// ended.
func (p *Policy) waived(rule, file string) *string {
	for _, w := range p.waivers {
		if w.rule != rule || !p.matches(w.files, file) {
			continue
		}
		w.used = true
		if p.ended(w) {
			continue
		}
		says := fmt.Sprintf("%s, until %s", w.reason, w.until.Format(time.DateOnly))
		if w.owner != "" {
			says += " (" + w.owner + ")"
		}
		return &says
	}
	return nil
}

// ended reports whether a waiver's last day is over.
func (p *Policy) ended(w *waiver) bool { return p.today.After(w.until.AddDate(0, 0, 1)) }

// Own are the findings about the policy itself, after all files were judged: patterns that match
// nothing, waivers that have ended, and those that covered nothing.
func (p *Policy) Own() []report.CheckedFinding {
	var out []report.CheckedFinding
	add := func(rule, level, says, key string) {
		if to, ok := p.levels[rule]; ok {
			level = to
		}
		if level == Off {
			return
		}
		f := report.Finding{Rule: rule, Level: level, Message: says, Where: &report.Where{File: report.Name(p.Path), Key: report.Name(key)}}
		out = append(out, report.CheckedFinding{Finding: f, Fingerprint: rules.Fingerprint(p.named(p.Path), f)})
	}
	for _, g := range p.unmet() {
		add(rules.PatternUnmatched, report.LevelError, fmt.Sprintf("the pattern %q in line %d matches no file: what it expects is held against nothing", report.Printable(g.text), g.line), g.text)
	}
	for _, w := range p.waivers {
		switch {
		case p.ended(w):
			add(rules.WaiverExpired, report.LevelError, fmt.Sprintf("the waiver of %s in line %d ended on %s: %s", w.rule, w.line, w.until.Format(time.DateOnly), report.Printable(w.reason)), fmt.Sprintf("line %d", w.line))
		case !w.used && (w.matched || !p.below(w.files)): // else it is for files of another run
			add(rules.WaiverUnused, report.LevelNote, fmt.Sprintf("the waiver of %s in line %d covers no finding", w.rule, w.line), fmt.Sprintf("line %d", w.line))
		}
	}
	return out
}
