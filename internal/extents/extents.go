// Package extents asks the file system which parts of two files are the same blocks on the disk:
// those of a copy that shares them until one is written (FICLONE; cp --reflink), on XFS and Btrfs.
// What shares blocks is equal without being read.
package extents

import "os"

// Range is [from, to) in bytes, counted from where a comparison begins.
type Range [2]int64

// Unshared returns the ranges of n bytes, from atA of file a and from atB of file b on, which are not
// known to be the same blocks: all of them where the file system does not say. What was written and is
// still in memory is put on the disk first, so that it is told.
func Unshared(a, b *os.File, atA, atB, n int64) []Range {
	if n <= 0 {
		return nil
	}
	if !together(a, b) {
		return []Range{{0, n}}
	}
	x, okA := shared(a, atA, n)
	if !okA || len(x) == 0 {
		return []Range{{0, n}}
	}
	y, okB := shared(b, atB, n)
	if !okB || len(y) == 0 {
		return []Range{{0, n}}
	}
	return without(x, y, n)
}

// extent is a run of blocks: n bytes from at on, counted from where the comparison begins, which stand
// at a place of the disk.
type extent struct{ at, place, n int64 }

// without are the ranges of n bytes that are not at the same places in both lists, which are in order.
func without(x, y []extent, n int64) []Range {
	var out []Range
	next := int64(0) // what is not looked at yet
	for i, j := 0, 0; i < len(x) && j < len(y); {
		p, q := x[i], y[j]
		from, to := max(p.at, q.at, 0), min(p.at+p.n, q.at+q.n, n)
		if from < to && p.place-p.at == q.place-q.at {
			if next < from {
				out = append(out, Range{next, from})
			}
			next = max(next, to)
		}
		if p.at+p.n <= q.at+q.n {
			i++
		} else {
			j++
		}
	}
	if next < n {
		out = append(out, Range{next, n})
	}
	return out
}

// together reports whether two files are different ones of one file system.
func together(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && x.Mode().IsRegular() && y.Mode().IsRegular() && sameDevice(x, y)
}
