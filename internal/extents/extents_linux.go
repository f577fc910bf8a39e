//go:build linux && (386 || amd64 || arm || arm64 || loong64 || riscv64)

package extents

import (
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From linux/fiemap.h and linux/fs.h.
const (
	fiemapIoctl = 0xC020660B // _IOWR('f', 11, struct fiemap)
	flagSync    = 0x1        // what is in memory is written first
	extentLast  = 0x1
	// extentUnsure are the extents whose place is not that of the plain bytes: unknown, delayed, encoded,
	// encrypted, not aligned, inline, in a tail, not written.
	extentUnsure = 0x2 | 0x4 | 0x8 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
	extentShared = 0x2000
)

// fiemapHead and fiemapExtent are struct fiemap and struct fiemap_extent.
type fiemapHead struct {
	start, length                 uint64
	flags, mapped, count, reserve uint32
}

type fiemapExtent struct {
	logical, physical, length uint64
	reserve64                 [2]uint64
	flags                     uint32
	reserve                   [3]uint32
}

// Bounds of what is asked for: extents of one call, and calls.
const (
	extentsAtOnce = 128
	mostCalls     = 1 << 10
)

// shared are the extents of n bytes from at on that other files have as well; false where the file
// system does not say.
func shared(f *os.File, at, n int64) (out []extent, ok bool) {
	var request struct {
		fiemapHead
		extents [extentsAtOnce]fiemapExtent
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, false
	}
	start, end := at, at+n
	for range mostCalls {
		request.fiemapHead = fiemapHead{start: uint64(start), length: uint64(end - start), flags: flagSync, count: extentsAtOnce}
		var errno syscall.Errno
		err := conn.Control(func(fd uintptr) {
			_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, fiemapIoctl, uintptr(unsafe.Pointer(&request)))
		})
		runtime.KeepAlive(&request)
		if err != nil || errno != 0 {
			return nil, false
		}
		got := request.extents[:min(request.mapped, extentsAtOnce)]
		for _, e := range got {
			if e.flags&extentUnsure == 0 && e.flags&extentShared != 0 && e.physical != 0 {
				out = append(out, extent{int64(e.logical) - at, int64(e.physical), int64(e.length)})
			}
		}
		if len(got) == 0 || got[len(got)-1].flags&extentLast != 0 {
			return out, true
		}
		last := got[len(got)-1]
		if start = int64(last.logical + last.length); start >= end {
			return out, true
		}
	}
	return out, true // of what was asked for; the rest is read
}

func sameDevice(a, b fs.FileInfo) bool {
	x, okA := a.Sys().(*syscall.Stat_t)
	y, okB := b.Sys().(*syscall.Stat_t)
	return okA && okB && x.Dev == y.Dev && x.Ino != y.Ino
}
