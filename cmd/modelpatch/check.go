package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/artifact/output"
	"github.com/modelpatch/modelpatch/artifact/policy"
	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/internal/ordered"
	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Files that are taken where none is named.
const (
	defaultPolicy   = "modelpatch.yaml"
	defaultBaseline = ".modelpatch-baseline.json" // beside the policy
)

// failNever is the word of --fail-on for a check that only reports.
const failNever = "never"

// failOn are the words of --fail-on.
var failOn = []string{report.LevelError, report.LevelWarning, report.LevelNote, failNever}

// checking is one run of check.
type checking struct {
	c             *console
	open          modelpatch.OpenOptions
	policyFile    string
	baselineFile  string
	named         bool // the baseline is, by its flag
	writeBaseline bool
	init          bool
	quiet         bool
	failOn        string
	formats       []string
	asJSON        bool
	workers       int
	many          fleet
	outputs       outputs

	policy   *policy.Policy
	baseline policy.Baseline
	found    policy.Baseline // for --write-baseline
	before   policy.Baseline // what --write-baseline replaces
	looked   map[string]bool // paths of the files of this run
	known    *target.File    // the baseline that is written; nil: none
	reports  []openReport
	summary  output.Summary
	worst    int // exit code
}

// fails reports whether a finding makes the check fail.
func (k *checking) fails(f report.CheckedFinding) bool {
	return !k.writeBaseline && k.failOn != failNever && f.Counts() && rules.Weight(f.Level) >= rules.Weight(k.failOn)
}

// verdict is the first word of a report about all files.
func (k *checking) verdict() string {
	switch {
	case k.writeBaseline:
		return "not judged (--write-baseline)"
	case k.failOn == failNever:
		return "not judged (--fail-on " + failNever + ")"
	case k.worst != modelpatch.ExitDone:
		return "failed"
	}
	return "passed"
}

// openReport is a report that is being written.
type openReport struct {
	output.Writer
	file *target.File // nil: what commands print
	path string
}

func newCheck(c *console) *cobra.Command {
	k := &checking{c: c}
	k.many.outputs = &k.outputs
	cmd := &cobra.Command{
		Use:   "check [FILE|FOLDER|-]…",
		Short: "Fail when a model's positions are wrong, by rules and a policy",
		Long: `check looks for what is wrong with how model files tell and encode positions, and
exits 1 when it finds something of level error (--fail-on). Without arguments it
looks at the working folder. The rules are listed by modelpatch explain.

A policy file (--policy, or modelpatch.yaml in the working folder or, in a Git
repository, above it) changes levels, says what models must be, and accepts
findings with a reason until a day. --init writes one to begin with. A baseline
holds what was there before, so that only what is new fails: --write-baseline
makes it.

--format writes reports, several at once: --format text,sarif=out.sarif`,
		Example: `  modelpatch check models/
  modelpatch check --init
  modelpatch check --fail-on warning --format github,sarif=modelpatch.sarif models/
  modelpatch check --policy modelpatch.yaml --write-baseline models/`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if k.init {
				return k.begin(cmd, files)
			}
			if len(files) == 0 && k.many.from == "" {
				files = []string{"."}
			}
			return k.run(cmd, files)
		},
	}
	cmd.Flags().StringVar(&k.policyFile, "policy", "", "policy file (default modelpatch.yaml in the working folder, or above it in a Git repository)")
	cmd.Flags().StringVar(&k.baselineFile, "baseline", "", "baseline file: what it holds does not count (default "+defaultBaseline+" beside the policy)")
	cmd.Flags().BoolVar(&k.writeBaseline, "write-baseline", false, "write the baseline file anew from what is found, and exit 0; what it knows of other files stays")
	cmd.Flags().BoolVar(&k.init, "init", false, "write a commented policy file to begin with, and check nothing")
	cmd.Flags().BoolVarP(&k.quiet, "quiet", "q", false, "in text, tell only what makes the check fail")
	cmd.Flags().StringVar(&k.failOn, "fail-on", report.LevelError, "least level that makes the exit code 1: "+strings.Join(failOn, ", "))
	cmd.Flags().StringSliceVar(&k.formats, "format", nil, "reports to write, each FORMAT or FORMAT=FILE: "+strings.Join(output.Names(), ", ")+" (default text)")
	cmd.Flags().BoolVar(&k.asJSON, "json", false, "the same as --format json")
	cmd.Flags().IntVarP(&k.workers, "jobs", "j", runtime.NumCPU(), "files that are looked at at once")
	cmd.Flags().StringVar(&k.open.ExternalRoot, "external-root", "", "a folder in which external data of ONNX models may lie as well")
	k.many.addFlags(cmd)
	k.outputs.addFlags(cmd)
	cmd.Flags().Int64Var(&k.open.MaxUnpacked, "max-unpacked", 0, "bytes that a compressed input may come to (default 64 GiB)")
	takes(cmd, "fail-on", failOn...)
	suggests(cmd, "format", output.Names()...)
	return reading(c, cmd, &k.open)
}

// begin writes a policy file to begin with.
func (k *checking) begin(cmd *cobra.Command, files []string) error {
	if len(files) > 0 || cmd.Flags().NFlag() > 2 || cmd.Flags().NFlag() == 2 && k.policyFile == "" {
		return &position.UsageError{What: "--init checks nothing", Hint: "modelpatch check --init [--policy FILE], then modelpatch check PATHS"}
	}
	path := cmp.Or(k.policyFile, defaultPolicy)
	if isThere(path) {
		return &patch.OutputError{Op: "create", Path: path, Err: fs.ErrExist, Hint: "--init --policy FILE writes another"}
	}
	target, err := k.outputs.Create(cmd.Context(), "--init", path, false)
	if err != nil {
		return err
	}
	defer target.Close()
	if err := complete(target, policy.Template); err != nil {
		return err
	}
	k.c.say("%s written; nothing in it is in force until you take the # away", text(path))
	return nil
}

func (k *checking) run(cmd *cobra.Command, files []string) error {
	if err := k.settings(); err != nil {
		return err
	}
	inputs, err := k.many.expand(files)
	if err != nil {
		return err
	}
	defer k.abandon()
	if err := k.openOutputs(cmd.Context()); err != nil {
		return err
	}
	names := linked(inputs)
	settings, err := k.many.settings(k)
	if err != nil {
		return err
	}
	if err := k.many.begin(k.open, settings...); err != nil {
		return err
	}
	inputs = slices.DeleteFunc(inputs, func(in input) bool { return in.same != "" })
	type judged struct {
		checked report.Checked
		code    int
		facts   *rules.Facts
		found   []report.Finding
		done    bool // the journal knows it
		seen    []looked
	}
	var failed error
	progress := k.many.counting(k.c, "checked", inputs)
	ordered.Each(cmd.Context(), k.workers, ahead, k.many.inputs(inputs), func(in input) judged {
		if e, ok := k.many.done(cmd.Context(), in.path); ok && in.err == nil {
			var c report.Checked
			if json.Unmarshal(e.Result, &c) == nil {
				return judged{checked: c, code: e.Code, done: true}
			}
		}
		seen := k.many.before(cmd.Context(), in.path)
		facts := &rules.Facts{Path: in.path, Err: in.err}
		if in.err == nil {
			facts = rules.Read(cmd.Context(), in.path, k.open)
		}
		seen = k.many.further(cmd.Context(), in.path, seen, facts.Report)
		found := rules.Look(facts)
		if facts.Lost() {
			found = rules.Look(facts) // that it could not be read, in place of what was found by half
		}
		facts.Close()
		return judged{facts: facts, found: found, code: modelpatch.ExitCode(facts.Err), seen: seen}
	}, func(in input, j judged) bool {
		defer progress.printing()()
		if failed = k.outputs.Reads(in.path); failed == nil && j.facts != nil && j.facts.Report != nil {
			failed = k.outputs.Reads(filesOf(j.facts.Report)...)
		}
		if failed != nil {
			return false
		}
		if j.done {
			k.policy.Saw(in.path)
		} else {
			j.checked, failed = k.judge(j.facts, j.found, names[in.path])
			if failed == nil && in.err == nil {
				failed = k.remember(cmd.Context(), in.path, j.seen, j.facts.Err, j.checked, j.code)
			}
		}
		if failed != nil {
			return false
		}
		k.file(j.checked, j.code)
		return k.c.out.err == nil
	})
	progress.end()
	if err := k.many.end(); failed == nil {
		failed = err
	}
	if failed != nil {
		return failed
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	return k.finish()
}

// remember notes in the journal what was found in a file.
func (k *checking) remember(ctx context.Context, path string, seen []looked, failure error, c report.Checked, code int) error {
	if k.many.journal == nil {
		return nil
	}
	line, err := report.Line(c)
	if err != nil {
		return err
	}
	return k.many.note(ctx, path, seen, failure, code, line)
}

// settings are what changes the results of check: the texts of the policy and the baseline.
func (f *fleet) settings(k *checking) ([]string, error) {
	out := []string{"check", k.open.ExternalRoot}
	if f.path == "" {
		return out, nil
	}
	if k.writeBaseline {
		return nil, &position.UsageError{What: "--write-baseline with --journal", Hint: "a baseline is made from a whole run: leave one of them out"}
	}
	for _, file := range []string{k.policy.Path, k.baselineFile} {
		b := []byte(nil)
		if file != "" {
			var err error
			if b, _, err = regular.Read(file, policy.MaxFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, unreadable(file, err)
			}
		}
		out = append(out, string(b))
	}
	return append(out, time.Now().Format(time.DateOnly)), nil // waivers end
}

// linked are the further names of inputs, by the path that is looked at.
func linked(inputs []input) map[string][]string {
	out := map[string][]string{}
	for _, in := range inputs {
		if in.same != "" {
			out[in.same] = append(out[in.same], report.Name(in.path))
		}
	}
	return out
}

// settings reads what the flags name.
func (k *checking) settings() error {
	file := cmp.Or(k.policyFile, foundPolicy())
	k.policy = &policy.Policy{}
	if file != "" {
		p, err := policy.Load(file, time.Now())
		if err != nil {
			return mistake(err)
		}
		k.policy = p
	}
	k.named = k.baselineFile != ""
	k.baselineFile = cmp.Or(k.baselineFile, k.policy.Baseline, filepath.Join(filepath.Dir(file), defaultBaseline))
	b, err := policy.LoadBaseline(k.baselineFile)
	switch {
	case k.writeBaseline:
		k.found, k.before = policy.Baseline{}, b // one that cannot be read is written anew
	case err != nil:
		return mistake(err)
	case (k.named || k.policy.Baseline != "") && !isThere(k.baselineFile):
		return &position.UsageError{What: "the baseline " + text(k.baselineFile) + " is not there", Hint: "modelpatch check --write-baseline --baseline " + text(k.baselineFile) + " writes it"}
	default:
		k.baseline = b
	}
	k.summary.Policy = k.policy.Path
	return nil
}

// foundPolicy is the policy file of the working folder or, in a Git repository, of the nearest
// folder above it that has one; "" where there is none. Outside of a repository nothing above is
// taken: anybody may write into some folders.
func foundPolicy() string {
	at, err := os.Getwd()
	if err != nil {
		at = string(filepath.Separator)
	}
	found := ""
	for up := ""; ; up = filepath.Join("..", up) {
		if file := filepath.Join(up, defaultPolicy); found == "" && isThere(file) {
			found = file
		}
		if isThere(filepath.Join(up, ".git")) {
			return found
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	if found == defaultPolicy {
		return found
	}
	return ""
}

func isThere(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// mistake makes a mistake in a policy a usage error, exit code 2.
func mistake(err error) error {
	e, ok := errors.AsType[*policy.Error](err)
	if !ok {
		return err
	}
	return &position.UsageError{What: e.Error(), Hint: e.Hint}
}

// openOutputs opens what is written beside standard output, all before anything is looked at.
func (k *checking) openOutputs(ctx context.Context) error {
	inputs := []string{k.policy.Path, k.many.from}
	if !k.writeBaseline {
		inputs = append(inputs, k.baselineFile)
	}
	err := k.outputs.Reads(inputs...)
	if err == nil && k.writeBaseline {
		k.known, err = k.outputs.Create(ctx, "--write-baseline", k.baselineFile, true)
	}
	if err != nil {
		return err
	}
	if k.asJSON {
		k.formats = append(k.formats, "json")
	}
	if len(k.formats) == 0 {
		k.formats = []string{"text"}
	}
	if k.quiet && !slices.ContainsFunc(k.formats, func(f string) bool { return f == "text" || strings.HasPrefix(f, "text=") }) {
		return &position.UsageError{What: "--quiet without --format text", Hint: "only text is shortened; other formats are whole"}
	}
	return k.openReports(ctx)
}

// openReports opens what --format names.
func (k *checking) openReports(ctx context.Context) (err error) {
	printed := ""
	for _, f := range k.formats {
		name, file, toFile := strings.Cut(f, "=")
		var w io.Writer = k.c.out
		r := openReport{path: file}
		switch {
		case !slices.Contains(output.Names(), name):
			return &position.UsageError{What: fmt.Sprintf("no format is called %q", text(name)), Hint: spelling.Words(name, output.Names())}
		case toFile && file == "":
			return &position.UsageError{What: "--format " + name + "= names no file", Hint: "write --format " + name + "=FILE"}
		case toFile:
			if r.file, err = k.outputs.Create(ctx, "--format "+name, file, true); err != nil {
				return err
			}
			w = r.file
		case printed != "":
			return &position.UsageError{What: fmt.Sprintf("--format %s and %s would both be printed", printed, name), Hint: "give one of them a file: --format " + name + "=FILE"}
		default:
			printed = name
		}
		options := output.Options{Version: version(), Remedy: report.Remedy.CommandLine}
		if k.quiet {
			options.Only = k.fails
		}
		if !toFile {
			options.Colour = k.c.level
		}
		r.Writer = output.New(name, w, options)
		k.reports = append(k.reports, r)
	}
	return nil
}

// abandon removes what was not completed.
func (k *checking) abandon() {
	for _, r := range append(k.reports, openReport{file: k.known}) {
		if r.file != nil {
			r.file.Close()
		}
	}
}

// filesOf are the further files of a model.
func filesOf(r *report.Inspect) (out []string) {
	for _, f := range r.Files {
		out = append(out, f.Path)
	}
	return out
}

func cannotWrite(path string, err error) error {
	if _, ok := errors.AsType[*patch.OutputError](err); ok || errors.Is(err, context.Canceled) {
		return err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return &patch.OutputError{Op: "write", Path: path, Err: err}
}

// judge holds findings against policy and baseline.
func (k *checking) judge(f *rules.Facts, found []report.Finding, names []string) (report.Checked, error) {
	findings, err := k.policy.Judge(f, found)
	if err != nil {
		return report.Checked{}, mistake(err)
	}
	return k.checked(f.Path, names, findings, f.Summary()), nil
}

// checked is the report about one file, or about the policy itself.
func (k *checking) checked(path string, names []string, findings []report.CheckedFinding, facts *report.CheckedFacts) report.Checked {
	k.baseline.Mark(findings)
	if findings == nil {
		findings = []report.CheckedFinding{}
	}
	c := report.Checked{Schema: report.SchemaCheck, Path: report.Name(cleaned(path)), Names: names, Level: report.LevelOK, Findings: findings, Facts: facts}
	if k.looked == nil {
		k.looked = map[string]bool{}
	}
	k.looked[c.Path] = true
	for _, f := range findings {
		if f.Counts() && rules.Weight(f.Level) > rules.Weight(c.Level) {
			c.Level = f.Level
		}
		if k.found != nil && f.Waived == nil {
			k.found[f.Fingerprint] = policy.Known{Rule: f.Rule, Path: c.Path}
		}
	}
	return c
}

// file hands a file's findings to all reports. code is the exit code of reading it, which
// counts where the finding that tells of it does.
func (k *checking) file(c report.Checked, code int) {
	k.summary.Add(c)
	for _, f := range c.Findings {
		switch {
		case !k.fails(f):
		case rules.IsUnreadable(f.Rule):
			k.worst = max(k.worst, modelpatch.ExitNo, code)
		default:
			k.worst = max(k.worst, modelpatch.ExitNo)
		}
	}
	for _, r := range k.reports {
		r.File(c)
	}
}

// keepOthers leaves in the baseline what was known of files that are there and were not looked at, and returns how
// many findings that are: a run over some models says nothing of the others.
func (k *checking) keepOthers() (kept int) {
	for fingerprint, known := range k.before {
		if _, again := k.found[fingerprint]; !again && !k.looked[known.Path] && isThere(known.Path) {
			k.found[fingerprint] = known
			kept++
		}
	}
	return kept
}

// finish judges the policy itself, writes what is left, and decides the exit code.
func (k *checking) finish() error {
	own := k.policy.Own()
	if k.many.journal != nil || k.many.shares > 1 { // this run saw not all that a waiver may be for
		own = slices.DeleteFunc(own, func(f report.CheckedFinding) bool {
			return f.Rule == rules.WaiverUnused || f.Rule == rules.PatternUnmatched && k.many.shares > 1
		})
	}
	if len(own) > 0 {
		checked := k.checked(k.policy.Path, nil, own, nil)
		k.file(checked, modelpatch.ExitDone)
		k.summary.Files--
		if slices.ContainsFunc(checked.Findings, func(f report.CheckedFinding) bool { return f.Rule == rules.PatternUnmatched && k.fails(f) }) {
			k.worst = max(k.worst, modelpatch.ExitUsage) // the policy is wrong, not a model
		}
	}
	if k.writeBaseline {
		fresh, kept := len(k.found), k.keepOthers()
		err := k.found.Write(k.known)
		if err == nil {
			_, err = k.known.Commit()
		}
		if err != nil {
			return err
		}
		taken := "from now on"
		if k.named {
			taken = "with --baseline " + text(k.baselineFile)
		}
		others := ""
		if kept > 0 {
			others = fmt.Sprintf(", and %s of files that were not checked", plural(kept, "finding"))
		}
		k.c.say("%s written: %s%s; %s only what is new counts", text(k.baselineFile), plural(fresh, "finding"), others, taken)
	}
	k.summary.Verdict = k.verdict()
	var first error
	for _, r := range k.reports {
		err := r.Close(k.summary)
		if r.file != nil {
			if err == nil {
				_, err = r.file.Commit()
			}
			if err != nil && first == nil {
				first = cannotWrite(r.path, err)
			}
		}
	}
	switch {
	case first != nil:
		return first
	case k.worst != modelpatch.ExitDone:
		return &codedError{k.worst}
	}
	return nil
}
