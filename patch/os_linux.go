package patch

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// unsupported turns the errors by which file systems decline a service into
// errors.ErrUnsupported and leaves the others as they are.
func unsupported(err error) error {
	switch err {
	case unix.ENOTSUP, unix.ENOSYS, unix.EXDEV, unix.EINVAL, unix.ENOTTY, unix.EPERM:
		return errors.ErrUnsupported
	}
	return err
}

func allocate(f *os.File, size int64) error {
	return unsupported(retry(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, size) }))
}

func cloneRange(dst *os.File, at int64, src *os.File, srcAt, n int64) error {
	r := unix.FileCloneRange{
		Src_fd:      int64(src.Fd()),
		Src_offset:  uint64(srcAt),
		Src_length:  uint64(n),
		Dest_offset: uint64(at),
	}
	return unsupported(retry(func() error { return unix.IoctlFileCloneRange(int(dst.Fd()), &r) }))
}

func copyRange(dst *os.File, at int64, src *os.File, srcAt, n int64) (done int64, err error) {
	err = retry(func() error {
		got, err := unix.CopyFileRange(int(src.Fd()), &srcAt, int(dst.Fd()), &at, int(min(n, math.MaxInt32)), 0)
		done = int64(got)
		return err
	})
	if err != nil {
		return 0, unsupported(err)
	}
	startWriting(dst, at-done, done)
	return done, nil
}

func insertRange(f *os.File, at, n int64) error {
	return unsupported(retry(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_INSERT_RANGE, at, n) }))
}

func collapseRange(f *os.File, at, n int64) error {
	return unsupported(retry(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_COLLAPSE_RANGE, at, n) }))
}

func nextHole(f *os.File, at int64) (int64, error) {
	got, err := unix.Seek(int(f.Fd()), at, unix.SEEK_HOLE)
	return got, unsupported(err)
}

func nextData(f *os.File, at int64) (int64, error) {
	got, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
	if err == unix.ENXIO {
		return -1, nil
	}
	return got, unsupported(err)
}

// startWriting has the disk begin with what was copied while the next part is:
// otherwise the file's sync at the end waits for all of it. It is a hint; a
// failure to write shows in that sync.
func startWriting(f *os.File, at, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), at, n, unix.SYNC_FILE_RANGE_WRITE)
}

func renameNew(old, new string) error {
	err := retry(func() error {
		return unix.Renameat2(unix.AT_FDCWD, old, unix.AT_FDCWD, new, unix.RENAME_NOREPLACE)
	})
	if unsupported(err) == errors.ErrUnsupported {
		return linkThenRemove(old, new)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: old, New: new, Err: err}
	}
	return nil
}

func freeBytes(dir string) (int64, error) {
	var s unix.Statfs_t
	if err := retry(func() error { return unix.Statfs(dir, &s) }); err != nil {
		return 0, err
	}
	if s.Blocks == 0 {
		return -1, nil // some network file systems do not say
	}
	return int64(min(s.Bavail, math.MaxInt64/uint64(s.Bsize))) * int64(s.Bsize), nil
}

// aclName is the attribute that holds a POSIX access control list.
const aclName = "system.posix_acl_access"

func copyAttributes(dst *os.File, src File) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		// Only root may give files away; a file of one's own is fine too.
		_ = unix.Fchown(int(dst.Fd()), int(st.Uid), int(st.Gid))
	}
	if from, ok := src.(interface{ Fd() uintptr }); ok {
		copyXattrs(int(dst.Fd()), int(from.Fd()))
	}
	return dst.Chmod(info.Mode() & fs.ModePerm)
}

// copyXattrs copies what people put on a file. Failures are nobody's loss:
// the target's file system may know no attributes.
func copyXattrs(dst, src int) {
	list := make([]byte, 64<<10)
	n, err := unix.Flistxattr(src, list)
	if err != nil {
		return
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		if name != aclName && !strings.HasPrefix(name, "user.") {
			continue
		}
		if n, err := unix.Fgetxattr(src, name, value); err == nil {
			_ = unix.Fsetxattr(dst, name, value[:n], 0)
		}
	}
}
