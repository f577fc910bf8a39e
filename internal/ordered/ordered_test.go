package ordered

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestEach(t *testing.T) {
	items := make([]int, 500)
	for i := range items {
		items[i] = i
	}
	for _, workers := range []int{0, 1, 2, 7} {
		var at, most atomic.Int64
		var got []int
		Each(t.Context(), workers, 4, slices.Values(items), func(i int) int {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			if i%50 == 0 {
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			}
			return -i
		}, func(i, r int) bool {
			if r != -i {
				t.Fatalf("item %d has the result %d", i, r)
			}
			got = append(got, i)
			return true
		})
		if !slices.Equal(got, items) {
			t.Errorf("%d workers: %d results, or in another order", workers, len(got))
		}
		if n := int(most.Load()); n > max(workers, 1) {
			t.Errorf("%d at once with %d workers", n, workers)
		}
	}
}

// TestEachEnds: whatever ends it, no result comes after, and work does not go on.
func TestEachEnds(t *testing.T) {
	items := make([]int, 1000)
	for _, workers := range []int{1, 3} {
		ctx, cancel := context.WithCancel(t.Context())
		var worked atomic.Int64
		delivered := 0
		Each(ctx, workers, 2, slices.Values(items), func(int) int { worked.Add(1); return 0 }, func(int, int) bool {
			delivered++
			return delivered < 10
		})
		if delivered != 10 || worked.Load() > 30 {
			t.Errorf("%d workers: %d delivered, %d worked after a deliver that said no", workers, delivered, worked.Load())
		}
		delivered = 0
		Each(ctx, workers, 2, slices.Values(items), func(int) int { return 0 }, func(int, int) bool {
			if delivered++; delivered == 5 {
				cancel()
			}
			return true
		})
		if delivered != 5 {
			t.Errorf("%d workers: %d delivered after the context ended at 5", workers, delivered)
		}
	}
}
