package patch

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Blocks that file systems insert: from a page to ext4's largest cluster.
const (
	leastBlock = 4096
	mostBlock  = 1 << 20
)

// InsertBlock is the block of which InPlace can insert whole numbers into the
// file at path without copying what follows. Where the file system cannot, or
// not into this file, the error says why; an *OutputError or *InputError is one
// of the disk, and tells nothing of that. files is the file system; nil: OS.
//
// It asks by trying, on a temporary file in the same folder: what the system
// says of its block size is wrong on some (facts/BAD-INPUTS §6).
func InsertBlock(path string, files FS) (int64, error) {
	if files == nil {
		files = OS
	}
	block, err := probeBlock(files, path)
	if err != nil {
		return 0, err
	}
	f, err := files.Open(path)
	if err != nil {
		return 0, &InputError{path, err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, &InputError{path, err}
	}
	if info.Size() <= block {
		return 0, fmt.Errorf("the file is no longer than a block of %d bytes", block)
	}
	return block, withoutHoles(f, path, info.Size())
}

// withoutHoles wants a file without holes: recovery tells how far an insertion
// came by the hole that it moves (facts/BAD-INPUTS §5).
func withoutHoles(f File, path string, size int64) error {
	switch hole, err := f.NextHole(0); {
	case errors.Is(err, errors.ErrUnsupported):
		return errors.New("this file system does not show holes in files")
	case err != nil:
		return &InputError{path, fmt.Errorf("looking for holes: %w", err)}
	case hole < size:
		return fmt.Errorf("the file is sparse: it has a hole at byte %d", hole)
	}
	return nil
}

func probeBlock(files FS, path string) (int64, error) {
	temp := tempName(path)
	f, err := files.Create(temp)
	if err != nil {
		return 0, &OutputError{Op: "create", Path: filepath.Dir(path), Err: err}
	}
	defer func() {
		f.Close()
		files.Remove(temp)
	}()
	if err := f.Truncate(2 * mostBlock); err != nil {
		return 0, &OutputError{Op: "create", Path: filepath.Dir(path), Err: err}
	}
	for block := int64(leastBlock); block <= mostBlock; block *= 2 {
		err := f.InsertRange(0, block)
		if err == nil {
			return block, nil
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return 0, &OutputError{Op: "insert", Path: filepath.Dir(path), Err: err}
		}
	}
	return 0, errors.New("this file system cannot insert into a file (ext4 and XFS on Linux can)")
}
