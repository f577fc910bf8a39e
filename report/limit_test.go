package report

import "testing"

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		capacity *int
		beyond   string
		want     Limit
		says     string
	}{
		{Pointer(24), BeyondError, 24, "24 positions"},
		{Pointer(24), BeyondContinues, 24, "24 positions"},
		{nil, BeyondContinues, NoLimit, "no limit"},
		{nil, BeyondUnknown, LimitNotKnown, "not known"},
		{nil, BeyondError, LimitNotKnown, "not known"},
		{Pointer(0), BeyondUnknown, LimitNotKnown, "not known"},
	} {
		l := Length{Capacity: c.capacity, Beyond: c.beyond}.Limit()
		if e := (Encoding{Capacity: c.capacity, Beyond: c.beyond}).Limit(); l != c.want || e != c.want || l.Of("positions") != c.says {
			t.Errorf("%+v: %d, of an encoding %d, %q", c, l, e, l.Of("positions"))
		}
	}
	for _, c := range []struct {
		from, to Limit
		want     string
	}{{24, 128, "24 → 128 positions"}, {24, NoLimit, "24 positions → no limit"}, {NoLimit, LimitNotKnown, "no limit → not known"}} {
		if got := c.from.To(c.to); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestHeadline(t *testing.T) {
	learned := []Encoding{{Scheme: SchemeLearned, Capacity: Pointer(24)}}
	for _, c := range []struct {
		r    Inspect
		want string
	}{
		{Inspect{Format: "gguf", Encodings: learned, Length: Length{Stated: Pointer(64), Capacity: Pointer(24), Beyond: BeyondWrong}}, "position table; context length 64; 24 positions; longer input gives silently wrong numbers"},
		{Inspect{Format: "gguf", Encodings: learned, Length: Length{Stated: Pointer(64), Capacity: nil, Beyond: BeyondUnknown}}, "position table; context length 64; how far it reaches is not known"},
		{Inspect{Encodings: learned, Length: Length{Stated: nil, Capacity: nil, Beyond: BeyondError}}, "position table; inputs of one size; others fail with an error"},
		{Inspect{Encodings: learned, Length: Length{Stated: nil, Capacity: nil, Beyond: BeyondContinues}}, "position table; nothing in the file limits the length"},
		{Inspect{Kind: KindControlVector, Length: Length{Stated: nil, Capacity: nil, Beyond: BeyondUnknown}}, "a file of kind control-vector, which encodes no positions itself"},
	} {
		if got := c.r.Headline(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{{1, "1 byte"}, {999, "999 bytes"}, {999_949, "999.9 kB"}, {999_950, "1.0 MB"}, {999_950_000, "1.00 GB"}, {2_460_000_000, "2.46 GB"}} {
		if got := Size(c.n); got != c.want {
			t.Errorf("%d: %q, want %q", c.n, got, c.want)
		}
	}
}
