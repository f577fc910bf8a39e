package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// startingHeap is how large the heap may grow before the garbage is collected for the
// first time, where a large model is named. The runtime starts at 4 MB and would collect again and again while the
// index of a graph grows, none of which is garbage; a process that ends in half a second
// seldom needs the first collection (the Go compiler does the same: cmd/compile/internal/base,
// AdjustStartingHeap). From the first one on the runtime's own rules hold.
const startingHeap = 128 << 20

// largeModel is the size of a file from which on that pays: to set it takes a third of a millisecond, a tenth of what a small model takes in all.
const largeModel = 1 << 20

// startHeap sets it, unless the user has set GOGC or GOMEMLIMIT.
func startHeap(paths []string) {
	large := func(path string) bool { i, err := os.Stat(path); return err == nil && i.Size() >= largeModel }
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || !slices.ContainsFunc(paths, large) {
		return
	}
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(startingHeap)
	// The first collection finds this without a holder.
	sentinel := new([16]byte)
	runtime.SetFinalizer(sentinel, func(*[16]byte) {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
}
