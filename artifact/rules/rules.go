// Package rules holds the rules of modelpatch check: what can be wrong with how a model
// file tells and encodes positions, with a sentence on what it means, why it hurts and
// what mends it.
//
// Every finding that inspect tells is a rule here, found by the packages of its format;
// the others are found here, by Look over the Facts of one file. Nothing is registered:
// List is the one table, from which explain, the documentation and SARIF's rules come.
package rules

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/report"
)

// Rule is one thing that can be wrong with a model file.
type Rule struct {
	ID    string // stable: lower case, dashes, at least two words
	Level string // one of report's levels, as it is found when no policy says otherwise
	Title string // a few words
	Says  string // what it means, in a sentence
	Hurts string // what happens for it, and in which engine
	Mend  string // what to do; often a command line

	// varies says where a finding has another level than Level; "": nowhere.
	varies string

	// gate tells that check takes Level whatever inspect says: a warning for who reads a
	// report about a file is a failure for who ships it.
	gate bool

	// look finds it in a file; nil where the package of the format does.
	look func(f *Facts, found func(report.Finding))
}

// Find is the rule of that id.
func Find(id string) (Rule, bool) {
	for _, r := range List {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}

// Levels is the rule's level, and where a finding has another.
func (r Rule) Levels() string {
	switch {
	case r.gate:
		return r.Level + "; a warning in inspect, which judges no engine"
	case r.varies != "":
		return r.Level + "; " + r.varies
	}
	return r.Level
}

// ids are the names of all rules.
func ids() []string {
	var out []string
	for _, r := range List {
		out = append(out, r.ID)
	}
	return out
}

// Hint says what a misspelt rule was meant to be, and where the rules are listed.
func Hint(misspelt string) string {
	return spelling.Hint(misspelt, ids(), "modelpatch explain lists the rules")
}

// Look applies every rule to a file. Findings come gravest first, and in a stable
// order.
func Look(f *Facts) []report.Finding {
	var out []report.Finding
	if f.Report != nil {
		out = append(out, f.Report.Findings...)
		for i := range out {
			if r, ok := Find(out[i].Rule); ok && r.gate {
				out[i].Level = r.Level
			}
		}
	}
	for _, r := range List {
		if r.look == nil {
			continue
		}
		r.look(f, func(found report.Finding) {
			found.Rule = r.ID
			found.Level = cmp.Or(found.Level, r.Level)
			out = append(out, found)
		})
	}
	sortFindings(out)
	return out
}

// sortFindings puts findings in order: gravest first, then as they were found.
func sortFindings(findings []report.Finding) {
	slices.SortStableFunc(findings, func(a, b report.Finding) int { return Weight(b.Level) - Weight(a.Level) })
}

// Weight orders levels: 3 error, 2 warning, 1 note, 0 any other word.
func Weight(level string) int {
	switch level {
	case report.LevelError:
		return 3
	case report.LevelWarning:
		return 2
	case report.LevelNote:
		return 1
	}
	return 0
}

// Fingerprint names a finding so that the next run knows it again: by its rule, the
// file's path, and the tensor, node or key. Offsets, lengths and values are left out: they move
// with each export. Repeats are told apart by the caller.
func Fingerprint(path string, f report.Finding) string {
	at := ""
	if w := f.Where; w != nil {
		at = w.Tensor + "\x00" + w.Node + "\x00" + w.Key
	}
	sum := sha256.Sum256([]byte(fmt.Sprintf("modelpatch/1\x00%s\x00%s\x00%s", f.Rule, path, at)))
	return hex.EncodeToString(sum[:8])
}
