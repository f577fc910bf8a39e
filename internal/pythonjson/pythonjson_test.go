package pythonjson

import (
	"encoding/json"
	"testing"
)

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": [0.0, Infinity], "b": 7}`: `{"a": [0.0, 0       ], "b": 7}`,
		`{"a":NaN,"b":-Infinity}`:        `{"a":0  ,"b":-0       }`,
		`{"NaN": "Infinity \" NaN"}`:     `{"NaN": "Infinity \" NaN"}`,
		`NaN`:                            `0  `,
		``:                               ``,
		`{"a": 1NaN}`:                    `{"a": 1NaN}`,
		`{"a": NaNs}`:                    `{"a": 0  s}`,
		`{"a": "\`:                       `{"a": "\`,
	} {
		if got := string(Plain([]byte(text))); got != want {
			t.Errorf("%s gives %s, want %s", text, got, want)
		}
	}
}

// FuzzPlain: a text that is JSON is left as it is, and the length stays.
func FuzzPlain(f *testing.F) {
	f.Add([]byte(`{"a": [0.0, Infinity], "b": "NaN\\"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		was := string(text)
		got := Plain(text)
		if len(got) != len(text) || string(text) != was || json.Valid(text) && string(got) != was {
			t.Fatalf("%q gives %q", was, got)
		}
	})
}
