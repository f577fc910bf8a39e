package output

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/report"
)

// project is where the tool is at home.
const project = "https://github.com/modelpatch/modelpatch"

// maxResults is how many results GitHub keeps of a run (docs, "SARIF results exceed
// limits": 25,000 are taken, the top 5,000 are shown).
const maxResults = 5000

// sarif is SARIF 2.1.0 (OASIS) as GitHub's code scanning reads it. No region has a startLine:
// github/codeql-action's upload would read the whole model to hash its lines. Findings that are
// waived or in the baseline are left out, since GitHub ignores suppressions.
type sarif struct {
	w    *bufio.Writer
	o    Options
	kept gravest
}

func newSARIF(w *bufio.Writer, o Options) Writer {
	return &sarif{w: w, o: o, kept: gravest{most: maxResults}}
}

// File keeps the findings that count.
func (s *sarif) File(c report.Checked) {
	for _, f := range counting(c) {
		s.kept.add(c.Path, f)
	}
}

type object = map[string]any

// said is a message of SARIF.
func said(text string) object { return object{"text": text} }

// Close writes the run.
func (s *sarif) Close(Summary) error {
	results := []object{}
	index := map[string]int{}
	var listed []object
	for i, r := range rules.List {
		index[r.ID] = i
		listed = append(listed, object{
			"id": r.ID, "name": camel(r.ID), "helpUri": project + "/blob/main/docs/rules.md#" + r.ID, "shortDescription": said(r.Title + "."), "fullDescription": said(r.Says + " " + r.Hurts),
			"help":                 object{"text": r.Says + "\n\n" + r.Hurts + "\n\n" + r.Mend, "markdown": r.Says + "\n\n" + r.Hurts + "\n\n**What to do:** " + r.Mend},
			"defaultConfiguration": object{"level": r.Level},
			"properties":           object{"tags": []string{"model", "position-encoding"}, "precision": "high", "problem.severity": severity(r.Level)},
		})
	}
	for _, p := range s.kept.all() {
		result := object{"ruleId": p.finding.Rule, "level": p.finding.Level,
			"message":             said(sentences(message(p.finding), s.o.advice(p.finding))),
			"locations":           []object{location(p)},
			"partialFingerprints": object{"primaryLocationLineHash": p.finding.Fingerprint}}
		if i, ok := index[p.finding.Rule]; ok {
			result["ruleIndex"] = i
		}
		results = append(results, result)
	}
	invocation := object{"executionSuccessful": true}
	if s.kept.dropped > 0 {
		invocation["toolExecutionNotifications"] = []object{{"level": "warning", "message": said(fmt.Sprintf("%d further results are left out, the gravest are kept", s.kept.dropped))}}
	}
	driver := object{"name": "modelpatch", "informationUri": project, "rules": listed}
	if v := strings.TrimPrefix(s.o.Version, "v"); v != "" && v[0] >= '0' && v[0] <= '9' {
		driver["semanticVersion"] = v
	}
	run := object{"tool": object{"driver": driver}, "results": results, "invocations": []object{invocation},
		"automationDetails": object{"id": "modelpatch/"}, "columnKind": "utf16CodeUnits"}
	encoder := json.NewEncoder(s.w)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []object{run}}); err != nil {
		return err
	}
	return s.w.Flush()
}

// sentences joins two, each with its full stop; the second one begins like a sentence,
// unless it is a command.
func sentences(a, b string) string {
	if r, n := utf8.DecodeRuneInString(b); n > 0 && !strings.HasPrefix(b, "modelpatch ") {
		b = string(unicode.ToUpper(r)) + b[n:]
	}
	stop := func(s string) string {
		if s == "" || strings.HasSuffix(s, ".") {
			return s
		}
		return s + "."
	}
	return strings.TrimSpace(stop(a) + " " + stop(b))
}

// severity is GitHub's word for a level.
func severity(level string) string {
	switch level {
	case report.LevelError, report.LevelWarning:
		return level
	}
	return "recommendation"
}

// camel is a rule's id in the form that SARIF wants of names (SARIF2012).
func camel(id string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(id, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// location is where a finding is: the file, the bytes in it, and the name inside.
func location(p placed) object {
	path := p.path
	physical := object{}
	out := object{"physicalLocation": physical}
	if w := p.finding.Where; w != nil {
		if w.File != "" {
			path = w.File
		}
		if r := w.Range; r != nil && r[1] >= r[0] && r[0] >= 0 {
			physical["region"] = object{"byteOffset": r[0], "byteLength": r[1] - r[0]}
		}
		for _, at := range []struct{ kind, name string }{{"variable", w.Tensor}, {"function", w.Node}, {"member", w.Key}} {
			if at.name != "" {
				out["logicalLocations"] = []object{{"fullyQualifiedName": report.Printable(at.name), "kind": at.kind}}
				break
			}
		}
	}
	physical["artifactLocation"] = artifact(path)
	return out
}

// artifact is a path as SARIF refers to it: relative to the sources where it is relative.
func artifact(path string) object {
	u := (&url.URL{Path: filepath.ToSlash(path)}).String() // escapes what would be a scheme
	if filepath.IsAbs(path) {
		return object{"uri": "file://" + u}
	}
	return object{"uri": u, "uriBaseId": "%SRCROOT%"}
}
