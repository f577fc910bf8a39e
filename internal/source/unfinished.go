package source

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// Unfinished is an error when a file has the journal of an edit that was cut
// short: its bytes may be a mixture.
func Unfinished(path string) error {
	edited, ok := UnfinishedFile(path)
	if !ok {
		return nil
	}
	return &InputError{Path: path, What: "unfinished edit", Why: "an edit in place was cut short, or is going on",
		Hint: "run modelpatch recover " + report.Printable(edited)}
}

// UnfinishedFile reports whether the file at path has the journal of an edit
// that was cut short, and under which name: where path is a link, the journal
// lies beside the file that it leads to.
func UnfinishedFile(path string) (edited string, ok bool) {
	if patch.Unfinished(path, nil) {
		return path, true
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", false
	}
	edited, err = filepath.EvalSymlinks(path)
	return edited, err == nil && patch.Unfinished(edited, nil)
}
