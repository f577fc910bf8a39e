package spelling

import "testing"

func TestWords(t *testing.T) {
	words := []string{"learned", "rope", "alibi", "relative-table"}
	for misspelt, want := range map[string]string{
		"ropee": "did you mean rope? known: learned, rope, alibi, relative-table", "relative": "did you mean relative-table? known: learned, rope, alibi, relative-table",
		"xyzzy": "known: learned, rope, alibi, relative-table", "": "known: learned, rope, alibi, relative-table",
	} {
		if got := Words(misspelt, words); got != want {
			t.Errorf("%q: %q, want %q", misspelt, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"yarn", "yran", 1}, {"lne", "len", 1}, {"ca", "abc", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
