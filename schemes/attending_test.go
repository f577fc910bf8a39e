package schemes

import "testing"

// A window of 3 shows a query itself and two keys before it, without a causal mask two behind it, and its sinks.
func TestSlidingWindow(t *testing.T) {
	for _, c := range []struct {
		w          SlidingWindow
		query, key int
		causal     bool
		want       bool
	}{
		{SlidingWindow{Positions: 3}, 9, 7, true, true}, {SlidingWindow{Positions: 3}, 9, 6, true, false}, {SlidingWindow{Positions: 3}, 9, 9, true, true},
		{SlidingWindow{Positions: 3}, 9, 11, false, true}, {SlidingWindow{Positions: 3}, 9, 12, false, false}, {SlidingWindow{Positions: 3}, 9, 6, false, false},
		{SlidingWindow{Positions: 3, Sinks: 2}, 9, 1, true, true}, {SlidingWindow{Positions: 3, Sinks: 2}, 9, 2, true, false}, {SlidingWindow{}, 9, 0, true, true},
		{SlidingWindow{Chunk: 4}, 9, 8, true, true}, {SlidingWindow{Chunk: 4}, 9, 7, true, false}, {SlidingWindow{Chunk: 4, Positions: 2}, 11, 9, true, false},
	} {
		if got := c.w.Sees(c.query, c.key, c.causal); got != c.want {
			t.Errorf("%v, causal %v: query %d sees key %d: %v", c.w, c.causal, c.query, c.key, got)
		}
	}
	for _, c := range []struct {
		a, b SlidingWindow
		want bool
	}{
		{SlidingWindow{Positions: 3}, SlidingWindow{Positions: 3}, true}, {SlidingWindow{Positions: 4}, SlidingWindow{Positions: 3}, false}, {SlidingWindow{}, SlidingWindow{Positions: 3}, false},
		{SlidingWindow{Positions: 2, Sinks: 1}, SlidingWindow{Positions: 3}, false}, {SlidingWindow{Positions: 2, Sinks: 1}, SlidingWindow{Positions: 3, Sinks: 4}, true},
	} {
		if got := c.a.Within(c.b); got != c.want {
			t.Errorf("%v within %v: %v", c.a, c.b, got)
		}
	}
}
