package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/glob"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
)

// modelNames are the endings of model files that are looked for in folders.
var modelNames = []string{".gguf", ".onnx", ".gguf.zst", ".onnx.zst", ".gguf.gz", ".onnx.gz"}

// laterShard matches the shards of a split GGUF after the first, which opens
// them all.
var laterShard = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-(\d{5})-of-\d{5}\.gguf$`)
})

// input is a file to be inspected, or what is wrong with an argument.
type input struct {
	path string
	err  error       // nil: path can be tried
	same string      // not inspected: it is the same file as this one
	info os.FileInfo // nil where there is none
}

// excluded are patterns of paths that are left out.
type excluded []*glob.Pattern

// names reports whether a path is left out, as it was found or as it lies below a folder that was named.
func (e excluded) names(file, folder string) bool {
	below, err := filepath.Rel(folder, file)
	return slices.ContainsFunc(e, func(g *glob.Pattern) bool {
		return g.MatchFile(filepath.ToSlash(cleaned(file))) || err == nil && g.Match(filepath.ToSlash(below))
	})
}

// cleaned is a path in its shortest form; addresses stay.
func cleaned(path string) string {
	if source.IsAddress(path) {
		return path
	}
	return filepath.Clean(path)
}

// expand turns arguments into inputs. A path that is named is one input each
// time, and so is every match of a pattern that no shell expanded. A folder
// gives the models below it, those left out that are there already.
func expand(arguments []string, without excluded) ([]input, error) {
	var out []input
	known, emptied := files{}, ""
	for i, a := range arguments {
		if a == source.Stdin {
			if slices.Contains(arguments[:i], a) {
				return nil, &position.UsageError{What: "standard input is named twice", Hint: "- can be read once"}
			}
			out = append(out, input{path: a})
			continue
		}
		info, err := os.Stat(a)
		if without.names(a, a) {
			if err == nil && info.IsDir() {
				emptied = cmp.Or(emptied, a)
			}
			continue
		}
		if source.IsAddress(a) {
			out = append(out, input{path: a})
			continue
		}
		if err == nil && info.IsDir() {
			for _, found := range modelsBelow(a) {
				if found.err == nil && without.names(found.path, a) {
					emptied = cmp.Or(emptied, a)
					continue
				}
				found.same = known.same(found)
				out = append(out, known.add(found))
			}
			continue
		}
		if matches, gerr := filepath.Glob(a); err != nil && gerr == nil && len(matches) > 0 {
			for _, path := range matches {
				if without.names(path, path) {
					continue
				}
				info, _ := os.Stat(path)
				out = append(out, known.add(input{path: path, info: info}))
			}
			continue
		}
		out = append(out, known.add(input{path: a, info: info}))
	}
	if len(out) == 0 && emptied != "" { // a mistake in a pattern must not pass for a folder without faults
		out = []input{{path: emptied, err: &modelpatch.InputError{Path: emptied, What: "no model is left", Why: "--exclude names every one", Hint: "mend the pattern"}}}
	}
	return out, nil
}

// files are inputs by what their own links share, so that a file is not compared with
// all others.
type files map[fileKey][]input

type fileKey struct {
	size    int64
	changed time.Time
}

func keyOf(info os.FileInfo) fileKey { return fileKey{info.Size(), info.ModTime()} }

// add notes an input, and returns it.
func (f files) add(x input) input {
	if x.info != nil && x.same == "" {
		f[keyOf(x.info)] = append(f[keyOf(x.info)], x)
	}
	return x
}

// same returns the path of an input that is the same file as x; empty: none.
func (f files) same(x input) string {
	if x.info == nil {
		return ""
	}
	for _, other := range f[keyOf(x.info)] {
		if os.SameFile(x.info, other.info) {
			return other.path
		}
	}
	return ""
}

// modelsBelow lists the model files below a folder, in order, and what of it
// cannot be read. Links are not followed into other folders. A folder without
// models is an error.
func modelsBelow(folder string) []input {
	var out []input
	// The function returns no error, so WalkDir returns none.
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			out = append(out, input{path: path, err: unreadable(path, err)})
			return nil
		}
		if !e.IsDir() && isModelName(e.Name()) {
			info, _ := os.Stat(path)
			out = append(out, input{path: path, info: info})
		}
		return nil
	})
	if len(out) == 0 {
		out = []input{{path: folder, err: &modelpatch.InputError{Path: folder, What: "no models in this folder",
			Why: "no name below it ends in .gguf or .onnx, or in these with .zst or .gz", Hint: source.FolderHint(folder)}}}
	}
	return out
}

// unreadable says why a folder, or a part of it, cannot be listed.
func unreadable(path string, err error) error {
	why := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		why = p.Err.Error()
	}
	return &modelpatch.InputError{Path: path, What: "cannot be read", Why: why, Err: err}
}

func isModelName(name string) bool {
	lower := strings.ToLower(name)
	if m := laterShard().FindStringSubmatch(lower); m != nil && m[1] != "00001" || strings.HasPrefix(name, ".") {
		return false
	}
	return slices.ContainsFunc(modelNames, func(end string) bool { return strings.HasSuffix(lower, end) })
}
