package patch

import (
	"io/fs"
	"testing"
)

// TestNoRight: where no file may be made, the temporary name that was tried is not told, and what to do is.
func TestNoRight(t *testing.T) {
	e := &OutputError{Op: "create", Path: "models/new.gguf", Err: &fs.PathError{Op: "open", Path: "models/.new.gguf" + tempInfix + "0123456789ab", Err: fs.ErrPermission}}
	if got, want := e.Error(), "models/new.gguf: create: permission denied"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(e.Hints()) != 1 {
		t.Errorf("hints %v", e.Hints())
	}
}
