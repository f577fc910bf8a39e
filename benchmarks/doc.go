// Package benchmarks measures whole processes on files of real size. Inputs are
// made at run time and removed; the peer (cp with sync, a bare walk) runs in
// the same run, so that numbers can be compared on any machine. Nothing here
// fails by time.
//
//	go test -bench . -benchtime 1x ./benchmarks
package benchmarks
