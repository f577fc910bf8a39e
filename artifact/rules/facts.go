package rules

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Facts are what is known of one file, for rules and expectations.
type Facts struct {
	Path string
	// Err is why the file cannot be read; Report and Model are nil then.
	Err    error
	Report *report.Inspect
	Model  position.Model // open until Close; nil for compressed files and standard input
	// Stated is what files beside the model state.
	Stated sidecar.Stated
	// Config is what config.json beside the model says of RoPE; nil: there is none.
	Config *Config

	distant bool    // named by an address, whose large tables are not read whole
	scan    []table // what the rows of trained tables show
	scanned bool
}

// Read opens a model file and what lies beside it. A file that cannot be read has
// facts too: Err.
func Read(ctx context.Context, path string, o modelpatch.OpenOptions) *Facts {
	f := &Facts{Path: source.ShownPath(path), distant: source.IsAddress(path) && !o.Scan}
	model, r, err := source.OpenInspected(ctx, path, source.Options(o))
	if err != nil {
		f.Err = err
		return f
	}
	f.Model, f.Report = model, &r
	if path != source.Stdin {
		f.Stated = sidecar.ReadStated(ctx, path, source.Options(o))
		if data, err := source.ReadBeside(ctx, path, "config.json", source.Options(o)); err == nil {
			f.Config = readConfig(data, source.PathBeside(path, "config.json"))
		}
	}
	return f
}

// Lost reports whether reading failed while rules looked: the facts are then those of a file that
// cannot be read.
func (f *Facts) Lost() bool {
	if f.Model == nil {
		return false
	}
	err := source.ReadError(f.Model)
	if err == nil {
		return false
	}
	f.Close()
	*f = Facts{Path: f.Path, Err: err}
	return true
}

// Close lets go of the model.
func (f *Facts) Close() {
	if f.Model != nil {
		f.Model.Close()
	}
}

// Summary is what a report of check says of the file.
func (f *Facts) Summary() *report.CheckedFacts {
	if f.Report == nil {
		return nil
	}
	c := &report.CheckedFacts{Format: f.Report.Format, Architecture: f.Report.Architecture, Length: f.Report.Length, Schemes: []string{}}
	for _, e := range f.Report.Encodings {
		c.Schemes = append(c.Schemes, e.Scheme)
	}
	return c
}

// The kinds of files that cannot be read, each a rule of its own.
const (
	ruleUnreadable = "file-unreadable"
	rulePointer    = "lfs-pointer"
	ruleUnfinished = "edit-unfinished"
	ruleShard      = "shard-missing"
	ruleExternal   = "external-data-missing"
)

// IsUnreadable reports whether a rule's finding tells that a file was not read.
func IsUnreadable(id string) bool {
	switch id {
	case ruleUnreadable, rulePointer, ruleUnfinished, ruleShard, ruleExternal:
		return true
	}
	return false
}

// unreadable names the rule of an error that kept a file from being read.
func unreadable(err error) string {
	if input, ok := errors.AsType[*modelpatch.InputError](err); ok {
		switch {
		case strings.HasPrefix(input.Why, "a Git LFS pointer"):
			return rulePointer
		case input.What == "unfinished edit":
			return ruleUnfinished
		}
	}
	if _, ok := errors.AsType[*onnx.ExternalError](err); ok {
		return ruleExternal
	}
	if format, ok := errors.AsType[*gguf.FormatError](err); ok && strings.HasPrefix(format.What, "split model") {
		return ruleShard
	}
	return ruleUnreadable
}

// broken finds a file that cannot be read for the reason of one rule.
func broken(id string) func(*Facts, func(report.Finding)) {
	return func(f *Facts, found func(report.Finding)) {
		if f.Err == nil || unreadable(f.Err) != id {
			return
		}
		finding := report.Finding{Message: report.Printable(strings.TrimPrefix(f.Err.Error(), f.Path+": "))}
		finding.Hint = strings.Join(report.Hints(f.Err), "; ")
		if finding.Hint == "" && errors.Is(f.Err, fs.ErrNotExist) && id == ruleUnreadable {
			finding.Hint = "check the path"
		}
		found(finding)
	}
}
