//go:build js && wasm

// Command changer is extend, rope and show compiled to WebAssembly for the page in web. It
// takes one request from the worker, works on the worker's files by package os
// (web/static/files.js), answers, and waits for the worker's end: timers that fire in a
// program that has ended would be errors.
package main

import (
	"context"
	"encoding/json"
	"strings"
	"syscall/js"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/web/answer"
)

func main() {
	var q answer.Request
	var got any
	switch err := json.Unmarshal([]byte(js.Global().Get("modelpatchRequest").String()), &q); {
	case err != nil:
		got = answer.Failure{Error: "a number of the form is larger than any that can be meant"}
	case q.Verb == "show":
		got = answer.Show(q.Path)
	default:
		got = answer.Change(context.Background(), q)
	}
	line, err := report.Line(got)
	if err != nil {
		line = []byte(`{"error":"the answer cannot be encoded"}`)
	}
	js.Global().Call("modelpatchChanged", strings.TrimSpace(string(line)))
	select {}
}
