package ranges

import (
	"maps"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]int{"0-3": {0, 1, 2, 3}, "2": {2}, "0-1,11": {0, 1, 11}, "11,0-1,1": {0, 1, 11}} {
		got, ok := Parse(text, 11)
		if list := slices.Sorted(maps.Keys(got)); !ok || !slices.Equal(list, want) {
			t.Errorf("%q: %v, %v; want %v", text, list, ok, want)
		}
	}
	for _, text := range []string{"", "a", "3-1", "-1", "0-12", "12", "1,,2", "1-", "99999999999999999999"} {
		if got, ok := Parse(text, 11); ok {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

func TestText(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "4": {4}, "0-2,5": {0, 1, 2, 5}, "0,2,4-5": {0, 2, 4, 5}} {
		if got := Text(numbers); got != want {
			t.Errorf("%v is %q, want %q", numbers, got, want)
		}
	}
}
