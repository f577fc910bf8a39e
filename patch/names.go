package patch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Suffix is how names of patch files end.
const Suffix = ".mpatch"

const (
	tempInfix = ".modelpatch-"
	tokenSize = 6 // bytes of randomness in a temporary name
	// longestStem keeps temporary names within the 255 bytes of most systems.
	longestStem = 200
)

// tempPrefix is how names of temporary files for target begin.
func tempPrefix(target string) string {
	base := filepath.Base(target)
	return "." + base[:min(len(base), longestStem)] + tempInfix
}

func tempName(target string) string {
	token := make([]byte, tokenSize)
	rand.Read(token)
	return filepath.Join(filepath.Dir(target), tempPrefix(target)+hex.EncodeToString(token))
}

// isTemp reports whether a name is one that tempName gives for target.
func isTemp(name, target string) bool {
	token, ok := strings.CutPrefix(name, tempPrefix(target))
	b, err := hex.DecodeString(token)
	return ok && err == nil && len(b) == tokenSize && token == hex.EncodeToString(b)
}

// journalPath is where the journal of an edit of path lies.
func journalPath(path string) string {
	return filepath.Join(filepath.Dir(path), tempPrefix(path)+"journal")
}

// hasJournal reports whether there is a journal under the name that those of
// path have. Files whose long names begin alike share that name.
func hasJournal(path string, files FS) bool {
	_, err := files.Lstat(journalPath(path))
	return !errors.Is(err, fs.ErrNotExist)
}

// shard matches names of the files of a model that was split:
// NAME-00001-of-00003.gguf.
var shard = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(.+)-([0-9]{5})-of-([0-9]{5}\.[^.]+)$`)
})

// areOutputs reports whether a journal may give names beside root: those of JSON
// files and of areShards, one of which is not root's own.
func areOutputs(root string, names []string) bool {
	var shards []string
	for i, name := range names {
		switch {
		case !isBaseName(name) || slices.Contains(names[:i], name):
			return false
		case name != root && !strings.HasSuffix(name, ".json"):
			shards = append(shards, name)
		}
	}
	return areShards(root, shards) && !slices.Equal(names, []string{root}) || areShards(root, names)
}

// areShards reports whether names are of different shards of the model that
// root is a shard of.
func areShards(root string, names []string) bool {
	of := shard().FindStringSubmatch(root)
	for i, name := range names {
		part := shard().FindStringSubmatch(name)
		if of == nil || part == nil || !isBaseName(name) || part[1] != of[1] || part[3] != of[3] || slices.Contains(names[:i], name) {
			return false
		}
	}
	return true
}
