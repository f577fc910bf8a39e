//go:build unix

package benchmarks

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// turns are runs of a peer, cp with sync, and of the tool, in turns. On a virtual machine
// a run may take seconds more where it is the first to touch memory or blocks that
// the host must provide: which of the two goes first alternates, and medians are
// compared.
type turns struct {
	peer, own []usage
	beside    string // what the peer is called; "": cp-sync
}

// run takes a turn of both.
func (t *turns) run(peer, own func() usage) {
	if len(t.own)%2 == 0 {
		t.peer = append(t.peer, peer())
		t.own = append(t.own, own())
		return
	}
	t.own = append(t.own, own())
	t.peer = append(t.peer, peer())
}

// settle waits until the disk has done what was left to it, such as freeing the
// blocks of a removed file: it is no part of what is measured next.
func settle() { syscall.Sync() }

// median is the middle of what runs took.
func median(runs []usage, of func(usage) time.Duration) time.Duration {
	var all []time.Duration
	for _, u := range runs {
		all = append(all, of(u))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

func wall(u usage) time.Duration { return u.wall }
func cpu(u usage) time.Duration  { return u.cpu }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// report says what the tool and cp with sync took.
func (t *turns) report(b *testing.B, name string) {
	if t.beside == "" {
		t.beside = "cp-sync"
	}
	peer, own := median(t.peer, wall), median(t.own, wall)
	b.ReportMetric(milliseconds(peer), "ms-"+t.beside)
	b.ReportMetric(milliseconds(own), "ms-"+name)
	b.ReportMetric(float64(own)/float64(peer), "×"+t.beside)
	var rss, written int64
	for _, u := range t.own {
		rss, written = max(rss, u.rss), max(written, u.written)
	}
	b.ReportMetric(float64(rss)/1e6, "MB-rss")
	b.ReportMetric(float64(written)/1e3, "kB-written")
}
