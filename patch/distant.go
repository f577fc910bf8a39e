package patch

import (
	"errors"
	"io"
	"io/fs"
)

// distantFile is an input that is no file of the file system: it can be read, and nothing else.
type distantFile struct{ r io.ReaderAt }

// ReadAt reads from the input's reader.
func (f distantFile) ReadAt(p []byte, at int64) (int, error) { return f.r.ReadAt(p, at) }

// Close leaves the reader to who gave it.
func (f distantFile) Close() error { return nil }

// WriteAt gives errors.ErrUnsupported, as all that follow do.
func (distantFile) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// Stat gives errors.ErrUnsupported.
func (distantFile) Stat() (fs.FileInfo, error) { return nil, errors.ErrUnsupported }

// Sync gives errors.ErrUnsupported.
func (distantFile) Sync() error { return errors.ErrUnsupported }

// Truncate gives errors.ErrUnsupported.
func (distantFile) Truncate(int64) error { return errors.ErrUnsupported }

// TryLock gives errors.ErrUnsupported.
func (distantFile) TryLock() (bool, error) { return false, errors.ErrUnsupported }

// Allocate gives errors.ErrUnsupported.
func (distantFile) Allocate(int64) error { return errors.ErrUnsupported }

// CloneRange gives errors.ErrUnsupported.
func (distantFile) CloneRange(int64, File, int64, int64) error { return errors.ErrUnsupported }

// CopyRange gives errors.ErrUnsupported.
func (distantFile) CopyRange(int64, File, int64, int64) (int64, error) {
	return 0, errors.ErrUnsupported
}

// InsertRange gives errors.ErrUnsupported.
func (distantFile) InsertRange(int64, int64) error { return errors.ErrUnsupported }

// CollapseRange gives errors.ErrUnsupported.
func (distantFile) CollapseRange(int64, int64) error { return errors.ErrUnsupported }

// NextHole gives errors.ErrUnsupported.
func (distantFile) NextHole(int64) (int64, error) { return 0, errors.ErrUnsupported }

// NextData gives errors.ErrUnsupported.
func (distantFile) NextData(int64) (int64, error) { return 0, errors.ErrUnsupported }

// CopyAttributes gives errors.ErrUnsupported.
func (distantFile) CopyAttributes(File) error { return errors.ErrUnsupported }
