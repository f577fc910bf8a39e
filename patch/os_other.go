//go:build !linux

package patch

import (
	"errors"
	"io/fs"
	"os"
)

func allocate(*os.File, int64) error { return errors.ErrUnsupported }

func cloneRange(*os.File, int64, *os.File, int64, int64) error { return errors.ErrUnsupported }

func copyRange(*os.File, int64, *os.File, int64, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

func insertRange(*os.File, int64, int64) error   { return errors.ErrUnsupported }
func collapseRange(*os.File, int64, int64) error { return errors.ErrUnsupported }
func nextHole(*os.File, int64) (int64, error)    { return 0, errors.ErrUnsupported }
func nextData(*os.File, int64) (int64, error)    { return 0, errors.ErrUnsupported }

func renameNew(old, new string) error { return linkThenRemove(old, new) }

func freeBytes(string) (int64, error) { return -1, nil }

func copyAttributes(dst *os.File, src File) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	return dst.Chmod(info.Mode() & fs.ModePerm)
}
