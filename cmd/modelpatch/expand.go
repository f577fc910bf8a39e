package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch"
)

// modelNames are the endings of model files that are looked for in folders.
var modelNames = []string{".gguf", ".onnx", ".gguf.zst", ".onnx.zst", ".gguf.gz", ".onnx.gz"}

// laterShard matches the shards of a split GGUF after the first, which opens
// them all.
var laterShard = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-(\d{5})-of-\d{5}\.gguf$`)
})

// expand turns arguments into files: patterns that no shell expanded, folders
// into the models below them, and each file once.
func expand(arguments []string) ([]string, error) {
	var out []string
	var seen []fs.FileInfo
	add := func(path string) {
		if slices.Contains(out, path) {
			return
		}
		if info, err := os.Stat(path); err == nil && path != modelpatch.Stdin {
			if slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) {
				return // by another name
			}
			seen = append(seen, info)
		}
		out = append(out, path)
	}
	for i, a := range arguments {
		if a == modelpatch.Stdin {
			if slices.Contains(arguments[:i], a) {
				return nil, &modelpatch.UsageError{What: "standard input is named twice", Hint: "- can be read once"}
			}
			add(a)
			continue
		}
		info, err := os.Stat(a)
		if err == nil && info.IsDir() {
			found, err := modelsBelow(a)
			if err != nil || len(found) == 0 {
				add(a) // it will be told that this is a folder
			}
			for _, path := range found {
				add(path)
			}
			continue
		}
		if matches, gerr := filepath.Glob(a); err != nil && gerr == nil && len(matches) > 0 {
			for _, path := range matches {
				add(path)
			}
			continue
		}
		add(a)
	}
	return out, nil
}

// modelsBelow lists the model files below a folder, in order. Links are not
// followed into other folders.
func modelsBelow(folder string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() || !isModelName(e.Name()) {
			return nil
		}
		out = append(out, path)
		return nil
	})
	return out, err
}

func isModelName(name string) bool {
	lower := strings.ToLower(name)
	if m := laterShard().FindStringSubmatch(lower); m != nil && m[1] != "00001" || strings.HasPrefix(name, ".") {
		return false
	}
	return slices.ContainsFunc(modelNames, func(end string) bool { return strings.HasSuffix(lower, end) })
}
