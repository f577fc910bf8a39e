// Package ordered does work on many things at once and hands on the results in
// the order of the things.
//
// sourcegraph/conc's stream does the same; its last release is of 2023, and this is
// one function.
package ordered

import (
	"context"
	"iter"
	"sync"
)

// Each calls work for every item, in so many goroutines, and deliver for every result, in
// the order of the items and never two at a time. At most ahead results (at least one a worker) wait
// for one that takes long, so memory does not grow with the number of items. It ends
// early when the context does or deliver returns false; work that has begun is
// waited for.
func Each[T, R any](ctx context.Context, workers, ahead int, items iter.Seq[T], work func(T) R, deliver func(T, R) bool) {
	if workers <= 1 {
		for item := range items {
			if ctx.Err() != nil || !deliver(item, work(item)) {
				return
			}
		}
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type job struct {
		item   T
		result chan R
	}
	jobs := make(chan job)
	waiting := make(chan job, max(ahead, workers))
	var busy sync.WaitGroup
	defer busy.Wait()
	for range workers {
		busy.Go(func() {
			for j := range jobs {
				j.result <- work(j.item)
			}
		})
	}
	busy.Go(func() {
		defer close(waiting)
		defer close(jobs)
		for item := range items {
			j := job{item, make(chan R, 1)}
			select {
			case waiting <- j:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				close(j.result)
				return
			}
		}
	})
	for j := range waiting {
		r, ok := <-j.result
		if !ok || ctx.Err() != nil || !deliver(j.item, r) {
			cancel()
			return
		}
	}
}
